// The debriefing: who did what to whom, why ships were lost, plots, a map, and a card.

const inPercent = (v) => `${Math.round(v * 100)} %`;

// added returns the sums of rows by a key, in the order of damage and shots.
function added(rows, key) {
  const all = new Map();
  for (const r of rows) {
    const k = key(r), s = all.get(k) || { ...r, shots: 0, hits: 0, misses: 0, unknown: 0, damage: undefined, hull: undefined };
    for (const n of ['shots', 'hits', 'misses', 'unknown']) s[n] += r[n];
    for (const n of ['damage', 'hull']) if (r[n] !== undefined) s[n] = (s[n] || 0) + r[n];
    all.set(k, s);
  }
  return [...all.values()].sort((a, b) => (b.damage || 0) - (a.damage || 0) || (b.hull || 0) - (a.hull || 0) || b.shots - a.shots);
}

// sheet is a table: each column has a name, a cell, and whether it holds a number.
function sheet(title, rows, columns) {
  const kept = columns.filter(Boolean), side = ([, , number, wide]) => (number ? 'num' : '') + (wide ? ' wide' : '');
  const long = rows.length > 12; // a keyboard scrolls it
  return h('div', { class: 'card scroll', tabindex: long && 0, role: long && 'region', 'aria-label': long && title }, h('table', { class: 'sheet' }, h('caption', null, title),
    h('thead', null, h('tr', null, kept.map((c) => h('th', { scope: 'col', class: side(c) }, c[0])))),
    h('tbody', null, rows.map((r) => h('tr', null, kept.map((c, i) => h(i ? 'td' : 'th', { scope: i ? null : 'row', class: side(c) }, c[1](r))))))));
}

const one = (m, player) => (player >= 0 ? who(m, player) : h('span', { class: 'soft' }, 'nobody'));

// numbers are the columns of what was fired.
function numbers(rows) {
  const has = (n) => rows.some((r) => r[n]);
  return [
    ['Shots', (r) => grouped(r.shots), true], ['Hits', (r) => grouped(r.hits), true],
    has('misses') && ['Misses', (r) => grouped(r.misses), true, true], has('unknown') && ['Unknown', (r) => grouped(r.unknown), true, true],
    has('damage') && ['Damage', (r) => value(r.damage, grouped), true], has('hull') && ['Hull', (r) => value(r.hull, inPercent), true],
  ];
}

const friendly = (r) => (r.friendly ? h('span', { class: 'badge' }, 'friendly') : null);

function debriefing(app, m) {
  const body = h('div', { class: 'two' });
  const pick = h('select', { id: 'debrief-player', 'aria-label': 'Player of the debriefing', onchange: () => draw() }, h('option', { value: -1 }, 'All players'), m.players.map((p, i) => h('option', { value: i }, p.name)));
  const draw = () => {
    const me = +pick.value, mine = (r) => me < 0 || r.player === me, mere = (r) => me < 0 || r.victim === me;
    const weapons = added(m.fire.filter((r) => mine(r) && r.shots), (r) => `${r.player} ${r.weapon}`);
    const done = added(m.fire.filter((r) => mine(r) && r.victim >= 0), (r) => `${r.player} ${r.victim} ${r.friendly}`);
    const taken = me < 0 ? [] : added(m.fire.filter((r) => r.victim === me), (r) => `${r.player} ${r.weapon} ${r.friendly}`);
    const wear = m.wear.filter(mere).sort((a, b) => b.lost - a.lost);
    const player = ['Player', (r) => one(m, r.player)], victim = ['At', (r) => [one(m, r.victim), ' ', friendly(r)]];
    body.replaceChildren(...[
      weapons.length && sheet('By weapon', weapons, [me < 0 && player, ['Weapon', (r) => r.weapon], ...numbers(weapons)]),
      done.length && sheet(me < 0 ? 'By victim' : 'Done', done, [me < 0 && player, victim, ...numbers(done)]),
      taken.length && sheet('Taken', taken, [['From', (r) => [one(m, r.player), ' ', friendly(r)]], ['Weapon', (r) => r.weapon || none], ...numbers(taken)]),
      wear.length && sheet('Subsystems', wear.slice(0, 200), [me < 0 && ['Ship of', (r) => one(m, r.victim)], ['Subsystem', (r) => r.system], ['Fired last', (r) => one(m, r.player)], ['Lost', (r) => inPercent(r.lost), true], ['Out', (r) => value(r.out || null, (n) => `${n} ×`), true]]),
    ].filter(Boolean));
    if (!body.firstChild) body.append(h('p', { class: 'soft' }, 'The capture shows no shot and no damage.'));
  };
  draw();
  return section('debrief', 'Debriefing', 'up to the end of the match; hits are known where clients tell of damage', h('div', { class: 'pick' }, pick), body, losses(app, m));
}

