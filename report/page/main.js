// The page as a whole: one match at a time, and the moment that is shown.

const app = { t: 0, playing: false, speed: 1, heads: [], readers: [], paints: [], data: null, m: null };

// go moves to a moment. Play goes on, or begins, or stays as it is.
app.jump = (t, play) => {
  app.seek(t);
  if (play) app.play(true);
  const top = app.replay.getBoundingClientRect();
  if (top.top < -top.height / 3 || top.top > innerHeight * 0.6) app.replay.scrollIntoView({ block: 'start' });
};

app.seek = (t) => {
  app.t = Math.min(Math.max(Number.isFinite(t) ? t : app.m.begin, app.m.begin), app.m.end);
  app.dirty = true;
  app.linkLater();
  app.wake();
};

app.play = (on) => {
  if (on && app.t >= app.m.end - 0.01) app.t = app.m.begin;
  app.playing = on;
  app.button.querySelector('path').setAttribute('d', on ? 'M5 3h4v14H5zM11 3h4v14h-4z' : 'M6 3l11 7-11 7z');
  app.button.setAttribute('aria-label', on ? 'Pause' : 'Play');
  app.wake();
  app.linkLater();
};

// end is called when play has come to the end of the match.
app.end = () => app.play(false);

// address is that of the moment, and of the ship that the replay follows.
app.address = () => {
  const life = app.scene ? app.m.lives.findLastIndex((l) => l.player === app.scene.follow && l.player >= 0 && l.begin <= app.t) : -1;
  return `#${app.data.matches.length > 1 ? `m=${app.index + 1}&` : ''}t=${app.t.toFixed(1)}${life >= 0 ? `&ship=${life + 1}` : ''}`;
};

// linkLater puts the moment into the address, but not so often that browsers mind.
app.linkLater = () => {
  clearTimeout(app.linking);
  app.linking = setTimeout(() => {
    const at = app.address();
    if (app.playing || location.hash === at || location.hash !== app.link) return; // another link was just followed
    try { history.replaceState(history.state, '', at); app.link = at; } catch { /* a browser that forbids it for files */ }
  }, 300);
};

function fromLink() {
  app.link = location.hash;
  const q = new URLSearchParams(location.hash.slice(1)), t = parseFloat(q.get('t')), n = parseInt(q.get('m'), 10) - 1, ship = parseInt(q.get('ship'), 10) - 1;
  return { ship: ship >= 0 ? ship : null, t: Number.isFinite(t) ? t : null, n: n >= 0 && n < app.data.matches.length ? n : null };
}

app.wake = () => {
  if (!app.running && app.scene) {
    app.running = true;
    app.last = undefined;
    requestAnimationFrame(frame);
  }
};

function frame(now) {
  if (!(app.scene?.w > 0 && app.scene.h > 0)) { // the page is not laid out yet, or hidden
    app.running = false;
    return;
  }
  const dt = app.last === undefined ? 0.016 : Math.min((now - app.last) / 1000, 0.25);
  app.last = now;
  if (app.playing) {
    app.t += dt * app.speed;
    if (app.t >= app.m.end) { app.t = app.m.end; app.end(); }
    app.dirty = true;
  }
  const moving = app.scene.aim(app.t, Math.min(dt, 0.1));
  if (app.dirty || moving) {
    app.scene.draw(app.t);
    around(now);
    app.dirty = false;
  }
  app.running = app.playing || moving;
  if (app.running) requestAnimationFrame(frame);
}

// around brings what is around the canvas to the moment; the slower parts less often.
function around(now) {
  const m = app.m, share = (app.t - m.begin) / m.duration;
  app.head.style.left = `${share * 100}%`;
  const text = clock(app.t);
  if (app.clockText !== text) { app.now.textContent = text; app.clockText = text; }
  clearTimeout(app.trailing);
  if (now - app.shown < 120) {
    app.trailing = setTimeout(() => { app.shown = 0; around(performance.now()); }, 130);
    return;
  }
  app.shown = now;
  app.bar.setAttribute('aria-valuenow', app.t.toFixed(1));
  app.bar.setAttribute('aria-valuetext', clock(app.t));
  const left = `${share * 100}%`;
  for (const e of app.heads) e.style.left = left;
  for (const tell of app.readers) tell(app.t);
  roster();
  feed();
}

