'use strict';
// The overlay for streaming programs: score, kills and chat of the match that is played.
// Text becomes text nodes; no markup is parsed.

const shown = new Set((new URLSearchParams(location.search).get('show') ?? 'score,kills,chat').split(','));
let shows = { index: -1, m: null }; // the last match
let ready = false; // what the server sends at the beginning, older matches included, is complete
const rows = 8, lines = 4; // that are shown at most
const killsFor = 12, chatFor = 15; // seconds
let seen = []; // for each kill and line of chat, when it came: t in the recording, and the time here

function e(tag, name, ...children) {
  const out = document.createElement(tag);
  if (name) out.className = name;
  out.append(...children);
  return out;
}

const colorOf = (m, i) => `k${(m.team_match ? m.players[i]?.team ?? 7 : i) % 8}`;

// called is what the page calls a player, but for addresses, which no stream should show.
function called(p, i) {
  if (p?.name) return p.name;
  if (p?.id) return `player ${p.id}`;
  return p?.slot === undefined ? `player #${i + 1}` : `slot ${p.slot}`;
}

const nameOf = (m, i) => e('bdi', i === undefined ? '' : colorOf(m, i), i === undefined ? 'nobody' : called(m.players[i], i));
const short = (text) => (text.length > 90 ? text.slice(0, 89) + '…' : text);

// score has the players who are there, the best first, and then those who have left with a score.
function score(m) {
  const away = ({ p }) => p.left !== undefined, refused = new Set(m.events?.filter((x) => x.kind === 'refused').map((x) => x.player));
  const points = m.players.some((p) => p.score), all = m.players.map((p, i) => ({ p, i }))
    .filter((x) => x.p.kills || x.p.deaths || x.p.score || !away(x) && (x.p.joined !== undefined || !refused.has(x.i)));
  all.sort((a, b) => away(a) - away(b) || (b.p.score ?? 0) - (a.p.score ?? 0) || b.p.kills - a.p.kills || a.p.deaths - b.p.deaths);
  const row = (name, ...cells) => e('div', points ? 'row' : 'row short', name, ...cells.map((c) => e('span', '', String(c))));
  if (!all.length) return [];
  const head = row(e('span', '', 'Player'), 'K', 'D', ...(points ? ['Score'] : []));
  head.classList.add('head');
  return [head, ...all.slice(0, rows).map((x) => {
    const one = row(nameOf(m, x.i), x.p.kills, x.p.deaths, ...(points ? [x.p.score ?? '–'] : []));
    one.classList.toggle('away', away(x));
    return one;
  })];
}

function kill(m, k) {
  const lost = [nameOf(m, k.victim), k.weapon ? ` ${k.weapon}` : k.killer === undefined ? ' lost' : ''];
  return e('div', 'line', ...(k.killer === undefined || k.killer === k.victim ? lost : [nameOf(m, k.killer), ' ▸ ', ...lost]));
}

const says = (m, c) => e('div', 'line', nameOf(m, c.player), ' ', short(c.text));

// recent returns the last items of a list that came a short time ago.
function recent(m, name, long) {
  const now = performance.now() / 1000;
  m[name].forEach((x, i) => { if (!seen[name][i]) seen[name][i] = now - Math.max(m.end_t - x.t, 0); });
  return m[name].filter((_, i) => now - seen[name][i] < long).slice(-lines);
}

function draw() {
  if (!ready) return;
  const { m } = shows;
  const parts = { score: () => score(m), kills: () => recent(m, 'kills', killsFor).map((k) => kill(m, k)), chat: () => recent(m, 'chat', chatFor).filter((c) => c.text.trim()).map((c) => says(m, c)) };
  for (const [id, make] of Object.entries(parts)) {
    const box = document.getElementById(id), fresh = m?.[id === 'score' ? 'players' : id] && shown.has(id) ? make() : [];
    if (fresh.length !== box.children.length || fresh.some((f, i) => !f.isEqualNode(box.children[i]))) box.replaceChildren(...fresh);
  }
}

hear('api/live', {
  begin: () => { shows = { index: -1, m: null }; ready = false; }, // until all has come, the picture stays as it is
  match: (part) => {
    if (part.match < shows.index) return;
    if (part.match > shows.index) seen = { kills: [], chat: [] };
    if (part.whole || part.match > shows.index) shows = { index: part.match, m: {} };
    mergeMatch(shows.m, part);
    draw();
  },
  ready: () => { ready = true; document.documentElement.dataset.ready = 'yes'; draw(); },
}, () => {});
setInterval(draw, 500);