// losses tells of each loss what led to it.
function losses(app, m) {
  const told = m.kills.filter((k) => k.fire.length || k.falls.length);
  if (!told.length) return null;
  return h('div', { class: 'card why' }, h('h3', null, 'Why did I die? The last 15 seconds'), told.map((k) => {
    const box = h('div', { class: 'two' });
    const open = h('details', { ontoggle: () => {
      if (!open.open || box.firstChild) return;
      const fire = added(k.fire, (r) => `${r.player} ${r.weapon} ${r.friendly}`);
      box.append(...[
        fire.length && sheet('Fired at the ship', fire, [['By', (r) => [one(m, r.player), ' ', friendly(r)]], ['With', (r) => r.weapon || none], ...numbers(fire)]),
        k.falls.length && sheet('What went', k.falls, [['Part', (f) => f.system], ['Before', (f) => inPercent(f.before), true], ['At the loss', (f) => inPercent(f.after), true], ['Gone', (f) => (f.gone === undefined ? none : timeButton(app, f.gone, killLead)), true]]),
      ].filter(Boolean));
    } }, h('summary', null, `${clock(k.t)}  `, h('bdi', null, tell(m, k))), box);
    return open;
  }));
}

// Plots over time.

const plotPoints = 480;

// lifeAt returns the ship that a player flies at a moment, or null.
function lifeAt(m, p, t) {
  const i = p.lives.findLast((k) => m.lives[k].begin <= t), l = m.lives[i];
  return l && alive(l, t) ? l : null;
}

// curves are what a plot can show of two players at a moment; null is not known.
function curves(m) {
  const a = newPose(), b = newPose();
  const pose = (p, t, to) => { const l = lifeAt(m, p, t); return l && l.track.n && poseAt(l, t, to); };
  return {
    range: (p, q, t) => { const x = pose(p, t, a), y = pose(q, t, b); return x && y ? Math.hypot(...x.at.map((v, k) => v - y.at[k])) : null; },
    speed: (p, t) => pose(p, t, a)?.speed ?? null,
    hull: (p, t) => { const l = lifeAt(m, p, t), v = l ? latest(l.state.t, l.state.hull, l.state.n, t) : -1; return v < 0 ? null : v; },
    shields: (p, t) => { const l = lifeAt(m, p, t), v = l ? shieldsAt(l, t) : -1; return v < 0 ? null : v; },
  };
}

// plot draws lines, each a function of the moment with its colour, and tells their
// values at the moment that the replay shows.
function plot(app, m, title, unit, lines, top) {
  const values = lines.map(({ at }) => Array.from({ length: plotPoints + 1 }, (_, i) => at(m.begin + (m.duration * i) / plotPoints)));
  const most = top ?? Math.max(...values.flat().filter((v) => v !== null));
  if (!Number.isFinite(most) || values.flat().every((v) => v === null)) return null;
  const y = (v) => (80 - (v / (most || 1)) * 74).toFixed(1);
  const paths = values.map((list, k) => {
    let d = '', pen = false;
    list.forEach((v, i) => { const x = ((i / plotPoints) * 1000).toFixed(1); if (v !== null) d += !pen ? `M${x} ${y(v)}` : unit === '%' ? `H${x}V${y(v)}` : `L${x} ${y(v)}`; pen = v !== null; });
    return svg('path', { class: `curve k${lines[k].color}${k ? ' other' : ''}`, d });
  });
  const form = unit === '%' ? inPercent : (v) => `${v.toFixed(1)} ${unit}`, now = h('span', { class: 'soft' });
  const label = `${title}: ${lines.map(({ name }, k) => { const known = values[k].filter((v) => v !== null); return `${name ? name + ' ' : ''}${known.length ? `${form(Math.min(...known))} to ${form(Math.max(...known))}` : 'not known'}`; }).join('; ')}`;
  const c = chart(app, m, 84, label, paths);
  c.append(h('span', { class: 'top', 'aria-hidden': 'true' }, form(most)));
  app.readers.push((t) => { now.textContent = lines.map(({ at, name }) => { const v = at(t); return `${name ? name + ' ' : ''}${v === null ? none : form(v)}`; }).join(' · '); });
  return h('div', { class: 'plot' }, h('h3', null, title, ' ', now), c);
}

