// Everything around the replay. Text becomes text nodes; no markup is parsed.

function h(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props || {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k === 'class') e.className = v;
    else if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? '' : v);
  }
  e.append(...children.flat(9).filter((c) => c !== null && c !== undefined && c !== false).map((c) => (c instanceof Node ? c : document.createTextNode(c))));
  return e;
}

function svg(tag, props, ...children) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [k, v] of Object.entries(props || {})) if (v !== undefined) e.setAttribute(k, v);
  e.append(...children.flat(9));
  return e;
}

const who = (m, player, cut = true) => h('bdi', { class: `who k${colorOf(m, player)}${cut ? ' cut' : ''}`, title: nameOf(m, player).length > 18 ? nameOf(m, player) : null }, nameOf(m, player));
const icon = (ship) => svg('svg', { class: 'ship', viewBox: '-11 -11 22 22', 'aria-hidden': 'true' }, svg('path', { d: outlinePath(ship) }));
const section = (id, title, note, ...children) => h('section', { 'aria-labelledby': id }, h('h2', { id }, h('span', null, title), note && h('small', null, note)), children);
const none = '–';
const value = (x, form = String) => (x === undefined || x === null ? none : form(x));

// A time is a button that moves the replay.
const timeButton = (app, t, lead = 0, label = clock(t)) =>
  h('button', { type: 'button', class: 'time', 'aria-label': `Go to ${label}`, onclick: (e) => { e.stopPropagation(); app.jump(t - lead, lead > 0); } }, label);

// A row that moves the replay, for the mouse; its time button is for the keyboard.
const goRow = (app, t, lead, props, ...cells) => h('tr', { class: 'go', onclick: () => app.jump(t - lead, lead > 0), ...props }, cells);

// frameOf is the number of a frame, which leads to its messages where they are shown.
const frameOf = (app, m, { frame }) => (app.toFrame && frame
  ? h('button', { type: 'button', class: 'time', 'aria-label': `Messages of frame ${frame}`, onclick: (e) => { e.stopPropagation(); app.toFrame(m, frame); } }, String(frame))
  : String(frame || ''));

// topMark marks the player or the team at the top.
const topMark = (m) => {
  const word = m.outcome.value === 'winner' ? 'Won' : m.over === undefined ? 'Leads' : 'Led';
  return h('span', { class: 'star', title: word, 'aria-label': word.toLowerCase(), role: 'img' }, '★');
};

const killLead = 2; // seconds of the fight before a kill

