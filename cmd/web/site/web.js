// The site: files in, views out. Workers read the files; this script only shows.

const site = { files: [], spare: new Map(), module: null, panels: {}, shown: null };

const mostSize = 2 ** 31; // bytes of all files together, beyond which browsers have no memory

// Workers.

// hire starts a worker for a task, or takes the one that is ready.
function hire(role) {
  const spare = site.spare.get(role);
  site.spare.delete(role);
  return spare || newWorker();
}

function newWorker() {
  const w = { worker: new Worker(site.script), calls: new Map(), last: 0 };
  w.ready = new Promise((done, fail) => {
    w.fail = fail;
    w.worker.onmessage = ({ data }) => {
      if (data.ready) { done(); return; }
      if (data.died) { w.lost('the program ended'); return; }
      if (data.progress) { w.onprogress?.(...data.progress); return; }
      if (data.state) { w.onstate?.(data.state); return; }
      const call = w.calls.get(data.id);
      w.calls.delete(data.id);
      if (!call) return;
      if (data.error) call.fail(new Error(data.error)); else call.done(data);
    };
    w.worker.onerror = (e) => { e.preventDefault?.(); w.lost(e.message || 'it could not be loaded'); };
  });
  w.ready.catch(() => {}); // whoever asks is told
  w.lost = (why) => {
    const e = new Error(`The reader stopped: ${why}. The captures may be too large for the memory of this browser.`);
    w.fail(e);
    for (const c of w.calls.values()) c.fail(e);
    w.calls.clear();
    w.onlost?.(e);
  };
  w.ask = async (task, more) => {
    await w.ready;
    return new Promise((done, fail) => {
      const id = ++w.last;
      w.calls.set(id, { done, fail });
      w.worker.postMessage({ task, id, ...more });
    });
  };
  w.end = () => { w.ended = true; w.worker.terminate(); };
  site.module.then((module) => w.worker.postMessage({ module }), (e) => w.fail(e));
  return w;
}

// The program and the script of the workers are loaded once, so that the page
// asks for nothing later. A worker from a blob has the page's security policy.

async function part(name) {
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name} could not be loaded: ${response.status}`);
  return response;
}

const compile = async () => WebAssembly.compile(await (await part('{{bcdissect.wasm}}')).arrayBuffer());

// Files.

// load opens files in place of those that are open.
async function load(files) {
  if (!files.length || !site.script) return;
  const began = performance.now();
  close();
  const names = new Set();
  site.files = files.map((file) => {
    let name = file.name.replace(/[\0/]/g, '_') || 'capture';
    if (name === '-' || name === '.' || name === '..') name = `capture${name}`;
    for (let n = 2; names.has(name); n++) name = `${n}/${file.name}`;
    names.add(name);
    return { name, file };
  });
  const size = files.reduce((n, f) => n + f.size, 0);
  const mine = site.load = {};
  view(h('p', { class: 'reading' }, `Reading ${site.files.map((f) => f.name).join(', ')} …`), site.bar = h('progress', { 'aria-label': 'Reading', max: 1, value: 0 }));
  if (size > mostSize) {
    fail(new Error(`These files have ${bytesText(size)}, and a browser holds at most ${bytesText(mostSize)}. Open fewer, or read them with the program: bcdissect session FILE.`));
    return;
  }
  const reader = hire('report'), lister = hire('list');
  site.reader = reader;
  site.lister = lister;
  reader.onprogress = (read, all) => { if (site.bar) site.bar.value = all ? Math.min(read / all, 1) : 0; };
  lister.onstate = (state) => { site.state = state; site.onstate?.(state); };
  lister.onlost = (e) => { if (site.load === mine) site.complain?.(e); };
  const listed = lister.ask('list', { files: site.files });
  listed.catch(() => {}); // the report says it
  try {
    const { report, columns } = await reader.ask('report', { files: site.files });
    if (site.load !== mine) return;
    reader.end();
    const r = JSON.parse(report);
    r.columns = columns;
    const { start } = await listed;
    if (site.load !== mine) return;
    build(r, start);
    document.documentElement.dataset.shown = Math.round(performance.now() - began);
  } catch (e) {
    if (site.load === mine) fail(e);
  }
  for (const role of ['report', 'list']) if (!site.spare.has(role)) site.spare.set(role, newWorker());
}

// close forgets what is open.
function close() {
  site.reader?.end();
  site.lister?.end();
  site.saver?.end();
  Object.assign(site, { reader: null, lister: null, saver: null, files: [], state: null, onstate: null, complain: null, bar: null, list: null });
  for (const waiting of [app.linking, app.trailing]) clearTimeout(waiting);
  app.playing = false;
  app.scene = null;
  app.data = null;
  app.toFrame = null;
  app.resizing?.disconnect();
  delete document.documentElement.dataset.shown;
  if (location.hash || history.state) history.replaceState(null, '', location.pathname + location.search);
}

const bytesText = (n) => (n < 1e6 ? `${Math.ceil(n / 1e3)} KB` : n < 1e9 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e9).toFixed(1)} GB`);

