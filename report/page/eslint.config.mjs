// Rules for the scripts of the pages, which "make page-lint" checks with ESLint in
// the folder of the repository. Files that become one script share its scope, so
// that a name of one is known to the others.
import { readFileSync } from 'node:fs';

const page = ['report/page/data.js', 'report/page/shapes.js', 'report/page/scene.js', 'report/page/panels.js', 'report/page/debrief.js', 'report/page/main.js'];
const scripts = [
  [...page, 'report/page/begin.js', 'cmd/web/site/list.js', 'cmd/web/site/web.js'],
  [...page, 'cmd/internal/livepage/site/merge.js', 'cmd/internal/livepage/site/live.js'],
  [...page, 'cmd/internal/home/page/home.js'],
  [...page, 'report/league/replay.js'],
  ['report/league/league.js'],
  ['cmd/internal/livepage/site/merge.js', 'cmd/internal/livepage/site/overlay.js'],
  ['cmd/web/site/files.js', 'cmd/web/site/worker.js'],
  ['cmd/web/site/sw.js'],
];
const names = new Map(scripts.flat().map((name) => [name, [...readFileSync(name, 'utf8').matchAll(/^(?:const|let|class|function|async function) (\w+)/gm)].map((m) => m[1])]));

const browser = ['addEventListener', 'atob', 'Blob', 'clearTimeout', 'Event', 'EventSource', 'setInterval', 'DecompressionStream', 'devicePixelRatio', 'document', 'getComputedStyle', 'history', 'innerHeight', 'innerWidth',
  'location', 'matchMedia', 'Node', 'performance', 'requestAnimationFrame', 'ResizeObserver', 'Response', 'scrollTo', 'sessionStorage', 'setTimeout', 'URLSearchParams', 'window',
  'caches', 'clients', 'console', 'fetch', 'File', 'FileReaderSync', 'globalThis', 'MessageChannel', 'navigator', 'postMessage', 'registration', 'skipWaiting', 'TextDecoder', 'URL', 'WebAssembly', 'Worker',
  'bcdissect', 'Go']; // the last two are the program and Go's support script
const readonly = (list) => Object.fromEntries(list.map((name) => [name, 'readonly']));

const rules = ['array-callback-return', 'constructor-super', 'eqeqeq', 'for-direction', 'getter-return', 'no-async-promise-executor', 'no-caller', 'no-class-assign', 'no-compare-neg-zero',
  'no-cond-assign', 'no-const-assign', 'no-constant-condition', 'no-constructor-return', 'no-debugger', 'no-dupe-args', 'no-dupe-class-members', 'no-dupe-else-if', 'no-dupe-keys',
  'no-duplicate-case', 'no-empty-pattern', 'no-eval', 'no-ex-assign', 'no-extend-native', 'no-fallthrough', 'no-func-assign', 'no-implied-eval', 'no-import-assign', 'no-inner-declarations',
  'no-invalid-regexp', 'no-loss-of-precision', 'no-misleading-character-class', 'no-new-func', 'no-new-wrappers', 'no-obj-calls', 'no-promise-executor-return', 'no-prototype-builtins',
  'no-self-assign', 'no-self-compare', 'no-setter-return', 'no-shadow-restricted-names', 'no-sparse-arrays', 'no-template-curly-in-string', 'no-this-before-super', 'no-throw-literal',
  'no-undef', 'no-unmodified-loop-condition', 'no-unreachable', 'no-unreachable-loop', 'no-unsafe-finally', 'no-unsafe-negation', 'no-unsafe-optional-chaining', 'no-unused-vars',
  'no-useless-backreference', 'no-useless-catch', 'no-useless-escape', 'no-useless-rename', 'no-useless-return', 'no-var', 'no-with', 'prefer-const', 'require-yield', 'use-isnan', 'valid-typeof'];

export default scripts.flatMap((files) => files.map((name) => ({
  files: [name],
  languageOptions: {
    ecmaVersion: 2023,
    sourceType: 'script',
    globals: readonly([...browser, ...files.filter((other) => other !== name).flatMap((other) => names.get(other))]),
  },
  linterOptions: { reportUnusedDisableDirectives: true },
  rules: {
    ...Object.fromEntries(rules.map((rule) => [rule, 'error'])),
    'no-unused-vars': ['error', { vars: 'local', argsIgnorePattern: '^_' }],
    // Text from the network must not become markup.
    'no-restricted-syntax': ['error', { selector: 'MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML|write|writeln|srcdoc|createContextualFragment)$/]', message: 'Text must not become markup.' }],
  },
})));
