// The page of the program. All it does is ask the program, which has the files and the
// network.

const home = { key: '', state: null, shown: {}, chosen: new Map(), busy: false, departures: 0 };

// Asking the program.

// ask has the program do something, and returns its answer. An error is a sentence.
async function ask(what, about = {}) {
  const r = await fetch(`api/${what}`, { method: 'POST', headers: { 'X-Bcdissect-Key': home.key }, body: JSON.stringify(about) });
  if (r.status === 403) throw new Error('This address is not complete. Use the one in the window of the program.');
  if (!r.ok) throw new Error(`The program answers ${r.status}.`);
  const answer = await r.json();
  if (answer.error && !answer.servers) throw new Error(answer.error);
  return answer;
}

// work does one thing at a time, says that it takes a while, and shows what went wrong.
async function work(text, task) {
  if (home.busy) return;
  const { departures } = home;
  home.busy = true;
  home.doing.textContent = text;
  hush();
  try {
    await task();
  } catch (e) {
    complain(e.message);
  } finally {
    home.busy = false;
    home.doing.textContent = '';
    if (home.departures === departures) await refresh();
  }
}

function complain(text) {
  home.trouble.querySelector('p').textContent = text;
  home.trouble.hidden = false;
  home.trouble.scrollIntoView({ block: 'nearest' });
}

function hush() { home.trouble.hidden = true; }

// depart counts that the page is left. The browser then ends what it asks, which says
// nothing about the program. The page goes on if the browser keeps it and the user comes back.
function depart() { home.departures++; }

// turnTo opens captures in the page for them. Remarks wait for the user.
function turnTo({ view, remarks }) {
  keep(remarks);
  depart();
  location.assign(view);
}

function keep(remarks) { sessionStorage.setItem('remarks', remarks?.join('\n') ?? ''); }

// remind shows the remarks that wait.
function remind() {
  const remarks = sessionStorage.getItem('remarks');
  sessionStorage.removeItem('remarks');
  if (remarks) complain(remarks);
}

const watch = (names) => work('Opening …', async () => turnTo(await ask('open', { names })));

// drop gives files to the program, which opens them.
const drop = (files) => work('Taking the files …', async () => {
  const names = [];
  for (const file of files) {
    const r = await fetch(`api/drop?name=${encodeURIComponent(file.name)}`, { method: 'POST', headers: { 'X-Bcdissect-Key': home.key }, body: file });
    const { path, error } = await r.json();
    if (error) throw new Error(error);
    names.push(path);
  }
  turnTo(await ask('open', { names }));
});

// Parts of the page.