// view replaces all that is below the head.
function view(...content) { site.root.replaceChildren(...content); }

function fail(e) {
  close();
  view(h('div', { class: 'trouble card', role: 'alert' }, h('h2', null, 'This cannot be read'), h('p', null, e.message)), landing());
  document.documentElement.dataset.failed = 'true';
}

function landing() {
  const input = h('input', { type: 'file', multiple: true, id: 'files', onchange: () => { load([...input.files]); } });
  return h('div', { class: 'landing' },
    h('label', { class: 'drop card', for: 'files' }, h('span', { class: 'big' }, 'Drop a capture here'), h('span', { class: 'soft' }, 'or choose one or several: pcap, pcapng, logs of the community’s tools; plain, gzip or zstd'), input),
    h('ul', { class: 'promises' },
      h('li', null, h('b', null, 'Nothing leaves your computer. '), 'The page reads the file itself, keeps nothing, and works without a network once it is loaded.'),
      h('li', null, h('b', null, 'The match: '), 'who won, kills, ships, chat, and all flights to watch again.'),
      h('li', null, h('b', null, 'Every message: '), 'filters, fields and bytes.'),
      h('li', null, h('b', null, 'Files to keep: '), 'a report to send to friends, tables, a recording for Tacview, and captures without names and addresses.')));
}

// Views.

const tabs = [['match', 'Match'], ['messages', 'Messages'], ['stats', 'Statistics'], ['network', 'Network'], ['save', 'Save']];

// build shows what is in the files.
function build(r, start) {
  const list = h('div', { role: 'tablist', 'aria-label': 'Views', class: 'tabs' });
  site.panels = {};
  site.tabs = {};
  for (const [id, name] of tabs) {
    const tab = h('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': `panel-${id}`, onclick: () => turnTo(id) }, name);
    site.tabs[id] = tab;
    site.panels[id] = h('section', { role: 'tabpanel', id: `panel-${id}`, 'aria-labelledby': `tab-${id}`, hidden: true });
    list.append(tab);
  }
  list.addEventListener('keydown', (e) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!way) return;
    e.preventDefault();
    e.stopPropagation();
    const i = tabs.findIndex(([id]) => id === site.shown);
    const next = tabs[(i + way + tabs.length) % tabs.length][0];
    turnTo(next);
    site.tabs[next].focus();
  });
  const data = unpack(r.page, r.columns);
  const troubles = h('div', { class: 'trouble card', role: 'status' });
  site.complain = (e) => { troubles.append(h('p', null, e.message)); troubles.hidden = false; };
  troubles.hidden = true;
  for (const text of r.remarks) site.complain({ message: text });
  view(data.matches.length ? skipButton() : '', troubles, list, ...Object.values(site.panels));
  site.title.textContent = site.files.map((f) => f.name).join(', ');
  site.report = r;
  site.start = start;
  messages(site.panels.messages);
  statistics(site.panels.stats, r.stats);
  network(site.panels.network, r.network);
  saving(site.panels.save);
  app.toFrame = (m, frame) => toRow({ file: r.files[data.matches.indexOf(m)], frame });
  turnTo(data.matches.length ? 'match' : 'messages');
  show(site.panels.match, data);
  if (!r.game) site.complain({ message: 'There is no traffic of the game in it.' });
}