function roster() {
  const m = app.m;
  for (const r of app.seats) {
    const i = r.p.lives.findLast((k) => m.lives[k].begin <= app.t), l = i === undefined ? null : m.lives[i], up = l && alive(l, app.t);
    const put = (e, k, v) => { if (e[k] !== v) e[k] = v; };
    r.e.classList.toggle('gone', !up);
    r.e.setAttribute('aria-pressed', String(app.scene.follow === r.index));
    const what = up ? readable(l.ship) + (poseAt(l, app.t, (r.pose ??= newPose()))?.cloaked ? ', cloaked' : '') : l ? 'lost' : 'not here yet';
    put(r.what, 'textContent', up || !l ? what : { killed: 'destroyed', destroyed: 'destroyed', left: 'left' }[l.end_how] || 'gone');
    let kills = 0, deaths = 0;
    for (const k of m.kills) if (k.t <= app.t) { if (k.killer === r.index && k.victim !== r.index) kills++; if (k.victim === r.index) deaths++; }
    put(r.kd, 'textContent', `${kills} / ${deaths}`);
    if (l && r.ship !== l.ship) { r.icon.replaceChildren(svg('path', { d: outlinePath(l.ship) })); r.ship = l.ship; }
    const level = (bar, v) => {
      bar.classList.toggle('unknown', !(v >= 0) || !up);
      bar.firstChild.style.transform = `scaleX(${Math.max(v, 0)})`;
    };
    const hull = l ? latest(l.state.t, l.state.hull, l.state.n, app.t) : -1;
    level(r.shield, l ? shieldsAt(l, app.t) : -1);
    level(r.hull, hull);
    r.hull.classList.toggle('low', hull >= 0 && hull <= 0.25);
    r.hull.classList.toggle('half', hull > 0.25 && hull <= 0.5);
  }
}

// feed shows the kills and the chat of the last seconds over the canvas.
function feed() {
  const m = app.m, items = [];
  m.kills.forEach((k, i) => { if (app.t >= k.t && app.t - k.t < 7) items.push({ t: k.t, id: `k${i}`, k }); });
  m.chat.forEach((c, i) => { if (app.t >= c.t && app.t - c.t < 5 && c.text.trim()) items.push({ t: c.t, id: `c${i}`, c }); });
  items.sort((a, b) => a.t - b.t);
  const last = items.slice(-3), newest = items.findLast((x) => x.k)?.k, id = last.map((x) => x.id).join();
  if (id === app.fed) return;
  app.fed = id;
  if (newest && newest !== app.said) app.status.textContent = `${clock(newest.t)}: ${tell(m, newest)}`;
  app.said = newest;
  app.feed.replaceChildren(...last.map(({ k, c }) => (k
    ? h('div', { class: `k${colorOf(m, k.killer)}` }, k.killer >= 0 ? [who(m, k.killer), ' ▸ '] : null, who(m, k.victim), h('span', { class: 'soft' }, k.weapon ? ` ${k.weapon}` : ' lost'))
    : h('div', { class: `k${colorOf(m, c.player)}` }, who(m, c.player), ' ', h('bdi', null, c.text.length > 90 ? c.text.slice(0, 89) + '…' : c.text)))));
  cover();
}

// paintBar draws what the time bar shows of the whole match.
function paintBar() {
  const c = app.bar.querySelector('canvas'), r = c.getBoundingClientRect(), d = Math.min(devicePixelRatio || 1, 2), g = c.getContext('2d'), m = app.m;
  if (!r.width) return;
  c.width = r.width * d;
  c.height = r.height * d;
  g.setTransform(d, 0, 0, d, 0, 0);
  const x = (t) => ((t - m.begin) / m.duration) * r.width, ink = app.scene.ink;
  const width = 4, n = Math.ceil(r.width / width), bins = new Float64Array(n);
  for (let i = 0; i < m.shots.n; i++) bins[Math.min(Math.max(Math.floor(x(m.shots.t[i]) / width), 0), n - 1)]++;
  const most = bins.reduce((a, x) => Math.max(a, x), 1);
  g.fillStyle = `rgb(${ink.grid} / .42)`;
  bins.forEach((v, i) => { if (v) { const tall = 3 + 27 * Math.sqrt(v / most); g.fillRect(i * width, 40 - tall, width - 1, tall); } });
  for (const k of m.kills) {
    const at = x(k.t);
    g.fillStyle = k.killer >= 0 ? app.scene.color(k.killer) : ink.soft;
    g.fillRect(at - 1, 6, 2, 34);
    g.beginPath();
    g.moveTo(at, 2); g.lineTo(at + 5, 8); g.lineTo(at, 14); g.lineTo(at - 5, 8);
    g.fill();
  }
  for (const s of m.chat) {
    g.fillStyle = app.scene.color(s.player);
    g.beginPath();
    g.arc(x(s.t), 47, 2.6, 0, 7);
    g.fill();
  }
  if (m.over !== undefined) { g.fillStyle = ink.warn; g.fillRect(x(m.over) - 0.5, 0, 1, 54); }
}