// damagePlot shows what a player did above the line, and took below it.
function damagePlot(app, m, p) {
  const { done, taken } = p, { step } = m;
  const most = [...done, ...taken].reduce((a, v) => Math.max(a, v), 0);
  if (!most) return null;
  const bars = [];
  for (const [list, sign, color] of [[done, -1, p.color], [taken, 1, 'none']]) {
    list.forEach((v, i) => {
      const x = along(m, m.begin + i * step), wide = Math.max(along(m, m.begin + (i + 1) * step) - x - 0.6, 0.8), tall = (v / most) * 38;
      if (v) bars.push(svg('rect', { class: `bin k${color}`, x, width: wide, y: sign < 0 ? 41 - tall : 43, height: tall }));
    });
  }
  const now = h('span', { class: 'soft' }), sum = (list) => grouped(list.reduce((a, v) => a + v, 0));
  app.readers.push((t) => { const i = Math.floor((t - m.begin) / step); now.textContent = `done ${grouped(done[i] || 0)} · taken ${grouped(taken[i] || 0)}`; });
  const c = chart(app, m, 84, `Damage of ${p.name}: done ${sum(done)}, taken ${sum(taken)}`, bars);
  c.append(h('span', { class: 'top', 'aria-hidden': 'true' }, grouped(most)));
  return h('div', { class: 'plot' }, h('h3', null, `Damage in ${step} s of ${p.name} `, now), c);
}

// systemsPlot shows the subsystems that lost most: the darker, the more is lost.
function systemsPlot(app, m, p) {
  const worst = new Map();
  for (const i of p.lives) for (const q of m.lives[i].systems || []) if (q.history) worst.set(q.name, Math.min(worst.get(q.name) ?? 1, q.least));
  const names = [...worst].filter(([, least]) => least < 1).sort((a, b) => a[1] - b[1]).slice(0, 12).map(([name]) => name);
  if (!names.length) return null;
  const rows = names.map((name) => {
    const rects = [];
    for (const i of p.lives) {
      const l = m.lives[i], r = l.systems?.find((q) => q.name === name)?.history;
      for (let k = 0; k < (r ? r.n : 0); k++) {
        const x = along(m, Math.min(r.t[k], l.end)), to = along(m, k + 1 < r.n ? r.t[k + 1] : l.end);
        if (r.v[k] < 1 && to > x) rects.push(svg('rect', { class: 'worn', x, width: to - x, y: 0, height: 12, opacity: 0.2 + 0.8 * (1 - r.v[k]) }));
      }
    }
    return [h('span', { class: 'soft' }, name), chart(app, m, 12, `${name} of ${p.name}: down to ${inPercent(worst.get(name))}`, rects)];
  });
  return h('div', { class: 'plot' }, h('h3', null, `Subsystems of ${p.name}`, h('span', { class: 'soft' }, ' darker: more is lost')), h('div', { class: 'systems' }, rows));
}

function plots(app, m) {
  const flown = m.players.map((p, i) => ({ p, i })).filter(({ p }) => p.lives.some((k) => m.lives[k].track.n || m.lives[k].condition));
  if (!flown.length) return null;
  const list = (id, label, at) => h('select', { id, 'aria-label': label, onchange: () => draw() }, flown.map(({ p, i }, k) => h('option', { value: i, selected: k === at }, p.name)));
  const first = list('ship-a', 'First ship of the plots', 0), second = list('ship-b', 'Second ship of the plots', Math.min(1, flown.length - 1));
  const body = h('div', { class: 'card plots' }), of = curves(m);
  let mine = [], told = [];
  const draw = () => {
    app.heads = app.heads.filter((e) => !mine.includes(e));
    app.readers = app.readers.filter((f) => !told.includes(f));
    const heads = app.heads.length, readers = app.readers.length, p = m.players[+first.value], q = m.players[+second.value];
    const both = (f) => [...new Set([p, q])].map((x) => ({ name: x.name, color: x.color, at: (t) => f(x, t) }));
    body.replaceChildren(...[
      p !== q && plot(app, m, `Range of ${p.name} and ${q.name}`, 'units', [{ color: p.color, at: (t) => of.range(p, q, t) }]),
      plot(app, m, 'Speed', 'units/s', both(of.speed)), plot(app, m, 'Hull', '%', both(of.hull), 1), plot(app, m, 'Shields', '%', both(of.shields), 1),
      damagePlot(app, m, p), p !== q && damagePlot(app, m, q), systemsPlot(app, m, p), p !== q && systemsPlot(app, m, q),
    ].filter(Boolean));
    if (!body.firstChild) body.append(h('p', { class: 'soft empty' }, 'The capture shows nothing of these ships.'));
    mine = app.heads.slice(heads);
    told = app.readers.slice(readers);
    app.shown = 0;
    app.dirty = true;
    app.wake();
  };
  draw();
  return section('plots', 'Over time', 'solid: the first ship; dashed: the second; a click moves the replay', h('div', { class: 'pick' }, first, second), body);
}