// turnTo opens a view.
function turnTo(id) {
  site.shown = id;
  for (const [k] of tabs) {
    site.panels[k].hidden = k !== id;
    site.tabs[k].setAttribute('aria-selected', String(k === id));
    site.tabs[k].tabIndex = k === id ? 0 : -1;
  }
  if (id !== 'match' && app.playing) app.play(false);
  if (id === 'match' && app.scene) resize();
  if (id === 'save') site.saveNote();
}

// toRow shows the messages of a frame of a file.
async function toRow(which) {
  turnTo('messages');
  const { row } = await site.lister.ask('frame', which);
  if (row < 0) return;
  if (site.filtered) await applyFilter('');
  const { place } = await site.lister.ask('place', { row });
  site.list.body.focus({ preventScroll: true });
  site.list.element.scrollIntoView({ block: 'nearest' });
  site.list.select(place, true);
}

// toMoment shows a time, in milliseconds since 1970, in the replay.
function toMoment(time) {
  const i = momentOf(time);
  if (i < 0) return;
  const t = (time - app.data.matches[i].origin) / 1000;
  turnTo('match');
  if (i !== app.index) app.choose(i, t);
  app.jump(t, false);
  document.getElementById('time').focus({ preventScroll: true });
}

// momentOf is the match that a time is in, -1 for none.
const momentOf = (time) => app.data.matches.findIndex((m) => time >= m.origin + m.begin * 1000 - 1 && time <= m.origin + m.end * 1000 + 1);

// Messages.

// presets are filters by name.
const presets = [
  ['Chat', 'Chat or TeamChat'],
  ['Kills', 'DestroyObject or ScoreChange'],
  ['Joins and leaves', 'PlayerAnnounce or PlayerDeleted'],
  ['Shots', 'TorpedoFire or PulseFire or StartFiring'],
  ['Without updates', 'not StateUpdate and kind != "ack"'],
  ['Faults', 'status == "malformed"'],
];