function timeBar(m) {
  app.head = h('i', { class: 'head' });
  const tip = h('div', { class: 'tip', hidden: true });
  const bar = h('div', { class: 'timebar', role: 'slider', tabindex: 0, id: 'time', 'aria-label': 'Time', 'aria-valuemin': m.begin.toFixed(1), 'aria-valuemax': m.end.toFixed(1), 'aria-valuenow': m.begin.toFixed(1), 'aria-valuetext': clock(m.begin) }, h('canvas', { 'aria-hidden': 'true' }), app.head, tip);
  const at = (e) => { const r = bar.getBoundingClientRect(); return m.begin + Math.min(Math.max((e.clientX - r.left) / r.width, 0), 1) * m.duration; };
  let held = false, on = false;
  bar.addEventListener('pointerdown', (e) => {
    held = true; on = app.playing; app.playing = false;
    bar.setPointerCapture(e.pointerId);
    let t = at(e);
    const near = [...m.kills, ...m.chat].reduce((a, b) => (Math.abs(b.t - t) < Math.abs(a - t) ? b.t : a), Infinity); // a mark that is almost hit
    if (Math.abs(near - t) / m.duration * bar.clientWidth < 5) t = near;
    app.seek(t);
  });
  bar.addEventListener('pointermove', (e) => {
    const t = at(e);
    if (held) app.seek(t);
    const close = (list) => list.find((k) => Math.abs(k.t - t) / m.duration * bar.clientWidth < 5);
    const k = close(m.kills), c = close(m.chat);
    tip.hidden = false;
    tip.textContent = clock(t) + (k ? ` · ${tell(m, k)}` : c ? ` · ${nameOf(m, c.player)}: ${c.text}` : '');
    tip.style.left = `${((t - m.begin) / m.duration) * 100}%`;
  });
  const release = () => { if (held) { held = false; app.play(on); } };
  bar.addEventListener('pointerup', release);
  bar.addEventListener('pointercancel', release);
  bar.addEventListener('pointerleave', () => { tip.hidden = true; });
  bar.addEventListener('keydown', (e) => {
    const step = e.shiftKey ? 10 : 1;
    const to = { ArrowLeft: app.t - step, ArrowDown: app.t - step, ArrowRight: app.t + step, ArrowUp: app.t + step, Home: m.begin, End: m.end, PageUp: app.t + 10, PageDown: app.t - 10 }[e.key];
    if (to !== undefined) { app.seek(to); e.preventDefault(); e.stopPropagation(); }
  });
  return bar;
}

// followShip follows the player of a ship that an address names.
function followShip(ship) {
  const player = app.m.lives[ship]?.player ?? -1;
  if (player >= 0 && app.scene.follow !== player) follow(player);
}

function follow(player) {
  app.scene.follow = app.scene.follow === player ? -1 : player;
  app.linkLater();
  app.scene.fit = true;
  app.dirty = true;
  app.shown = 0;
  app.wake();
}

function flatView(on) {
  const g = app.scene.goal;
  g.flat = on ? 1 : 0;
  g.pitch = on ? Math.PI / 2 : 0.62;
  g.yaw = on ? Math.round(g.yaw / (2 * Math.PI)) * 2 * Math.PI : g.yaw || 0.6;
  app.deep.setAttribute('aria-pressed', String(!on));
  app.flat.setAttribute('aria-pressed', String(on));
  app.dirty = true;
  app.wake();
}

function zoom(factor) {
  app.scene.fit = false;
  const g = app.scene.goal;
  g.size = Math.min(Math.max(g.size * factor, 4), 20000);
  app.dirty = true;
  app.wake();
}

function fit() {
  app.scene.fit = true;
  if (app.scene.calm.matches) app.scene.settled = false;
  app.dirty = true;
  app.wake();
}

function fullScreen() {
  if (document.fullscreenElement) document.exitFullscreen(); else app.replay.requestFullscreen().catch(() => {}); // a browser may forbid it
}

