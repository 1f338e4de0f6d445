'use strict';
// The match page while the match is played. It goes on where the scripts of page.js end,
// and tells them of what comes.

const live = {
  matches: [], flights: [], // the last matches, from the one that the server calls first
  first: 0, shown: 256, following: true, changed: false, news: false, ready: false,
  every: 10, turn: 0, // seconds between two renewals of the debriefing, which takes longer than the rest
  behind: 1, // seconds between the last news and what is shown, so that ships move smoothly
  most: 150000, // points of flights that are kept; older ones are thinned
};

// Flights, as unpack makes them of a saved page.

const columns = (n) => Array.from({ length: n }, () => []);
const newTrack = () => ({ n: 0, t: [], at: columns(3), forward: columns(3), up: columns(3), speed: [], cloaked: [] });
const newState = () => ({ n: 0, t: [], hull: [], shields: columns(6) });
const newShots = () => ({ n: 0, t: [], length: [], life: [], target: [], kind: [], hit: [] });
const newPoints = () => ({ n: 0, t: [], rtt: [], lost: [], resent: [], updates: [], silence: [] });
const newFlights = () => ({ lives: [], lines: [], shots: newShots(), points: 0, fire: [], wear: [], damage: [], causes: [] });

function addTrack(k, rows) {
  for (const [i, row] of Object.entries(rows)) {
    if (i === 'length' || row[0] <= k.t[k.n - 1]) continue;
    const [t, x, y, z, fx, fy, fz, ux, uy, uz, speed, cloaked] = row;
    k.t.push(t);
    [x, y, z].forEach((v, a) => k.at[a].push(v));
    [fx, fy, fz].forEach((v, a) => k.forward[a].push(v));
    [ux, uy, uz].forEach((v, a) => k.up[a].push(v));
    k.speed.push(speed);
    k.cloaked.push(cloaked);
    k.n++;
  }
}

// set writes the items of a list into columns.
function set(k, items, values) {
  for (const [i, item] of Object.entries(items)) {
    if (i === 'length') continue;
    for (const [name, value] of Object.entries(values(item))) {
      if (Array.isArray(value)) value.forEach((v, a) => { k[name][a][i] = v; });
      else k[name][i] = value;
    }
  }
  k.n = items.length ?? k.n;
}

const conditionOf = (c) => ({ t: c.t, hull: c.hull ?? -1, shields: c.shields ?? [-1, -1, -1, -1, -1, -1] });
const kinds = { beam: 0, torpedo: 1, pulse: 2 };
const shotOf = (s) => ({ t: s.t, length: s.end === undefined ? -1 : s.end - s.t, life: s.life ?? -1, target: s.target_life ?? -1, kind: kinds[s.kind], hit: s.hit === undefined ? 2 : +s.hit });
const pointOf = (p) => ({ t: p.t, rtt: p.rtt ?? -1, lost: p.lost, resent: p.resent, updates: p.updates, silence: p.silence });

// placeOf returns the index of a part's match, or -1 if it is no longer shown.
function placeOf(part) {
  const i = part.match - live.first;
  if (i >= live.shown) { forgetFirst(i + 1 - live.shown); return live.shown - 1; }
  return i;
}

// forgetFirst forgets the first matches, which have left the page.
function forgetFirst(n) {
  live.first += n;
  live.matches.splice(0, n);
  live.flights.splice(0, n);
  if (app.index !== undefined) app.index -= n;
  if (app.index < 0) { app.m = null; live.following = true; } // it was the one that was shown
  live.changed = true;
}

function addFlights(part, index) {
  const of = (live.flights[index] ??= newFlights());
  for (const [i, l] of Object.entries(part.lives ?? {})) {
    const mine = (of.lives[i] ??= { track: newTrack(), state: newState() });
    if (l.track) { const n = mine.track.n; addTrack(mine.track, l.track); of.points += mine.track.n - n; }
    if (l.condition) set(mine.state, l.condition, conditionOf);
  }
  if (part.shots) set(of.shots, part.shots, shotOf);
  for (const [i, l] of Object.entries(part.lines ?? {})) set((of.lines[i] ??= newPoints()), l.points, pointOf);
  for (const name of ['fire', 'wear', 'damage', 'causes']) if (part[name]) mergeList(of[name], part[name]);
  if (of.points > live.most) thin(of);
}

const fireOf = ([player, weapon, victim, friendly, shots, hits, misses, damage, hull]) => ({ player, weapon, victim, friendly, shots, hits, misses, unknown: shots - hits - misses, damage: damage ?? undefined, hull: hull ?? undefined });