function messages(panel) {
  const input = h('input', { type: 'text', id: 'filter', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': 'offers', 'aria-autocomplete': 'list', 'aria-describedby': 'mistake', autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', placeholder: 'TorpedoFire or Chat' });
  const offers = h('ul', { id: 'offers', role: 'listbox', 'aria-label': 'Completions', hidden: true });
  const mistake = h('div', { id: 'mistake', role: 'alert', hidden: true }, h('pre'), h('p'));
  const counted = h('p', { class: 'counted soft', role: 'status' });
  const form = h('form', { class: 'filterbar', role: 'search' }, h('label', { for: 'filter' }, 'Filter'), h('span', { class: 'inputs' }, input, offers), h('button', { type: 'submit' }, 'Apply'),
    h('button', { type: 'button', onclick: () => { input.value = ''; shut(); applyFilter(''); } }, 'Clear'));
  const ready = h('p', { class: 'presets', role: 'group', 'aria-label': 'Filters by name' }, presets.map(([name, expression]) => h('button', { type: 'button', title: expression, onclick: () => { shut(); applyFilter(expression); } }, name)));
  const detail = h('div', { class: 'detail' });
  let active = -1, asked = 0;
  const shut = () => { offers.hidden = true; active = -1; input.setAttribute('aria-expanded', 'false'); input.removeAttribute('aria-activedescendant'); };
  const mark = () => {
    [...offers.children].forEach((e, i) => e.setAttribute('aria-selected', String(i === active)));
    if (active >= 0) { input.setAttribute('aria-activedescendant', offers.children[active].id); offers.children[active].scrollIntoView({ block: 'nearest' }); } else input.removeAttribute('aria-activedescendant');
  };
  const accept = (text) => { input.value = text; shut(); input.focus(); };
  const offer = async () => {
    const text = input.value, mine = ++asked;
    if (input.selectionStart !== text.length) { shut(); return; }
    const all = JSON.parse((await site.lister.ask('complete', { expression: text })).offers || '[]') || [];
    if (mine !== asked || !all.length || (all.length === 1 && all[0] === text)) { if (mine === asked) shut(); return; }
    const from = text.length - /[\w.]*$/.exec(text)[0].length;
    active = -1;
    offers.replaceChildren(...all.map((x, i) => h('li', { role: 'option', id: `offer${i}`, 'data-full': x, 'aria-selected': 'false', onpointerdown: (e) => { e.preventDefault(); accept(x); } }, x.slice(from))));
    offers.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    input.removeAttribute('aria-activedescendant');
  };
  input.addEventListener('input', () => { mistake.hidden = true; input.setAttribute('aria-invalid', 'false'); offer(); });
  input.addEventListener('blur', shut);
  input.addEventListener('keydown', (e) => {
    const n = offers.children.length;
    if (e.key === 'ArrowDown' && offers.hidden) offer();
    else if (offers.hidden) return;
    else if (e.key === 'ArrowDown') active = (active + 1) % n;
    else if (e.key === 'ArrowUp') active = (active + n) % (n + 1) - 1 < -1 ? n - 1 : active <= 0 ? n - 1 : active - 1;
    else if (e.key === 'Escape') shut();
    else if ((e.key === 'Enter' && active >= 0) || e.key === 'Tab') accept(offers.children[Math.max(active, 0)].dataset.full);
    else return;
    e.preventDefault();
    mark();
  });
  form.addEventListener('submit', (e) => { e.preventDefault(); shut(); applyFilter(input.value); });
  Object.assign(site, { input, mistake, counted, detail, filtered: '' });
  site.list = new MessageList(async (from, to) => (await site.lister.ask('rows', { from, to })).rows, (row) => choose(row));
  site.onstate = (s) => {
    site.list.count(s.shown, false);
    const done = s.more ? `, ${Math.round((100 * s.read) / Math.max(s.size, 1))} % read` : '';
    counted.textContent = `${site.filtered ? `${grouped(s.shown)} of ` : ''}${plural(s.all, 'message').replace(String(s.all), grouped(s.all))}${done}${s.left ? `; ${grouped(s.left)} more do not fit into this list; the other views and the saved files have all` : ''}`;
    counted.dataset.more = String(s.more);
  };
  panel.append(form, ready, mistake, counted, site.list.element, detail);
  detail.append(h('p', { class: 'soft' }, 'Choose a message to see its fields and bytes.'));
  if (site.state) site.onstate(site.state);
}

// applyFilter shows the messages for which an expression holds.
async function applyFilter(expression) {
  const { mistake } = await site.lister.ask('filter', { expression });
  site.input.value = expression;
  site.input.setAttribute('aria-invalid', String(Boolean(mistake)));
  site.mistake.hidden = !mistake;
  if (mistake) {
    const m = JSON.parse(mistake);
    site.mistake.querySelector('pre').textContent = m.caret;
    site.mistake.querySelector('p').textContent = m.reason;
    return;
  }
  site.filtered = expression.trim();
  site.list.clear();
  site.list.count(0, true);
}

async function choose(row) {
  const asked = site.chosen = {};
  const { detail } = await site.lister.ask('detail', { row });
  if (site.chosen !== asked) return;
  const d = JSON.parse(detail);
  if (!d) { site.complain({ message: 'The files have changed or are gone; open them again.' }); return; }
  showDetail(d);
}