function scoreBoard(app, m) {
  const scored = [...m.players, ...m.teams].some((p) => p.score), damaged = m.players.some((p) => p.damage !== undefined);
  const columns = [
    { name: 'Player', key: (p) => p.name.toLowerCase(), text: true },
    { name: 'Ships', key: (p) => p.lives.map((i) => m.lives[i].ship).join(), text: true, wide: true },
    { name: 'Kills', key: (p) => p.kills },
    { name: 'Deaths', key: (p) => p.deaths },
    scored && { name: 'Score', key: (p) => p.score ?? -Infinity },
    damaged && { name: 'Damage', key: (p) => p.damage ?? -Infinity, wide: true },
    { name: 'Shots', key: (p) => p.shots, wide: true },
    { name: 'Round trip', key: (p) => (p.line ? p.line.rtt : -Infinity), wide: true },
    { name: 'Present', key: (p) => p.joined ?? -Infinity, text: true, wide: true },
  ].filter(Boolean);
  const best = columns.findIndex((c) => c.name === 'Score');
  const chosen = columns.findIndex((c) => c.name === app.order?.name); // of the board before
  let sort = chosen >= 0 ? chosen : best > 0 ? best : columns.findIndex((c) => c.name === 'Kills'), down = chosen < 0 || app.order.down;
  const body = h('div');
  const cells = (p) => {
    const seen = new Map();
    for (const i of p.lives) seen.set(m.lives[i].ship, (seen.get(m.lives[i].ship) || 0) + 1);
    const says = p.host_says, differs = (k) => (says && says[k] !== undefined && says[k] !== p[k] ? h('span', { class: 'differs', title: `The host says ${says[k]}` }, `host ${says[k]}`) : null);
    const span = p.joined === undefined && p.left === undefined ? none : [p.joined === undefined ? 'from before' : timeButton(app, p.joined, 0, clock(p.joined, 0)), ' – ', p.left === undefined ? 'end' : timeButton(app, p.left, 0, clock(p.left, 0)), p.left_how ? h('span', { class: 'faint' }, ' ' + p.left_how) : null];
    const ships = () => h('span', { class: 'ships' }, [...seen].map(([ship, n]) => h('span', null, icon(ship), readable(ship) + (n > 1 ? ` × ${n}` : ''))));
    const star = m.leading_team === undefined && m.leaders?.includes(m.players.indexOf(p)) ? topMark(m) : null;
    const all = {
      Player: h('th', { scope: 'row' }, star, h('bdi', { class: 'cut', title: p.name.length > 18 ? p.name : null }, p.name), p.names && p.names.length > 1 ? h('span', { class: 'faint' }, ' was ', h('bdi', { class: 'cut' }, p.names.slice(0, -1).join(', '))) : null, seen.size ? h('div', { class: 'narrow' }, ships()) : null),
      Ships: h('td', { class: 'wide' }, ships()),
      Kills: h('td', { class: 'num big', 'data-kills': p.kills }, differs('kills'), h('b', null, String(p.kills))),
      Deaths: h('td', { class: 'num big', 'data-deaths': p.deaths }, differs('deaths'), h('b', null, String(p.deaths))),
      Score: h('td', { class: 'num' }, value(p.score, grouped)),
      Damage: h('td', { class: 'num wide' }, value(p.damage, grouped)),
      Shots: h('td', { class: 'num wide' }, grouped(p.shots)),
      'Round trip': h('td', { class: 'num wide' }, p.line && p.line.rtt > 0 ? `${Math.round(p.line.rtt * 1000)} ms` : none),
      Present: h('td', { class: 'wide soft' }, span),
    };
    return columns.map((c) => all[c.name]);
  };
  const draw = () => {
    const { key } = columns[sort], sign = down ? -1 : 1;
    const order = (list) => [...list].sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * sign || b.kills - a.kills || a.deaths - b.deaths; });
    const head = h('tr', null, columns.map((c, i) =>
      h('th', { scope: 'col', class: (c.text ? '' : 'num') + (c.wide ? ' wide' : ''), 'aria-sort': i === sort ? (down ? 'descending' : 'ascending') : 'none' },
        h('button', { type: 'button', onclick: () => { down = i === sort ? !down : !c.text; sort = i; app.order = { name: c.name, down }; draw(); body.querySelectorAll('th button')[i].focus(); } }, c.name))));
    const row = (p) => h('tr', { class: `k${p.color}`, 'data-player': p.name }, cells(p));
    const groups = [];
    if (m.teamed) {
      const sum = (list, k) => list.reduce((n, p) => n + (p[k] || 0), 0);
      const teams = m.teams.map((t) => ({ ...t, list: m.players.filter((p) => p.team === t.team) }));
      teams.sort((a, b) => (b.team === m.leading_team) - (a.team === m.leading_team) || (b.score ?? 0) - (a.score ?? 0) || a.team - b.team);
      for (const t of teams) {
        const totals = { Kills: sum(t.list, 'kills'), Deaths: sum(t.list, 'deaths'), Score: t.score, Damage: damaged ? sum(t.list, 'damage') : undefined, Shots: sum(t.list, 'shots') };
        groups.push(h('tbody', null, h('tr', { class: `team k${t.team % 8}` }, columns.map((c, i) =>
          i === 0 ? h('th', { scope: 'rowgroup' }, t.team === m.leading_team ? topMark(m) : null, `Team ${t.team + 1}`) : h('td', { class: 'num soft' + (c.wide ? ' wide' : '') }, c.name in totals ? value(totals[c.name], grouped) : ''))), order(t.list).map(row)));
      }
      const rest = m.players.filter((p) => p.team === undefined);
      if (rest.length) groups.push(h('tbody', null, order(rest).map(row)));
    } else groups.push(h('tbody', null, order(m.players).map(row)));
    body.replaceChildren(h('table', { class: 'board' }, h('caption', { class: 'hidden' }, 'Score board'), h('thead', null, head), groups));
  };
  draw();
  body.className = 'card scroll';
  return h('section', { 'aria-label': 'Score board' }, body);
}