// debrief gives a match its debriefing, as unpackDebriefing does for a saved page.
function debrief(index) {
  const m = live.matches[index], of = live.flights[index];
  m.whole = true;
  m.fire = of.fire.map(fireOf);
  m.wear = of.wear.map(([player, system, victim, lost, out]) => ({ player, system, victim, lost, out }));
  m.kills.forEach((k, i) => {
    const [fire, falls] = of.causes[i] ?? [[], []];
    k.fire = fire.map(fireOf);
    k.falls = falls.map(([system, before, after, gone]) => ({ system, before, after, gone: gone ?? undefined }));
  });
  m.step = 5;
  while (m.duration / m.step > 5000) m.step *= 2;
  const bins = Math.floor((m.end - m.begin) / m.step) + 1;
  for (const p of m.players) [p.done, p.taken] = [new Float64Array(bins), new Float64Array(bins)];
  for (const [t, player, victim, amount] of of.damage) {
    const i = Math.floor((t - m.begin) / m.step);
    if (amount === null || i < 0 || i >= bins) continue;
    if (player >= 0 && player !== victim) m.players[player].done[i] += amount;
    if (victim >= 0) m.players[victim].taken[i] += amount;
  }
}

// thin leaves out every second point of the older half of each flight.
function thin(of) {
  of.points = 0;
  for (const { track: k } of of.lives.filter(Boolean)) {
    const keep = (_, i) => i % 2 === 0 || i >= k.n / 2;
    for (const name of ['t', 'speed', 'cloaked']) k[name] = k[name].filter(keep);
    for (const name of ['at', 'forward', 'up']) k[name] = k[name].map((c) => c.filter(keep));
    k.n = k.t.length;
    of.points += k.n;
  }
}

// Matches.

const newMatch = () => ({ players: [], lives: [], kills: [], chat: [], events: [], lines: [], unusual: [], teams: [], rules: [], shots: newShots() });

function addMatch(part, index) {
  live.changed ||= !live.matches[index];
  const m = (live.matches[index] ??= newMatch()), players = [...m.players];
  if (part.whole) Object.assign(emptied(m), newMatch());
  mergeMatch(m, part);
  // The seats at the replay know their players.
  m.players = m.players.map((p, i) => (players[i] && players[i] !== p ? Object.assign(emptied(players[i]), p) : p));
  unite(index);
}

// forgetFlights forgets the flights of matches that are neither played nor shown. They
// come again when such a match is chosen.
function forgetFlights() {
  live.flights.forEach((of, i) => {
    if (i === app.index || i === last() || !of?.points || !live.matches[i]) return;
    live.flights[i] = undefined;
    unite(i);
  });
}

function emptied(o) {
  for (const key of Object.keys(o)) delete o[key];
  return o;
}

// unite gives a match its flights.
function unite(index) {
  const m = live.matches[index], of = (live.flights[index] ??= newFlights());
  m.shots = of.shots;
  m.lives.forEach((l, i) => Object.assign(l, (of.lives[i] ??= { track: newTrack(), state: newState() })));
  m.lines.forEach((l, i) => { l.points = (of.lines[i] ??= newPoints()); });
  if (index === app.index) while (app.scene.poses.length < m.lives.length) app.scene.poses.push(newPose());
  relate(m);
  if (m.over === undefined && m.outcome.value === 'unknown') Object.assign(m, { ending: '', verdict: leader(m) });
}

// leader tells who leads while the match goes on.
function leader(m) {
  if (m.leading_team !== undefined) return `Team ${m.leading_team + 1} leads`;
  return m.leaders?.length === 1 && lead(m) ? `${nameOf(m, m.leaders[0])} leads` : 'Being played';
}

// What is shown.

const last = () => live.matches.length - 1;
const present = () => app.index === last();
const edge = () => Math.max(app.m.end - live.behind, app.m.begin);

// renew brings the page to what is known now.
function renew() {
  if (document.hidden || !live.matches.length) return;
  if (!app.m || (live.changed && live.following)) { restart(); return; }
  const m = app.m;
  relate(m);
  const flown = m.lives.some((l) => l.track.n);
  if (flown === app.replay.classList.contains('still') || app.seats.length !== m.players.filter((p) => p.lives.length).length) { reopen(); return; }
  app.bar.setAttribute('aria-valuemax', m.end.toFixed(1));
  live.length.textContent = `of ${clock(m.end, live.following ? 0 : 1)}`;
  paintBar();
  const heavy = live.turn++ % live.every === 0 && !document.activeElement?.closest(heavies);
  if (heavy) { debrief(app.index); renewList(); }
  else m.whole = false;
  renewPanels(m);
  app.shown = 0;
  app.dirty = true;
  app.wake();
}