const bytesText = (n) => (n < 1e6 ? `${Math.ceil(n / 1e3)} KB` : n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(1)} GB`);
const timeText = (ms) => new Date(ms).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const button = (text, act, props) => h('button', { type: 'button', onclick: act, ...props }, text);

// part fills a part of the page anew if its data has changed, so that the focus stays.
function part(name, data, make) {
  const text = JSON.stringify(data);
  if (home.shown[name] === text) return;
  home.shown[name] = text;
  const box = home[name], before = document.activeElement?.closest('[data-key]');
  const key = before && box.contains(before) ? before.dataset.key : null;
  box.replaceChildren(...[make(data)].flat().filter(Boolean));
  if (key) [...box.querySelectorAll('[data-key]')].find((e) => e.dataset.key === key)?.focus();
}

const fact = (name, value, props) => h('div', props, h('dt', null, name), h('dd', null, value));

function recorder() {
  const server = h('input', { type: 'text', id: 'server', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', placeholder: 'game.example.org or 192.0.2.7:22102', 'aria-describedby': 'serverhelp' });
  home.server = server;
  home.form = h('form', { onsubmit: (e) => { e.preventDefault(); begin(server.value); } }, h('label', { for: 'server' }, 'Server'), server,
    h('button', { type: 'submit', class: 'main' }, 'Record'), button('Look for servers', look, { id: 'look' }));
  home.found = h('ul', { class: 'list servers', id: 'found' });
  home.idle = h('div', { class: 'card box' }, h('p', { class: 'soft', id: 'serverhelp' }, 'Choose the server that you want to play on. The program stands between your game and the server, and records what they say.'), home.form, home.found);
  home.live = h('div', { class: 'card box', hidden: true });
  return section('h-record', 'Record my game', null, home.idle, home.live);
}

const begin = (name) => work('Starting …', async () => {
  await ask('record', { server: name });
  home.server.value = '';
  await refresh();
  document.getElementById('stop')?.focus();
});

const look = () => work('Looking for servers …', async () => {
  const { servers, error } = await ask('look');
  home.servers = servers;
  if (error) complain(error);
  else if (!servers.length) complain('No server answered on the local network. A firewall may keep answers out. For a server elsewhere, type its name or address.');
  else home.doing.textContent = plural(servers.length, 'server');
});

// listServers shows what was found, or what was used before.
function listServers(all) {
  return all.map((s) => h('li', null,
    h('span', { class: 'name' }, s.name ? h('bdi', null, s.name) : s.host, h('span', { class: 'soft' }, aboutServer(s))),
    button('Record here', () => { home.server.value = s.host; begin(s.host); }, { 'aria-label': `Record a game on ${s.name || s.host}`, 'data-key': `s ${s.host}` })));
}

function aboutServer(s) {
  const known = [s.name && s.host, s.map, s.players !== undefined && `${s.players} of ${s.limit ?? '?'} players`, s.names?.length && s.names.join(', '), s.trip && `${s.trip.toFixed(0)} ms`, s.error, s.used && 'used before'];
  return known.filter(Boolean).join(' · ');
}

function showLive(t) {
  if (!t?.running) return [];
  return [
    h('p', { class: 'join' }, 'Join ', h('b', null, t.join), ' in the game'),
    h('p', { class: 'soft' }, `In the game, choose Multiplayer and Join, and type ${t.join} where the address of a server goes. You then play on ${t.server}. The recording goes on when you close this page.`),
    h('dl', { class: 'facts' }, home.facts = ['Your game', 'Time', 'Datagrams', 'File size'].map((name) => fact(name, '')), fact('Recorded in', t.file, { class: 'wide' })),
    t.error ? h('p', { class: 'trouble', role: 'alert' }, `The recording has ended: ${t.error}. The game goes on without it.`) : null,
    h('p', { class: 'row' }, button('Stop and watch', () => work('Completing the recording …', async () => turnTo(await ask('stop'))), { class: 'main', id: 'stop', 'data-key': 'stop' }),
      t.live ? h('a', { href: t.live, target: '_blank', id: 'live', 'data-key': 'live' }, 'Watch it live') : null),
  ];
}

// tick shows the figures of a recording.
function tick(t) {
  if (!t?.running) return;
  const values = [t.playing ? 'is connected' : 'has not joined yet', clock(t.seconds, 0), grouped(t.datagrams), bytesText(t.bytes)];
  home.facts.forEach((e, i) => { e.querySelector('dd').textContent = values[i]; });
}

function opener() {
  const path = h('input', { type: 'text', id: 'path', autocomplete: 'off', spellcheck: 'false', placeholder: 'paste the path of a capture' });
  const files = h('input', { type: 'file', multiple: true, class: 'hidden', id: 'files', tabindex: -1, 'aria-hidden': 'true', onchange: () => { drop([...files.files]); files.value = ''; } });
  home.list = h('div');
  return section('h-open', 'Open a recording', 'or drop a capture anywhere on this page',
    h('div', { class: 'card box' }, home.list,
      h('form', { onsubmit: (e) => { e.preventDefault(); watch([path.value]); } }, h('label', { for: 'path' }, 'File'), path, h('button', { type: 'submit' }, 'Open'), button('Choose files', () => files.click()), files),
      h('p', { class: 'row' }, button('Watch a sample match', () => work('Opening …', async () => turnTo(await ask('sample'))), { id: 'sample' }), h('span', { class: 'soft' }, 'Half a minute with four scripted players. You need no game for it.'))));
}

function listRecordings({ recordings, more }) {
  for (const name of home.chosen.keys()) if (!recordings.some((f) => f.names[0] === name)) home.chosen.delete(name);
  const together = button('Watch the chosen ones together', () => watch([...home.chosen.values()].flat()), { hidden: home.chosen.size < 2, 'data-key': 'together' });
  const choose = (e, { names }) => {
    if (e.target.checked) home.chosen.set(names[0], names); else home.chosen.delete(names[0]);
    together.hidden = home.chosen.size < 2;
  };
  if (!recordings.length) return [h('p', { class: 'soft' }, 'There are no recordings yet. They will be listed here.')];
  return [
    h('ul', { class: 'list scroll', 'aria-label': 'Recordings', tabindex: recordings.length > 6 ? 0 : null }, recordings.map((f) => h('li', null,
      h('input', { type: 'checkbox', 'aria-label': `Choose ${f.shown}`, checked: home.chosen.has(f.names[0]), 'data-key': `c ${f.names[0]}`, onchange: (e) => choose(e, f) }),
      h('span', { class: 'name' }, h('bdi', null, f.shown), h('span', { class: 'soft' }, [timeText(f.time), bytesText(f.bytes), f.names.length > 1 && `${f.names.length} parts`].filter(Boolean).join(' · '))),
      button('Watch', () => watch(f.names), { 'aria-label': `Watch ${f.shown}`, 'data-key': `w ${f.names[0]}` }),
      button('Anonymous copy', () => send(f), { 'aria-label': `Make an anonymous copy of ${f.shown}`, 'data-key': `a ${f.names[0]}` })))),
    more ? h('p', { class: 'soft' }, `${plural(more, 'older recording is', 'older recordings are')} in the folder only.`) : null,
    h('p', { class: 'row' }, together),
  ];
}

function sender() {
  home.sent = h('div', { class: 'card box' }, h('p', { class: 'soft' }, 'To report a fault, send a developer a copy without names, chat and addresses. Press Anonymous copy next to a recording.'));
  return section('h-send', 'Send to a developer', null, home.sent);
}

const send = (f) => work('Making an anonymous copy …', async () => {
  const { file, notes } = await ask('anonymous', { names: f.names });
  home.sent.replaceChildren(
    h('p', null, 'The copy is ', h('b', null, h('bdi', null, file)), '. It is in the folder with your recordings. Read below what was replaced, and send the file.'),
    h('p', { class: 'row' }, button('Open the folder', folder)),
    h('pre', { class: 'notes', tabindex: 0, 'aria-label': 'What was replaced' }, notes));
  document.getElementById('h-send').scrollIntoView();
});

const folder = () => work('Opening the folder …', () => ask('folder'));

// Begin.

function show(s) {
  home.state = s;
  home.idle.hidden = Boolean(s.tape?.running);
  home.live.hidden = !s.tape?.running;
  part('found', home.servers || s.servers.map((host) => ({ host, used: true })), listServers);
  part('live', s.tape && { running: s.tape.running, join: s.tape.join, server: s.tape.server, file: s.tape.file, live: s.tape.live, error: s.tape.error }, showLive);
  part('list', { recordings: s.tape?.running ? s.recordings.filter((f) => f.shown !== s.tape.file) : s.recordings, more: s.more }, listRecordings);
  part('folder', s.folder, (name) => [h('span', null, 'Recordings are in ', h('bdi', null, name), '.'), button('Open the folder', folder, { 'data-key': 'folder' })]);
  part('said', s.said, (lines) => h('pre', { class: 'notes', tabindex: 0, 'aria-label': 'What the program says' }, lines.join('\n')));
  document.title = s.tape?.running ? `Recording ${s.tape.server}` : 'bcdissect';
  tick(s.tape);
}

async function refresh() {
  const { departures } = home;
  try {
    show(await ask('state'));
    if (home.lost) hush();
    home.lost = false;
  } catch (e) {
    if (home.state && home.departures !== departures) return;
    home.lost = true;
    complain(e instanceof TypeError ? 'The program has ended. Start it again: it opens a new page.' : e.message);
  }
}

async function watchState() {
  if (document.visibilityState === 'visible') await refresh();
  setTimeout(watchState, home.lost ? 5000 : 1000);
}

async function start() {
  paint();
  listen();
  const given = new URLSearchParams(location.hash.slice(1)).get('key');
  if (given) {
    sessionStorage.setItem('key', given);
    history.replaceState(null, '', location.pathname);
  }
  home.key = given || sessionStorage.getItem('key') || '';
  home.trouble = h('div', { class: 'trouble card', role: 'alert', hidden: true }, h('p'), button('Close', hush));
  home.doing = h('span', { role: 'status', class: 'soft' });
  home.folder = h('p', { class: 'row' });
  home.said = h('div');
  document.getElementById('home').append(bars('bcdissect', home.doing), h('h1', null, 'Record and watch your games'), home.trouble, recorder(), opener(), sender(),
    h('footer', null, home.folder, h('details', null, h('summary', null, 'What the program says'), home.said)));
  addEventListener('dragover', (e) => { e.preventDefault(); document.body.classList.add('over'); });
  addEventListener('dragleave', (e) => { if (!e.relatedTarget) document.body.classList.remove('over'); });
  addEventListener('drop', (e) => {
    e.preventDefault();
    document.body.classList.remove('over');
    if (e.dataTransfer.files.length) drop([...e.dataTransfer.files]);
  });
  addEventListener('pagehide', depart);
  addEventListener('pageshow', (e) => {
    if (!e.persisted) return;
    remind();
    refresh();
  });
  await refresh();
  if (home.lost) return;
  if (given) keep(home.state.opened.remarks);
  remind();
  document.documentElement.dataset.ready = Math.round(performance.now());
  if (given && home.state.opened.view) turnTo(home.state.opened); // once: the address has no key when the user comes back
  watchState();
}

start().catch((e) => { complain(e.message); });