function turn(dx, dy) {
  const g = app.scene.goal;
  g.yaw += dx;
  if (g.flat < 0.5) g.pitch = Math.min(Math.max(g.pitch + dy, -1.5), 1.5);
  app.dirty = true;
  app.wake();
}

function nextKill(way) {
  const list = app.m.kills.map((k) => Math.max(k.t - killLead, app.m.begin));
  const t = way > 0 ? list.find((x) => x > app.t + 0.05) : list.findLast((x) => x < app.t - 0.6);
  if (t !== undefined) app.seek(t);
}

function listenToView(canvas) {
  const held = new Map();
  let spread = 0;
  canvas.addEventListener('pointerdown', (e) => { held.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointermove', (e) => {
    const old = held.get(e.pointerId);
    if (!old) return;
    held.set(e.pointerId, [e.clientX, e.clientY]);
    if (held.size === 2) {
      const [a, b] = [...held.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (spread) zoom(spread / now);
      spread = now;
    } else if (e.shiftKey || e.buttons === 4) {
      const s = app.scene, dx = (e.clientX - old[0]) / s.zoom, dy = (e.clientY - old[1]) / s.zoom;
      s.fit = false;
      if (s.follow >= 0) follow(s.follow);
      s.fit = false;
      for (let k = 0; k < 3; k++) { s.goal.at[k] += -s.right[k] * dx + s.upward[k] * dy; s.cam.at[k] = s.goal.at[k]; }
      app.dirty = true;
      app.wake();
    } else turn((e.clientX - old[0]) * 0.008, (e.clientY - old[1]) * 0.008);
  });
  for (const type of ['pointerup', 'pointercancel']) canvas.addEventListener(type, (e) => { held.delete(e.pointerId); spread = 0; });
  canvas.addEventListener('dblclick', (e) => {
    const r = canvas.getBoundingClientRect(), i = app.scene.pick(e.clientX - r.left, e.clientY - r.top);
    if (i >= 0) follow(app.m.lives[i].player); else if (app.scene.follow >= 0) follow(app.scene.follow); else fit();
  });
  canvas.addEventListener('wheel', (e) => { // without the focus, the wheel scrolls the page
    if (document.activeElement !== canvas && !e.ctrlKey) return;
    e.preventDefault();
    zoom(Math.exp(e.deltaY * 0.0012));
  }, { passive: false });
  canvas.addEventListener('keydown', (e) => {
    const step = 0.12, keys = { ArrowLeft: () => turn(-step, 0), ArrowRight: () => turn(step, 0), ArrowUp: () => turn(0, step), ArrowDown: () => turn(0, -step) };
    if (keys[e.key]) { keys[e.key](); e.preventDefault(); e.stopPropagation(); }
  });
}

// seats are the buttons of the ships' players.
function seats(m) {
  app.seats = m.players.map((p, index) => ({ p, index })).filter(({ p }) => p.lives.length).map(({ p, index }) => {
    const r = { p, index, icon: icon(''), what: h('span', { class: 'what' }), kd: h('span', { class: 'kd', title: 'kills / deaths until now' }), shield: h('span', { class: 'bar shield' }, h('i')), hull: h('span', { class: 'bar' }, h('i')) };
    r.e = h('button', { type: 'button', class: `k${p.color}`, 'aria-pressed': 'false', title: 'Follow', onclick: () => follow(index) }, r.icon, h('span', { class: 'name' }, p.name), r.kd, r.what, r.shield, r.hull);
    return r;
  });
  return app.seats.map((r) => r.e);
}

function replay(m) {
  const canvas = h('canvas', { class: 'space', tabindex: 0, role: 'application', 'aria-roledescription': 'replay', 'aria-label': 'The ships as they flew. Arrow keys turn the view, plus and minus zoom.' });
  app.deep = h('button', { type: 'button', 'aria-pressed': 'true', onclick: () => flatView(false) }, '3-D');
  app.flat = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => flatView(true) }, 'Top');
  app.feed = h('div', { class: 'feed', 'aria-hidden': 'true' });
  app.fed = '';
  app.said = undefined;
  app.status = h('div', { class: 'hidden', role: 'status' });
  app.now = h('span');
  app.clockText = '';
  app.button = h('button', { type: 'button', class: 'play', 'aria-label': 'Play', onclick: () => app.play(!app.playing) }, svg('svg', { viewBox: '0 0 20 20', 'aria-hidden': 'true' }, svg('path', { d: '' })));
  const toKill = (way, label, sign) => h('button', { type: 'button', class: 'step', 'aria-label': label, title: label, onclick: () => nextKill(way) }, sign);
  const speed = h('select', { 'aria-label': 'Speed', onchange: () => { app.speed = +speed.value; } }, [0.25, 0.5, 1, 2, 4, 8, 16].map((s) => h('option', { value: s, selected: s === app.speed }, `${s} ×`)));
  app.bar = timeBar(m);
  const flown = m.lives.some((l) => l.track.n), key = (sign, ...text) => h('span', null, h('b', { 'aria-hidden': 'true' }, sign), ' ', text);
  app.replay = h('section', { class: `card replay${flown ? '' : ' still'}`, 'aria-label': 'Replay', id: 'replay' },
    h('div', { class: 'view' }, canvas, app.feed, app.camera = h('div', { class: 'camera', role: 'group', 'aria-label': 'Camera' }, app.deep, app.flat, h('button', { type: 'button', onclick: fit }, 'Fit'), h('button', { type: 'button', 'aria-label': 'Zoom in', onclick: () => zoom(0.8) }, '+'), h('button', { type: 'button', 'aria-label': 'Zoom out', onclick: () => zoom(1.25) }, '−'),
      document.fullscreenEnabled ? h('button', { type: 'button', class: 'full', 'aria-label': 'Full screen', title: 'Full screen', onclick: fullScreen }, svg('svg', { viewBox: '0 0 20 20', 'aria-hidden': 'true' }, svg('path', { d: 'M3 8V3h5M12 3h5v5M17 12v5h-5M8 17H3v-5' }))) : null), app.status,
      flown ? null : h('p', { class: 'hint' }, 'The capture shows no ship in flight.')),
    h('div', { class: 'roster', role: 'group', 'aria-label': 'Ships; choose one to follow' }, seats(m)),
    h('div', { class: 'transport' }, h('div', { class: 'deck' }, m.kills.length ? toKill(-1, 'Previous kill', '‹◆') : null, app.button, m.kills.length ? toKill(1, 'Next kill', '◆›') : null),
      h('div', { class: 'now' }, app.now, h('small', null, `of ${clock(m.end)}`)), app.bar, speed,
      h('div', { class: 'legend' }, key('▮', 'shots'), m.kills.length ? key('◆', 'kill, in the killer’s colour') : null, m.chat.length ? key('●', 'chat') : null, m.over !== undefined ? h('span', null, h('b', { class: 'over', 'aria-hidden': 'true' }, '|'), ' the match ends') : null,
        h('span', { class: 'keys' }, h('kbd', null, 'Space'), ' play ', h('kbd', null, '←'), h('kbd', null, '→'), ' a second ', h('kbd', null, '['), h('kbd', null, ']'), ' kills ', h('kbd', null, 'T'), ' top ', h('kbd', null, 'F'), ' follow ', h('kbd', null, '0'), ' fit; drag to turn, double click to follow'))));
  app.scene = new Scene(canvas);
  app.scene.load(m);
  app.play(false);
  listenToView(canvas);
  return app.replay;
}