// renewList brings the list of matches and the choice among them to what is known now.
function renewList() {
  const pick = document.getElementById('pick'), old = document.querySelector('[aria-labelledby=matches]');
  if (!pick || pick === document.activeElement) return;
  pick.replaceChildren(...live.matches.map((m, i) => h('option', { value: i }, titleOf(m, i))));
  pick.value = String(app.index);
  const fresh = listed(app.data);
  if (!old.isEqualNode(fresh)) swap(old, fresh);
}

// restart shows the last match, as a page that knows all of them would.
function restart() {
  live.changed = false;
  app.speed = chosen();
  const page = document.getElementById('page');
  page.replaceChildren(skipButton(), bars('Live', live.status));
  const link = live.begun ? { t: null, n: null } : fromLink();
  const past = link.t !== null || (link.n !== null && link.n !== last());
  live.passing = !past; // the first match is opened on the way to the last
  show(page, { captures: [], matches: live.matches });
  live.passing = false;
  page.querySelector('footer').textContent = `Times are minutes and seconds since the recording began; distances are game units. A value that the traffic does not show is left out.${live.first ? ` The page shows the last ${live.shown} matches; ${plural(live.first, 'earlier match is', 'earlier matches are')} in the recording only.` : ''}`;
  live.begun = true;
  if (!past) { app.choose(last()); catchUp(); }
  document.documentElement.dataset.ready ??= Math.round(performance.now());
}

// chosen returns the speed that the page shows. In the present, app.speed differs a little.
const chosen = () => +(app.replay?.querySelector('.transport select')?.value ?? 1);

// reopen builds the replay anew for ships that have come.
function reopen() {
  const { t, index, speed } = app, { following } = live, flat = app.scene.goal.flat;
  app.speed = chosen();
  open(index, t);
  app.speed = speed;
  if (flat) flatView(true);
  if (following) catchUp();
}

// heavies are the panels of the debriefing.
const heavies = '[aria-labelledby=debrief], [aria-labelledby=plots], [aria-labelledby=map]';

// renewPanels puts new panels in the place of those that differ. What is focused, open or
// scrolled stays so.
function renewPanels(m) {
  app.heads = [];
  if (m.whole) Object.assign(app, { readers: [], paints: [] });
  const body = document.getElementById('match'), fresh = panels(m, app.replay), left = `${((app.t - m.begin) / m.duration) * 100}%`;
  for (const e of app.heads) e.style.left = left;
  for (const e of body.querySelectorAll('.chart .head')) e.style.left = left;
  let at = body.firstChild;
  const label = (e) => e.getAttribute('aria-labelledby') ?? e.getAttribute('aria-label') ?? e.className;
  const stays = (e) => !m.whole && e.matches(heavies);
  for (const f of fresh) {
    while (at && stays(at)) at = at.nextSibling;
    if (f === app.replay) at = f;
    else if (at && at !== app.replay && label(at) === label(f)) {
      if (f.matches(heavies) || !at.isEqualNode(f)) { swap(at, f); at = f; }
    } else { body.insertBefore(f, at); at = f; }
    at = at.nextSibling;
  }
  while (at) { const next = at.nextSibling; if (!stays(at)) at.remove(); at = next; }
  app.heads = [...body.querySelectorAll('.chart .head')];
  if (m.whole) for (const draw of app.paints) draw();
}

const focusable = 'a, button, select, summary, [tabindex]';