function hero(m) {
  const place = m.vantage === -2 ? 'captured at the host' : m.vantage >= 0 ? ['captured at ', h('bdi', { class: 'cut' }, nameOf(m, m.vantage))] : null;
  const parts = [m.server && h('bdi', null, m.server), h('time', { datetime: new Date(m.origin + m.begin * 1000).toISOString() }, date(m.origin + m.begin * 1000)), `${clock(m.end - m.begin, 0)} long`, plural(m.players.length, 'player'), ...m.rules, place];
  const scores = m.teamed && m.teams.length > 1 && m.teams.some((t) => t.score) ? m.teams.map((t) => grouped(t.score || 0)).join(' : ') : null;
  const notes = [lead(m), m.ending, m.grounds].filter(Boolean).join(' · ');
  return h('header', { class: 'hero' },
    h('div', null, h('h1', null, h('bdi', null, m.map || 'Unknown map'), m.mission && h('small', null, h('bdi', null, m.mission))), h('p', { class: 'meta' }, parts.filter(Boolean).map((p) => h('span', null, p)))),
    h('p', { class: 'result' }, h('bdi', null, m.verdict), scores && ` ${scores}`, notes && h('span', { class: 'sub' }, notes)));
}

// A chart has the time of the match as its axis; a click goes to the moment.
function chart(app, m, height, label, ...content) {
  const head = h('i', { class: 'head' });
  const e = h('div', { class: 'chart', role: 'img', 'aria-label': label, onclick: (ev) => { const r = e.getBoundingClientRect(); app.jump(m.begin + ((ev.clientX - r.left) / r.width) * m.duration); } },
    svg('svg', { viewBox: `0 0 1000 ${height}`, preserveAspectRatio: 'none' }, content), head);
  app.heads.push(head);
  return e;
}

const along = (m, t) => (Math.min(Math.max((t - m.begin) / m.duration, 0), 1) * 1000).toFixed(1);

function lanes(app, m) {
  const rows = m.players.filter((p) => p.lives.length).map((p) => {
    const me = m.players.indexOf(p), content = [], marks = [];
    for (const i of p.lives) {
      const l = m.lives[i];
      content.push(svg('rect', { x: along(m, l.begin), width: Math.max(along(m, l.end) - along(m, l.begin) - 1.5, 2), y: 5, height: 12, rx: 4 }));
    }
    const mark = (k, sign, color, text) => {
      const b = h('button', { type: 'button', class: `mark k${color}`, title: text, 'aria-label': text, onclick: (e) => { e.stopPropagation(); app.jump(k.t - killLead, true); } }, sign);
      b.style.left = `${along(m, k.t) / 10}%`;
      marks.push(b);
    };
    for (const k of m.kills) {
      if (k.victim === me) mark(k, '✕', k.killer >= 0 ? colorOf(m, k.killer) : 'none', `${clock(k.t)} ${tell(m, k)}`);
      else if (k.killer === me) mark(k, '◆', p.color, `${clock(k.t)} ${tell(m, k)}`);
    }
    const lane = chart(app, m, 22, `Ships of ${p.name} over time`, content);
    lane.className = `chart lane k${p.color}`;
    lane.removeAttribute('role');
    lane.removeAttribute('aria-label');
    lane.append(...marks);
    return [who(m, me), lane];
  });
  const scale = h('div', { class: 'scale', 'aria-hidden': 'true' });
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 3600].find((s) => m.duration / s <= 8) || 7200 * Math.ceil(m.duration / 8 / 7200);
  for (let t = Math.ceil(m.begin / step) * step; t <= m.end; t += step) {
    const s = h('span', null, clock(t, 0));
    s.style.left = `${along(m, t) / 10}%`;
    scale.append(s);
  }
  return rows.length ? h('div', { class: 'lanes' }, rows, scale) : null;
}