// map shows from above where ships flew, fired and were lost.
function map(app, m) {
  if (!m.lives.some((l) => l.track.n)) return null;
  const canvas = h('canvas', { 'aria-hidden': 'true' }), marks = h('div'), all = [[], []];
  for (const l of m.lives) for (let i = 0; i < l.track.n; i++) for (const k of [0, 1]) all[k].push(l.track.at[k][i]);
  for (const k of m.kills) if (k.at) for (const i of [0, 1]) all[i].push(k.at[i]);
  // The one percent that flew farthest does not shrink the rest.
  const ends = all.map((list) => { list.sort((a, b) => a - b); return [list[Math.floor(list.length * 0.005)], list[Math.ceil(list.length * 0.995) - 1]]; });
  const size = Math.max(...ends.map(([low, high]) => high - low), 1) * 1.12, middle = ends.map(([low, high]) => (low + high) / 2);
  const place = (at, k) => 0.5 + ((k ? -1 : 1) * (at[k] - middle[k])) / size;
  const shows = { Positions: true, Shots: true, Losses: true };
  const pick = h('select', { id: 'map-player', 'aria-label': 'Ships on the map', onchange: () => draw() }, h('option', { value: -1 }, 'All ships'), m.players.map((p, i) => p.lives.length > 0 && h('option', { value: i }, p.name)));
  const toggles = Object.keys(shows).map((name) => h('button', { type: 'button', 'aria-pressed': 'true', onclick: (e) => { shows[name] = !shows[name]; e.currentTarget.setAttribute('aria-pressed', String(shows[name])); draw(); } }, name));
  const draw = () => {
    const w = canvas.clientWidth, d = Math.min(devicePixelRatio || 1, 2), g = canvas.getContext('2d'), me = +pick.value;
    if (!w) return;
    canvas.width = canvas.height = w * d;
    g.setTransform(d, 0, 0, d, 0, 0);
    g.fillStyle = app.scene.ink.space;
    g.fillRect(0, 0, w, w);
    const mine = (player) => me < 0 || player === me;
    for (const l of m.lives) {
      if (!shows.Positions || !mine(l.player)) continue;
      const k = l.track;
      g.strokeStyle = app.scene.color(l.player);
      g.globalAlpha = 0.45;
      g.lineWidth = 1;
      g.beginPath();
      for (let i = 0; i < k.n; i++) {
        const x = place([k.at[0][i], k.at[1][i]], 0) * w, y = place([k.at[0][i], k.at[1][i]], 1) * w;
        const jump = i && Math.hypot(k.at[0][i] - k.at[0][i - 1], k.at[1][i] - k.at[1][i - 1]) > leap;
        if (i && !jump) g.lineTo(x, y); else g.moveTo(x, y);
      }
      g.stroke();
    }
    g.globalAlpha = 0.8;
    for (let i = 0; shows.Shots && i < m.shots.n; i++) {
      const l = m.lives[m.shots.life[i]], at = l && mine(l.player) && app.scene.place(m.shots.life[i], m.shots.t[i])?.at;
      if (!at) continue;
      g.fillStyle = app.scene.color(l.player);
      g.fillRect(place(at, 0) * w - 1.5, place(at, 1) * w - 1.5, 3, 3);
    }
    g.globalAlpha = 1;
    marks.replaceChildren(...m.kills.filter((k) => k.at && shows.Losses && (mine(k.victim) || mine(k.killer))).map((k) => {
      const text = `${clock(k.t)} ${tell(m, k)}`, b = h('button', { type: 'button', class: `mark k${k.killer >= 0 ? colorOf(m, k.killer) : 'none'}`, title: text, 'aria-label': text, onclick: () => app.jump(k.t - killLead, true) }, '✕');
      b.style.left = `${place(k.at, 0) * 100}%`;
      b.style.top = `${place(k.at, 1) * 100}%`;
      return b;
    }));
  };
  app.paints.push(draw);
  return section('map', 'Map', `from above, ${Math.round(size)} units wide; a cross is a ship lost`, h('div', { class: 'pick' }, pick, h('span', { class: 'toggles', role: 'group', 'aria-label': 'Shown on the map' }, toggles)), h('div', { class: 'card map lane' }, canvas, marks));
}