function keys(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(SELECT|INPUT|TEXTAREA)$/.test(e.target.tagName)) return;
  if (e.key === ' ' && /^(BUTTON|SUMMARY)$/.test(e.target.tagName)) return;
  const does = {
    ' ': () => app.play(!app.playing), ArrowLeft: () => app.seek(app.t - (e.shiftKey ? 10 : 1)), ArrowRight: () => app.seek(app.t + (e.shiftKey ? 10 : 1)),
    '[': () => nextKill(-1), ']': () => nextKill(1), t: () => flatView(app.scene.goal.flat < 0.5), 0: fit, '+': () => zoom(0.8), '-': () => zoom(1.25),
    f: () => { const list = app.seats.map((r) => r.index), i = list.indexOf(app.scene.follow); follow(i + 1 < list.length ? list[i + 1] : app.scene.follow); },
  }[e.key.length === 1 ? e.key.toLowerCase() : e.key];
  if (does) { does(); e.preventDefault(); }
}

// cover tells the scene where the feed and the buttons are.
function cover() {
  app.scene.covered = [app.feed, app.camera].map((e) => [e.offsetLeft, e.offsetTop, e.offsetWidth, e.offsetHeight]);
}

function resize() {
  app.scene.resize();
  cover();
  paintBar();
  for (const draw of app.paints) draw();
  app.dirty = true;
  app.wake();
}