function kills(app, m) {
  const assists = m.kills.some((k) => k.assists);
  const rows = m.kills.map((k) => goRow(app, k.t, killLead, { class: `go k${colorOf(m, k.killer)}`, 'data-t': k.t },
    h('th', { scope: 'row' }, timeButton(app, k.t, killLead)),
    h('td', null, k.killer >= 0 ? [who(m, k.killer), k.with ? h('span', { class: 'soft wide' }, ' ', readable(k.with)) : null] : h('span', { class: 'soft' }, 'nobody')),
    h('td', null, who(m, k.victim), k.ship ? h('span', { class: 'soft' }, ' ', readable(k.ship)) : null),
    h('td', null, k.weapon || none, k.distance !== undefined ? h('span', { class: 'soft narrow' }, `${k.distance.toFixed(0)} units`) : null), h('td', { class: 'num wide' }, value(k.distance, (d) => d.toFixed(1))),
    assists ? h('td', { class: 'wide' }, (k.assists || []).map((a, i) => [i ? ', ' : '', who(m, a.player)])) : null,
    h('td', { class: 'num soft wide frame' }, frameOf(app, m, k))));
  const ended = m.kills.findIndex((k) => k.after_end); // all later ones are, too
  const after = ended < 0 ? [] : rows.splice(ended);
  if (after.length) after.unshift(h('tr', null, h('th', { scope: 'rowgroup', colspan: assists ? 7 : 6 }, 'After the end: counts for nothing')));
  return section('kills', 'Kills', m.kills.length ? 'a click shows the two seconds before' : null,
    h('div', { class: 'card' }, lanes(app, m), m.kills.length ? h('div', { class: 'scroll' }, h('table', { class: 'killtable' }, h('caption', { class: 'hidden' }, 'Kills'),
      h('thead', null, h('tr', null, ['Time', 'Killer', 'Lost', 'With', 'Distance', assists && 'Others who helped', 'Frame'].filter(Boolean).map((x) => h('th', { scope: 'col', class: (x === 'Frame' || x === 'Distance' ? 'num ' : '') + (x === 'Frame' ? 'wide frame' : x === 'Distance' || x.startsWith('Others') ? 'wide' : '') }, x)))),
      [rows, after].filter((part) => part.length).map((part) => h('tbody', null, part)))) : h('p', { class: 'keyline empty' }, 'No ship was lost.')));
}

const endings = { killed: 'destroyed', destroyed: 'destroyed', left: 'the player left', removed: 'removed', replaced: 'replaced by another ship', restarted: 'the match restarted' };

const mostCards = 400; // beyond which a browser would be slow

function flights(app, m) {
  const cards = m.lives.slice(0, mostCards).map((l) => {
    const s = l.state, content = [], y = (v) => (80 - v * 74).toFixed(1);
    content.push(svg('rect', { class: 'span', x: along(m, l.begin), width: Math.max(along(m, l.end) - along(m, l.begin), 1), y: 0, height: 84 }));
    // steps draws a value that stays until the next one.
    const steps = (at) => {
      let d = '', last = null, least = 2;
      for (let i = 0; i < s.n; i++) {
        const v = at(i);
        if (v < 0) continue;
        least = Math.min(least, v);
        const x = along(m, s.t[i]);
        d += last === null ? `M${x} ${y(v)}` : `H${x}V${y(v)}`;
        last = v;
      }
      return last === null ? null : [`${d}H${along(m, l.end)}`, least, last];
    };
    const hull = steps((i) => s.hull[i]);
    const known = [-1, -1, -1, -1, -1, -1];
    const shield = steps((i) => {
      let sum = 0, n = 0;
      for (let f = 0; f < 6; f++) { if (s.shields[f][i] >= 0) known[f] = s.shields[f][i]; if (known[f] >= 0) { sum += known[f]; n++; } }
      return n ? sum / n : -1;
    });
    if (hull) {
      const start = hull[0].slice(1, hull[0].search(/[HV]/) < 0 ? undefined : hull[0].search(/[HV]/)).split(' ')[0];
      content.push(svg('path', { class: 'area', d: `${hull[0]}V84H${start}Z` }));
    }
    if (shield) content.push(svg('path', { class: 'shieldline', d: shield[0] }));
    if (hull) content.push(svg('path', { class: 'hull', d: hull[0] }));
    const said = [hull ? hull[1] < 1 ? `hull down to ${inPercent(hull[1])}` : 'hull whole' : 'hull not known', shield ? shield[1] < 1 ? `shields down to ${inPercent(shield[1])}` : 'shields whole' : 'shields not known'].join(', ');
    const lost = (l.systems || []).filter((q) => q.lost !== undefined).map((q) => [q.name, q.lost]).sort((a, b) => a[1] - b[1]);
    const hurt = (l.systems || []).filter((q) => q.lost === undefined && q.least < 1).map((q) => `${q.name} ${inPercent(q.least)}`);
    const how = l.end_how ? endings[l.end_how] || l.end_how : 'to the end';
    return h('article', { class: `card flight k${colorOf(m, l.player)}` },
      h('header', null, icon(l.ship), h('h3', null, readable(l.ship)), timeButton(app, l.begin, 0, `${clock(l.begin, 0)} – ${clock(l.end, 0)}`),
        h('p', { class: 'sub' }, who(m, l.player), ` · ${how}`, l.killer >= 0 ? [' by ', who(m, l.killer)] : null, l.max_speed > 0 ? ` · ${l.max_speed.toFixed(1)} units/s at most` : null)),
      (() => { const c = chart(app, m, 84, `${readable(l.ship)} of ${nameOf(m, l.player)}: ${said}`, content); if (!hull && !shield) c.append(h('span', { class: 'top' }, 'hull and shields not captured')); return c; })(),
      h('p', null, said),
      lost.length ? h('div', { class: 'lost' }, h('span', { class: 'alarm' }, 'Lost'), lost.slice(0, 40).map(([name, t]) => h('button', { type: 'button', onclick: () => app.jump(t), 'aria-label': `${name} lost at ${clock(t)}` }, name, h('span', { class: 'faint' }, ' ', clock(t, 0))))) : null,
      hurt.length ? h('p', { class: 'keyline' }, 'Damaged: ', hurt.slice(0, 12).join(', '), hurt.length > 12 ? ` and ${hurt.length - 12} more` : '') : null);
  });
  if (!cards.length) return section('ships', 'Ships', null, h('p', { class: 'soft' }, 'Nobody flew a ship.'));
  return section('ships', 'Ships', 'solid: hull; dashed: mean of the shields; all axes are the time of the match', [h('div', { class: 'flights' }, cards), m.lives.length > mostCards ? h('p', { class: 'keyline' }, `${plural(m.lives.length - mostCards, 'more ship')} are in the replay.`) : null]);
}