// card draws the result as a picture to share.
function card(app, m) {
  const c = h('canvas', { width: 1200, height: 630 }), g = c.getContext('2d'), { ink } = app.scene, font = (px, weight = 400) => { g.font = `${weight} ${px}px system-ui, sans-serif`; };
  const text = (s, x, y, color, wide) => { g.fillStyle = color; g.fillText(s, x, y, wide); };
  g.fillStyle = ink.space;
  g.fillRect(0, 0, 1200, 630);
  g.fillStyle = ink.accent;
  g.fillRect(0, 0, 14, 630);
  font(52, 700);
  text(m.map || 'Unknown map', 60, 86, ink.text, 700);
  font(24);
  text([date(m.origin + m.begin * 1000), clock(m.end - m.begin, 0), m.server].filter(Boolean).join(' · '), 60, 126, ink.soft, 1080);
  font(38, 650);
  text(m.verdict, 60, 190, ink.text, 1080);
  const scored = m.players.some((p) => p.score), damaged = m.players.some((p) => p.damage !== undefined);
  const columns = [['Kills', (p) => p.kills], ['Deaths', (p) => p.deaths], scored && ['Score', (p) => value(p.score, grouped)], damaged && ['Damage', (p) => value(p.damage, grouped)]].filter(Boolean);
  const list = [...m.players].sort((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity) || b.kills - a.kills || a.deaths - b.deaths).slice(0, 8);
  font(20);
  g.textAlign = 'right';
  columns.forEach(([name], i) => text(name, 1140 - (columns.length - 1 - i) * 150, 236, ink.soft));
  list.forEach((p, n) => {
    const y = 274 + n * 36;
    g.textAlign = 'left';
    font(26, 600);
    text(p.name, 60, y, app.scene.colors[p.color], 440);
    g.textAlign = 'right';
    font(26);
    columns.forEach(([, of], i) => text(String(of(p)), 1140 - (columns.length - 1 - i) * 150, y, ink.text));
  });
  g.fillStyle = ink.rule;
  g.fillRect(60, 572, 1080, 2);
  for (const k of m.kills) {
    g.fillStyle = k.killer >= 0 ? app.scene.color(k.killer) : ink.soft;
    g.fillRect(60 + ((k.t - m.begin) / m.duration) * 1080 - 2, 560, 4, 26);
  }
  g.textAlign = 'left';
  font(18);
  text(`${plural(m.players.length, 'player')}, ${plural(m.kills.length, 'loss', 'losses')} over time`, 60, 612, ink.soft);
  g.textAlign = 'right';
  text('bcdissect', 1140, 612, ink.soft);
  return c;
}

// sharing are the buttons for what players send to each other.
function sharing(app, m) {
  const said = h('span', { class: 'soft', role: 'status' });
  const save = () => card(app, m).toBlob((blob) => {
    const { createObjectURL: make, revokeObjectURL: drop } = URL;
    const a = h('a', { href: make(blob), download: `${(m.map || 'match').replace(/[^\w-]+/g, '-')}-${new Date(m.origin + m.begin * 1000).toISOString().slice(0, 10)}.png` });
    a.click();
    setTimeout(() => drop(a.href), 10000);
    said.textContent = 'The card is saved.';
  });
  const copy = async () => {
    const address = location.href.split('#')[0] + app.address();
    try { await navigator.clipboard.writeText(address); said.textContent = 'The address is copied.'; } catch { said.textContent = address; } // a browser may forbid it for files
  };
  return h('div', { class: 'pick share' }, h('button', { type: 'button', onclick: save }, 'Result card (PNG)'), h('button', { type: 'button', onclick: copy, title: 'An address with the moment and the ship that the replay follows' }, 'Copy address'), said);
}