function swap(old, fresh) {
  const focused = [...old.querySelectorAll(focusable)].indexOf(document.activeElement);
  const scrolled = [...old.querySelectorAll('.scroll, .talk')].map((e) => [e.scrollTop, e.scrollLeft, e.scrollTop + e.clientHeight >= e.scrollHeight - 4]);
  const opened = [...old.querySelectorAll('details')].map((d) => d.open);
  const chosen = [...old.querySelectorAll('select')].map((e) => e.value), off = [...old.querySelectorAll('.toggles button')].map((e) => e.getAttribute('aria-pressed') === 'false');
  old.replaceWith(fresh);
  fresh.querySelectorAll('select').forEach((e, i) => {
    if (chosen[i] === undefined || e.value === chosen[i]) return;
    e.value = chosen[i];
    e.dispatchEvent(new Event('change'));
  });
  fresh.querySelectorAll('.toggles button').forEach((e, i) => { if (off[i]) e.click(); });
  fresh.querySelectorAll('details').forEach((d, i) => { d.open = opened[i] ?? false; });
  fresh.querySelectorAll('.scroll, .talk').forEach((e, i) => {
    const [top, side, end] = scrolled[i] ?? [0, 0, false];
    e.scrollTop = end && e.matches('.talk') ? e.scrollHeight : top;
    e.scrollLeft = side;
  });
  if (focused >= 0) fresh.querySelectorAll(focusable)[focused]?.focus({ preventScroll: true });
}

// The present and the past.

// mark shows whether the present is shown.
function mark() {
  live.button?.setAttribute('aria-pressed', String(live.following));
}

// catchUp goes to the present and stays there.
function catchUp() {
  if (live.changed) { restart(); return; }
  if (!present()) app.choose(last());
  live.following = true;
  app.t = edge();
  play(true);
  pace();
  mark();
}

// leave stays where it is, in the past.
function leave() {
  if (!live.following) return;
  live.following = false;
  app.speed = chosen();
  mark();
}

// pace has the shown moment keep its distance from the last news.
function pace() {
  if (!live.following || !app.m || !present()) return;
  const off = edge() - app.t;
  if (Math.abs(off) > 4) app.t = edge();
  app.speed = Math.min(Math.max(1 + 1.25 * off, 0), 6);
  app.dirty = true;
  app.wake();
}

const { play, seek } = app;
app.seek = (t) => { leave(); seek(t); };
app.play = (on) => {
  // The past has reached the present, or a match has just begun.
  if (present() && app.t >= app.m.end - 0.01 && (live.following || app.m.end > app.m.begin + live.behind)) { catchUp(); return; }
  if (!on) leave();
  play(on);
};

// Whoever follows the present has come to the end of a match before the page knows of the next
// one, or has shown it.
app.end = () => { if (live.following) catchUp(); else app.play(false); };

app.opens = debrief;

// opened puts the way back to the present into a replay, and gets the flights of matches
// before this one.
app.opened = async () => {
  live.button = h('button', { type: 'button', class: 'live', 'aria-pressed': String(live.following), title: 'Back to the present (L)', onclick: catchUp }, 'Live');
  app.replay.querySelector('.deck').append(live.button);
  live.length = app.replay.querySelector('.now small');
  const { index, m } = app;
  if (live.passing) return;
  forgetFlights();
  if (present() || live.flights[index]?.points) return;
  const answer = await fetch(`api/flights?match=${live.first + index}`);
  if (!answer.ok) return;
  const parts = await answer.json();
  if (app.index !== index || app.m !== m) return; // another match is shown now
  live.flights[index] = undefined;
  for (const part of parts) addFlights(part, index);
  unite(index);
  if (live.flights[index].points) reopen();
};

function reach(reached) {
  live.status.textContent = reached ? '' : 'The connection was lost. Trying again…';
}

function beginLive() {
  paint();
  listen();
  live.status = h('span', { class: 'lost', role: 'status' });
  const wait = h('p', { class: 'soft' }, 'Waiting for the first players…');
  const page = document.getElementById('page');
  page.replaceChildren(bars('Live', live.status), wait);
  hear('api/page', {
    begin: ({ first, most }) => { Object.assign(live, { matches: [], flights: [], first, shown: most, ready: false }); app.index = undefined; app.m = null; app.scene = null; },
    match: (part) => { const i = placeOf(part); if (i >= 0) addMatch(part, i); live.news = true; },
    flight: (part) => { const i = placeOf(part); if (i >= 0) addFlights(part, i); live.news = true; },
    ready: () => { live.ready = true; live.changed = true; live.news = true; document.documentElement.dataset.live = 'yes'; },
  }, reach);
  setInterval(() => {
    if (live.ready && live.news) { live.news = false; renew(); }
  }, 1000);
  setInterval(pace, 250);
  document.addEventListener('visibilitychange', () => { live.news = true; });
  addEventListener('keydown', (e) => { if (e.key.toLowerCase() === 'l' && app.m && !e.ctrlKey && !e.metaKey && !e.altKey && !/^(SELECT|INPUT|TEXTAREA)$/.test(e.target.tagName)) catchUp(); });
}

beginLive();