function lines(app, m) {
  const worst = m.lines.reduce((a, l) => l.points.rtt.reduce((b, x) => Math.max(b, x), a), 0.05);
  const rows = m.lines.map((l) => {
    const p = l.points, content = [], step = p.n > 1 ? Math.min(...Array.from({ length: p.n - 1 }, (_, i) => p.t[i + 1] - p.t[i])) : 5; // a player who was away has no points
    for (let i = 0; i < p.n; i++) {
      if (p.silence[i] > 1) content.push(svg('rect', { class: 'silence', x: along(m, p.t[i] + step - p.silence[i]), width: Math.max(along(m, p.t[i] + step) - along(m, p.t[i] + step - p.silence[i]), 2), y: 0, height: 52 }));
    }
    let d = '';
    for (let i = 0; i < p.n; i++) {
      if (p.rtt[i] < 0) continue;
      d += `${d ? 'L' : 'M'}${along(m, p.t[i] + step / 2)} ${(50 - (p.rtt[i] / worst) * 44).toFixed(1)}`;
    }
    for (let i = 0; i < p.n; i++) {
      if (p.lost[i] > 0) content.push(svg('rect', { class: 'gone', x: +along(m, p.t[i]) + 1, width: Math.max(along(m, p.t[i] + step) - along(m, p.t[i]) - 2, 2), y: 52 - Math.min(4 + p.lost[i] * 2, 30), height: Math.min(4 + p.lost[i] * 2, 30) }));
    }
    for (const k of m.kills) if (k.victim === l.player) content.push(svg('line', { class: 'deathmark', x1: along(m, k.t), x2: along(m, k.t), y1: 0, y2: 52 }));
    if (d) content.push(svg('path', { class: 'rtt', d }));
    const c = chart(app, m, 52, `Line of ${nameOf(m, l.player)}: ${l.verdict}`, content);
    c.append(h('span', { class: 'top', 'aria-hidden': 'true' }, `${Math.round(worst * 1000)} ms`));
    return h('div', { class: 'linerow' }, h('div', null, who(m, l.player), h('p', null, l.verdict)), c);
  });
  return section('lines', 'Lines', 'round trip over time; higher is worse', rows.length ? [h('div', { class: 'card' }, rows), h('p', { class: 'keyline' }, h('b', null, 'Shaded'), ' a silence of more than a second, ', h('b', null, 'bars below'), ' lost messages, ', h('b', null, 'dashed'), ' a ship lost.')] : h('p', { class: 'soft' }, 'No connection of a player was captured.'));
}

function chat(app, m) {
  const items = m.chat.map((c) => h('li', null, timeButton(app, c.t), h('span', null, who(m, c.player), c.team ? h('span', { class: 'tag' }, 'team') : null, ' ', c.text.trim() ? h('bdi', null, c.text) : h('span', { class: 'faint' }, '(empty)'))));
  return section('chat', 'Chat', null, items.length ? h('ol', { class: 'card talk', tabindex: 0, 'aria-label': 'Chat' }, items) : h('p', { class: 'soft' }, 'Nobody said anything.'));
}