// showDetail shows the fields and the bytes of a message.
function showDetail(d) {
  const bytes = d.bytes.match(/../g) || [], cells = [], chars = [];
  const hex = h('div', { class: 'hex', role: 'group', 'aria-label': `${plural(bytes.length, 'byte')}, deciphered` });
  const width = matchMedia('(max-width: 820px)').matches ? 8 : 16;
  for (let at = 0; at < bytes.length; at += width) {
    const part = bytes.slice(at, at + width), left = [], right = [];
    part.forEach((b, i) => {
      const c = parseInt(b, 16);
      left.push(cells[at + i] = h('span', { 'data-at': at + i }, b));
      right.push(chars[at + i] = h('span', { 'data-at': at + i }, c > 0x20 && c < 0x7f ? String.fromCharCode(c) : '·'));
    });
    hex.append(h('div', null, h('span', { class: 'at' }, at.toString(16).padStart(4, '0')), h('span', { class: `left w${width}` }, left), h('span', { class: 'right', 'aria-hidden': 'true' }, right)));
  }
  if (d.cut) hex.append(h('p', { class: 'soft' }, `${plural(d.cut, 'more byte')} left out`));
  const tree = h('ul', { class: 'tree', role: 'tree', 'aria-label': 'Fields' });
  const said = h('p', { class: 'said soft', role: 'status' });
  let on = -1;
  const items = d.branches.map((b, i) => {
    const e = h('li', { role: 'treeitem', 'aria-level': b.depth + 1, 'aria-selected': 'false', tabindex: i ? -1 : 0, title: b.doc || null, onclick: () => select(i) },
      h('span', { class: 'place' }, b.end > b.off ? `+${b.off}${b.end - b.off > 1 ? `..${b.end}` : ''}` : ''), h('b', null, b.name), ' ', h('span', null, b.value));
    e.style.paddingLeft = `${8 + 16 * b.depth}px`;
    return e;
  });
  tree.append(...items);
  function select(i, quiet) {
    if (on >= 0) { items[on].setAttribute('aria-selected', 'false'); items[on].tabIndex = -1; }
    on = i;
    items[i].setAttribute('aria-selected', 'true');
    items[i].tabIndex = 0;
    if (!quiet) items[i].focus({ preventScroll: true });
    const b = d.branches[i];
    let { off, end } = b;
    if (off === end) for (let k = i + 1; k < d.branches.length && d.branches[k].depth > b.depth; k++) if (d.branches[k].end > d.branches[k].off) { if (off === end) off = d.branches[k].off; end = d.branches[k].end; } // a group
    cells.forEach((c, k) => { const lit = k >= off && k < end; c.classList.toggle('lit', lit); chars[k].classList.toggle('lit', lit); });
    said.textContent = [end > off ? `Bytes ${off} to ${end - 1}` : '', b.doc].filter(Boolean).join(': ');
    const box = items[i].getBoundingClientRect(), all = tree.getBoundingClientRect();
    if (box.top < all.top) tree.scrollTop += box.top - all.top; else if (box.bottom > all.bottom) tree.scrollTop += box.bottom - all.bottom;
  }
  tree.addEventListener('keydown', (e) => {
    const to = { ArrowDown: on + 1, ArrowUp: on - 1, Home: 0, End: items.length - 1 }[e.key];
    if (to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    select(Math.min(Math.max(to, 0), items.length - 1));
  });
  hex.addEventListener('click', (e) => {
    const at = e.target.dataset?.at;
    if (at === undefined) return;
    let best = -1;
    d.branches.forEach((b, i) => { if (b.off <= at && at < b.end && (best < 0 || b.end - b.off <= d.branches[best].end - d.branches[best].off)) best = i; });
    if (best >= 0) select(best);
  });
  const there = momentOf(d.time) >= 0;
  site.detail.replaceChildren(
    h('div', { class: 'detailhead' }, h('h3', null, d.name), h('span', { class: 'soft' }, `frame ${d.frame}`), there ? h('button', { type: 'button', class: 'moment', onclick: () => toMoment(d.time) }, 'Show in the replay') : null),
    h('p', { class: 'soft' }, d.header.join(' · ')),
    ...d.remarks.map((x) => h('p', { class: 'remark' }, x)),
    h('div', { class: 'parts' }, h('div', { class: 'card' }, items.length ? tree : h('p', { class: 'soft' }, 'No fields.'), said), h('div', { class: 'card' }, hex)));
  if (items.length) select(items.length > 1 ? 1 : 0, true);
}

// Tables.

const tableOf = (label, heads, rows, texts = 1) => h('div', { class: 'card scroll' }, h('table', null, h('caption', { class: 'hidden' }, label),
  h('thead', null, h('tr', null, heads.map((x, i) => h('th', { scope: 'col', class: i < texts ? '' : 'num' }, x)))),
  h('tbody', null, rows.map((r) => h('tr', null, r.map((x, i) => (i === 0 ? h('th', { scope: 'row' }, x) : h('td', { class: i < texts ? '' : 'num' }, x))))))));

const percent = (x) => `${(100 * x).toFixed(1)} %`;
const hexOf = (n) => `0x${n.toString(16).toUpperCase().padStart(2, '0')}`;

function statistics(panel, s) {
  const d = s.datagrams, m = s.messages, r = s.reliability;
  const flags = [...new Set([...Object.keys(s.state_flags.c2s), ...Object.keys(s.state_flags.s2c)])].sort();
  panel.append(
    section('s-all', 'Traffic', null, tableOf('Traffic', ['', ''], [
      ['Frames', grouped(s.frames)], ['Duration', `${s.duration.toFixed(3)} s`], ['Datagrams of the game', grouped(d.game)], ['GameSpy', grouped(d.gamespy)], ['Other datagrams', grouped(d.other)], ['Malformed datagrams', grouped(d.malformed)],
      ['Transport messages', grouped(m.total)], ['Reliable', grouped(r.reliable)], ['Unreliable', grouped(r.unreliable)], ['Retransmissions', grouped(r.duplicates)], ['Fragments', grouped(r.fragments)], ['Put together', grouped(r.reassembled)], ['Never complete', grouped(r.incomplete)],
      ['Bytes of game messages', grouped(s.payload_bytes)], ['Bytes not understood', grouped(s.residue_bytes)], ['Errors', grouped(s.errors)]])),
    section('s-op', 'Game messages', 'a click shows them', tableOf('Game messages', ['Message', 'To the host', 'From the host', 'All', 'Share', 'Bytes'],
      s.opcodes.map((o) => [h('button', { type: 'button', class: 'time', onclick: () => { turnTo('messages'); applyFilter(`opcode == ${hexOf(o.opcode)}`); } }, o.name || hexOf(o.opcode)), grouped(o.c2s), grouped(o.s2c), grouped(o.total), percent(o.share), grouped(o.bytes)]))),
    flags.length ? section('s-flags', 'Ship updates by their flags', null, tableOf('Ship updates', ['Flags', 'To the host', 'From the host'], flags.map((f) => [f, grouped(s.state_flags.c2s[f] || 0), grouped(s.state_flags.s2c[f] || 0)]))) : '');
}

const ms = (x) => (x === undefined ? none : `${x.toFixed(1)} ms`);
const endsOf = (l) => h('bdi', { title: l.client }, l.player_name || l.client);
const wayOf = (l) => (l.dir === 'c2s' ? 'to the host' : 'from the host');

function network(panel, n) {
  panel.append(
    section('n-links', 'Connections', 'measured where the capture was made', n.links.length ? tableOf('Connections', ['Player', 'Direction', 'Datagrams', 'Reliable', 'Sent again', 'Lost', 'Late', 'Round trip', '95 %', 'Longest', 'Longest silence'],
      n.links.map((l) => [endsOf(l), wayOf(l), grouped(l.datagrams), grouped(l.reliable), grouped(l.retransmissions), grouped(l.lost), grouped(l.late), ms(l.rtt_ms_median), ms(l.rtt_ms_p95), ms(l.rtt_ms_max), ms(l.silence_ms_longest)]), 2) : h('p', { class: 'soft' }, 'There are none.')),
    n.ships.length ? section('n-ships', 'Ship updates', null, tableOf('Ship updates', ['Player', 'Direction', 'Ship', 'Updates', 'A second', 'Mean interval', 'Longest', 'Jitter'],
      n.ships.map((x) => [endsOf(x), wayOf(x), x.object_name || String(x.object_id), grouped(x.updates), x.rate_per_s === undefined ? none : x.rate_per_s.toFixed(1), ms(x.interval_ms_mean), ms(x.interval_ms_longest), ms(x.jitter_ms)]), 3)) : '');
}

// Files to keep.

// stem is the name of the first file without its endings.
const stem = () => site.files[0].name.replace(/^.*\//, '').replace(/(\.(gz|zst|pcap|pcapng|cap|log))+$/i, '') || 'capture';

const forms = [
  { form: 'html', name: 'Report', what: 'one page for a browser, with the replay; it needs nothing else', ending: '.html', command: 'session FILE -o NAME.html' },
  { form: 'json', name: 'Match as JSON', what: 'players, kills, chat, ships, for scripts', ending: '.json', command: 'session FILE -T json' },
  { form: 'zip.acmi', name: 'Recording for Tacview', what: 'all flights', ending: '.zip.acmi', command: 'session FILE -o NAME.zip.acmi' },
  { form: 'ndjson', name: 'Messages as JSON', what: 'one object a line', ending: '.ndjson', command: 'read FILE -T json', filtered: true },
  { form: 'csv', name: 'Messages as CSV', what: 'for a spreadsheet', ending: '.csv', command: 'read FILE -T csv', filtered: true },
  { form: 'decrypted.pcapng', name: 'Deciphered capture', what: 'for Wireshark and other programs', ending: '.decrypted.pcapng', command: 'read FILE -w NAME.pcapng --decrypt' },
  { form: 'annotated.pcapng', name: 'Annotated capture', what: 'with all fields, for Wireshark with the plugin', ending: '.annotated.pcapng', command: 'read FILE -w NAME.pcapng --annotate' },
  { form: 'anonymous.pcapng', name: 'Anonymous capture', what: 'to share: other names, chat and addresses, the same game', ending: '.anonymous.pcapng', command: 'anonymize FILE NAME.pcapng --key KEYFILE', keyed: true },
];

function saving(panel) {
  const status = h('p', { role: 'status', class: 'soft' }), bar = h('progress', { 'aria-label': 'Writing', max: 1, value: 0, hidden: true });
  const note = h('p', { class: 'soft' }), said = h('pre', { class: 'card notes', hidden: true, tabindex: 0, 'aria-label': 'What was replaced' });
  const key = h('input', { type: 'text', id: 'key', autocomplete: 'off', spellcheck: 'false', placeholder: '64 hex digits', 'aria-describedby': 'keynote' });
  site.saveNote = () => { note.textContent = site.filtered ? `The filter ${site.filtered} is on: messages as JSON and CSV are those that it keeps.` : ''; };
  const buttons = forms.map((f) => h('li', { class: 'card' }, h('button', { type: 'button', 'data-form': f.form, onclick: () => save(f, { status, bar, said, key: key.value.trim() }) }, f.name), h('span', null, f.what), h('code', { class: 'soft' }, `bcdissect ${f.command}`),
    f.keyed ? h('p', { class: 'keyline' }, h('label', { for: 'key' }, 'Key '), key, h('span', { id: 'keynote' }, ' The same key gives the same pseudonyms; without one they are others each time.')) : null));
  panel.append(section('v-all', 'Save', 'each is the same file as the program writes', note, h('ul', { class: 'saves' }, buttons), bar, status, said));
}

async function save(f, { status, bar, said, key }) {
  site.saver?.end();
  const w = site.saver = newWorker();
  const name = stem() + f.ending;
  bar.hidden = false;
  bar.value = 0;
  said.hidden = true;
  delete status.dataset.saved;
  status.textContent = `Writing ${name} …`;
  w.onprogress = (read, all) => { bar.value = all ? Math.min(read / all, 1) : 0; };
  try {
    const { blob, notes } = await w.ask('save', { files: site.files, choice: { form: f.form, filter: f.filtered ? site.filtered : '', key: f.keyed ? key : '', name } });
    if (site.saver !== w) return;
    const a = h('a', { href: URL.createObjectURL(blob), download: name });
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
    status.textContent = `${name}: ${bytesText(blob.size)}`;
    status.dataset.saved = name;
    said.textContent = notes;
    said.hidden = !notes;
  } catch (e) {
    if (site.saver === w) status.textContent = e.message;
  } finally {
    w.end();
    if (site.saver === w) { site.saver = null; bar.hidden = true; }
  }
}

// Begin.

async function start() {
  paint();
  listen();
  site.module = compile();
  site.module.catch(() => {}); // the workers say it
  site.title = h('span', { class: 'cut title' });
  const again = h('input', { type: 'file', multiple: true, class: 'hidden', id: 'again', tabindex: -1, 'aria-hidden': 'true', onchange: () => { load([...again.files]); again.value = ''; } });
  site.root = h('div', { id: 'page' }, h('h1', null, 'Bridge Commander captures'), landing());
  const foot = h('footer', null, h('a', { href: 'licences.txt' }, 'Licences'));
  document.getElementById('site').append(bars('bcdissect', site.title, h('button', { type: 'button', onclick: () => again.click() }, 'Open'), again), site.root, foot);
  addEventListener('dragover', (e) => { e.preventDefault(); document.body.classList.add('over'); });
  addEventListener('dragleave', (e) => { if (!e.relatedTarget) document.body.classList.remove('over'); });
  addEventListener('drop', (e) => {
    e.preventDefault();
    document.body.classList.remove('over');
    load([...e.dataTransfer.files]);
  });
  const script = await (await part('{{worker.js}}')).blob();
  site.script = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  for (const role of ['report', 'list']) site.spare.set(role, newWorker());
  await Promise.all([...site.spare.values()].map((w) => w.ready));
  document.documentElement.dataset.ready = Math.round(performance.now());
  given();
  if ('serviceWorker' in navigator && location.hostname !== '127.0.0.1') navigator.serviceWorker.register('sw.js').catch(() => {}); // without it the page needs the network
}

// given opens the files that "bcdissect web FILE" names in the address, or that were
// open before the page was loaded again. Their addresses stay with the page's entry in
// the history, where nobody sees them; the moment stays in the address.
async function given() {
  const q = new URLSearchParams(location.hash.slice(1)), named = q.getAll('file'), files = named.length ? named : history.state?.files ?? [];
  if (!files.length) return;
  const moment = named.length ? '' : location.hash;
  const all = [];
  try {
    for (const path of files) {
      const r = await fetch(path);
      if (!r.ok) throw new Error(`${path} could not be loaded: ${r.status}`);
      all.push(new File([await r.blob()], decodeURIComponent(path.slice(path.lastIndexOf('/') + 1))));
    }
    load(all); // forgets what was open, and goes on later
    history.replaceState({ files }, '', moment || location.pathname + location.search);
  } catch (e) {
    fail(e);
  }
}

start().catch(fail);