// panels are the replay of a match and all that is around it. The live page leaves the
// debriefing out of most of its renewals.
const panels = (m, replay) => [hero(m), scoreBoard(app, m), replay, sharing(app, m), kills(app, m), ...(m.whole ? [debriefing(app, m), plots(app, m), map(app, m)] : []), flights(app, m), h('div', { class: 'two' }, chat(app, m), lines(app, m)), unusual(app, m), events(app, m),
  m.evicted && h('p', { class: 'keyline' }, `${plural(m.evicted, 'item')} beyond the limits of the report were left out.`)].filter(Boolean);

// open shows a match.
function open(index, t) {
  app.opens?.(index);
  const data = app.data, m = data.matches[index];
  Object.assign(app, { index, m, heads: [], readers: [], paints: [], playing: false, shown: 0 });
  const body = document.getElementById('match');
  body.replaceChildren(...panels(m, replay(m)));
  app.t = m.begin;
  const first = m.lives.reduce((a, l) => Math.min(a, l.track.n ? l.track.t[0] : a), Infinity);
  app.seek(t ?? (Number.isFinite(first) ? first : m.begin));
  app.resizing?.disconnect();
  app.resizing = new ResizeObserver(resize);
  app.resizing.observe(app.scene.canvas);
  resize();
  app.opened?.();
}

// A printed page is light, and lists all events.
function print(on) {
  if (on) {
    app.printed = document.documentElement.dataset.theme;
    for (const d of document.querySelectorAll('details')) d.open = true;
  }
  paint(on ? 'light' : app.printed);
  if (on) app.scene?.draw(app.t);
}

function paint(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else document.documentElement.dataset.theme = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
  if (app.scene) { app.scene.theme(); resize(); }
}

const titleOf = (m, i) => `Match ${i + 1}: ${m.map || 'unknown map'}, ${date(m.origin + m.begin * 1000)}, ${clock(m.end - m.begin, 0)}`;

// listed is the list of all matches.
const listed = (data) => evenings(data, (i) => { app.choose(i); scrollTo(0, 0); });

// show fills an element with all matches of the data.
function show(page, data) {
  app.data = data;
  app.scene = null;
  if (!data.matches.length) { page.append(h('h1', null, 'No match'), h('p', { class: 'soft' }, data.captures.length > 1 ? 'The captures hold no match.' : 'The capture holds no match.')); return; }
  const pick = h('select', { id: 'pick', 'aria-label': 'Match', onchange: () => { open(+pick.value); } }, data.matches.map((m, i) => h('option', { value: i }, titleOf(m, i))));
  if (data.matches.length > 1) page.append(h('div', { class: 'pick' }, pick, h('button', { type: 'button', onclick: () => document.getElementById('matches').scrollIntoView() }, data.league ? 'All matches and the league' : 'All matches')));
  page.append(h('div', { id: 'match' }));
  app.choose = (i, t) => { pick.value = String(i); open(i, t); };
  if (data.matches.length > 1) page.append(listed(data));
  if (data.league) page.append(league(data));
  page.append(h('footer', null, 'Times are minutes and seconds since the first frame of the capture; distances are game units. A value that the capture does not show is left out. Frames are those of Wireshark.'));
  const link = fromLink();
  app.choose(link.n ?? 0, link.t ?? undefined);
  followShip(link.ship);
}

const lightButton = () => h('button', { type: 'button', 'aria-label': 'Light or dark', title: 'Light or dark', onclick: () => paint(document.documentElement.dataset.theme === 'light' ? 'dark' : 'light') }, '◐');

// bars are the head of a page.
const bars = (title, ...content) => h('div', { class: 'bars' }, h('i'), h('b', null, title), content, h('i', { class: 'mid' }), lightButton(), h('i', { class: 'end' }));

// skipButton is the first of a page.
const skipButton = () => h('button', { type: 'button', class: 'skip', onclick: () => { app.replay?.scrollIntoView(); document.getElementById('time')?.focus(); } }, 'Skip to the replay');

// listen takes the keys, the links and the wishes of the browser, once.
function listen() {
  matchMedia('(prefers-color-scheme: light)').addEventListener('change', () => paint());
  addEventListener('keydown', (e) => { if (app.scene?.canvas.offsetParent) keys(e); });
  addEventListener('beforeprint', () => print(true));
  addEventListener('afterprint', () => print(false));
  addEventListener('hashchange', () => {
    if (!app.data?.matches.length) return;
    const { t, n, ship } = fromLink();
    if (n !== null && n !== app.index) app.choose(n, t ?? undefined); else if (t !== null) app.seek(t);
    followShip(ship);
  });
}