function unusual(app, m) {
  if (!m.unusual.length) return null;
  const number = (x) => (x ? String(+x.toPrecision(4)) : none);
  return section('unusual', 'Unusual', 'numbers for hosts who wonder, no verdict on anybody',
    h('div', { class: 'card scroll' }, h('table', { class: 'findings' }, h('caption', { class: 'hidden' }, 'Unusual findings'), h('thead', null, h('tr', null, ['First', 'Player', 'Finding', 'Value', 'Limit', 'Times', 'Frame'].map((x, i) => h('th', { scope: 'col', class: (i > 2 ? 'num' : '') + (i > 3 ? ' wide' : '') }, x)))),
      h('tbody', null, m.unusual.map((f) => goRow(app, f.t, 0, {}, h('th', { scope: 'row' }, timeButton(app, f.t)), h('td', null, f.player >= 0 ? who(m, f.player) : none), h('td', null, h('span', { class: 'badge' }, f.kind), ' ', h('bdi', null, f.text)),
        h('td', { class: 'num' }, number(f.value)), h('td', { class: 'num wide' }, number(f.limit)), h('td', { class: 'num wide' }, String(f.count)), h('td', { class: 'num wide soft' }, frameOf(app, m, f))))))));
}

function events(app, m) {
  const box = h('div', { class: 'scroll' });
  const open = h('details', { class: 'card', ontoggle: () => {
    if (!open.open || box.firstChild) return;
    box.append(h('table', null, h('caption', { class: 'hidden' }, 'All events'), h('thead', null, h('tr', null, ['Time', 'Event', 'Frame'].map((x, i) => h('th', { scope: 'col', class: i === 2 ? 'num' : '' }, x)))),
      h('tbody', null, m.events.map((e) => goRow(app, e.t, 0, {}, h('th', { scope: 'row' }, timeButton(app, e.t)), h('td', null, h('bdi', null, e.text)), h('td', { class: 'num soft' }, frameOf(app, m, e)))))));
  } }, h('summary', null, plural(m.events.length, 'event')), box);
  return section('events', 'Everything in order', null, open);
}

// evenings lists the matches of the page; a click shows one.
function evenings(data, show) {
  const numbers = { Length: 1, Players: 1, Kills: 1 };
  return section('matches', 'Matches', 'a click shows the match', h('div', { class: 'card scroll' }, h('table', { class: 'evenings' }, h('caption', { class: 'hidden' }, 'Matches'),
    h('thead', null, h('tr', null, ['Match', 'Begin', 'Map', 'Length', 'Players', 'Kills', 'Result'].map((x) => h('th', { scope: 'col', class: (numbers[x] ? 'num' : '') + (x === 'Length' || x === 'Players' ? ' wide' : '') }, x)))),
    h('tbody', null, data.matches.map((m, i) => h('tr', { class: 'go', onclick: () => show(i) },
      h('th', { scope: 'row' }, h('button', { type: 'button', class: 'time', 'aria-label': `Show match ${i + 1}`, onclick: (e) => { e.stopPropagation(); show(i); } }, String(i + 1))),
      h('td', null, date(m.origin + m.begin * 1000)), h('td', null, h('bdi', { class: 'cut' }, m.map || 'unknown map')), h('td', { class: 'num wide' }, clock(m.end - m.begin, 0)),
      h('td', { class: 'num wide' }, String(m.players.length)), h('td', { class: 'num' }, String(m.kills.filter((k) => k.killer >= 0 && !k.after_end).length)), h('td', null, h('bdi', { class: 'cut' }, m.verdict))))))));
}

function league(data) {
  return section('league', 'League', plural(data.captures.length, 'capture'), h('div', { class: 'card scroll' }, h('table', null, h('caption', { class: 'hidden' }, 'League table'),
    h('thead', null, h('tr', null, ['Player', 'Matches', 'Wins', 'Kills', 'Deaths'].map((x, i) => h('th', { scope: 'col', class: i ? 'num' : '' }, x)))),
    h('tbody', null, data.league.map((s) => h('tr', null, h('th', { scope: 'row' }, h('bdi', { class: 'cut' }, s.name)), [s.matches, s.wins, s.kills, s.deaths].map((x) => h('td', { class: 'num' }, String(x)))))))));
}
