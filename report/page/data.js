// The data of the page: a JSON object, and the columns that it counts.

// unpack gives the data its columns.
function unpack(data, bytes) {
  let at = 0;
  // column reads n numbers, each the sum of the differences up to it.
  const column = (n, scale = 1) => {
    const out = new Float64Array(n);
    let last = 0;
    for (let i = 0; i < n; i++) {
      let u = 0, factor = 1, byte;
      do {
        byte = bytes[at++];
        u += (byte & 0x7f) * factor;
        factor *= 128;
      } while (byte & 0x80);
      last += u % 2 ? -(u + 1) / 2 : u / 2;
      out[i] = last * scale;
    }
    return out;
  };
  for (const m of data.matches) {
    for (const l of m.lives) {
      const n = l.points, [x, y, z, step] = l.box;
      const t = column(n, 1e-3);
      const at3 = [column(n), column(n), column(n)];
      [x, y, z].forEach((low, k) => { for (let i = 0; i < n; i++) at3[k][i] = low + at3[k][i] * step; });
      l.track = { n, t, at: at3, forward: [column(n, 0.01), column(n, 0.01), column(n, 0.01)], up: [column(n, 0.01), column(n, 0.01), column(n, 0.01)], speed: column(n, 0.1), cloaked: column(n) };
      l.state = { n: l.condition, t: column(l.condition, 1e-3), hull: column(l.condition, 1e-3), shields: Array.from({ length: 6 }, () => column(l.condition, 1e-3)) };
      for (const q of l.systems || []) q.history = { n: q.points || 0, t: column(q.points || 0, 0.1), v: column(q.points || 0, 0.01) };
    }
    const n = m.shots;
    m.shots = { n, t: column(n, 1e-3), length: column(n, 1e-3), life: column(n), target: column(n), kind: column(n), hit: column(n) };
    unpackDebriefing(m, column);
    for (const l of m.lines) {
      const k = l.points;
      l.points = { n: k, t: column(k, 1e-3), rtt: column(k, 1e-4), lost: column(k), resent: column(k), updates: column(k), silence: column(k, 1e-3) };
    }
    relate(m);
  }
  return data;
}

// relate tells players of their colours, ships and connections.
function relate(m) {
  m.duration = Math.max(m.end - m.begin, 0.1);
  m.teamed = m.teams.length > 0;
  m.players.forEach((p, i) => {
    p.color = m.teamed ? (p.team === undefined ? 7 : p.team % 8) : i % 8;
    p.lives = m.lives.map((l, k) => (l.player === i ? k : -1)).filter((k) => k >= 0);
    p.line = m.lines.find((l) => l.player === i);
  });
}

// unpackDebriefing gives a match what was fired, what subsystems lost, and what led to
// each loss. A number below 0 is not known.
function unpackDebriefing(m, column) {
  const rows = (n, ...names) => {
    const columns = names.map(() => column(n));
    return Array.from({ length: n }, (_, i) => Object.fromEntries(names.map((name, k) => [name, columns[k][i]])));
  };
  const fire = (n) => rows(n, 'player', 'weapon', 'victim', 'friendly', 'shots', 'hits', 'misses', 'damage', 'hull').map((r) => ({
    ...r, weapon: m.words[r.weapon], unknown: r.shots - r.hits - r.misses, damage: r.damage < 0 ? undefined : r.damage / 10, hull: r.hull < 0 ? undefined : r.hull / 1000,
  }));
  m.fire = fire(m.fire || 0);
  m.wear = rows(m.wear || 0, 'player', 'system', 'victim', 'lost', 'out').map((r) => ({ ...r, system: m.words[r.system], lost: r.lost / 1000 }));
  rows(m.kills.length, 'fire', 'falls').forEach((counts, i) => {
    const k = m.kills[i];
    k.fire = fire(counts.fire);
    k.falls = rows(counts.falls, 'system', 'before', 'after', 'gone').map((r) => ({ system: m.words[r.system], before: r.before / 1000, after: r.after / 1000, gone: r.gone < 0 ? undefined : r.gone / 1000 }));
  });
  m.whole = true;
  for (const p of m.players) [p.done, p.taken] = [column(m.bins || 0), column(m.bins || 0)];
}

// before returns how many of the first n times, in order, are not after t.
function before(times, n, t) {
  let low = 0, high = n;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (times[mid] <= t) low = mid + 1; else high = mid;
  }
  return low;
}

const leap = 25; // game units between two points of a track that no ship flies

// curve returns a value between two points of a track on a smooth line through
// them, which leaves each in the direction from the one before to the one after.
function curve(t, v, n, i, share) {
  const j = i + 1, dt = t[j] - t[i], rise = v[j] - v[i];
  const slope = (a, b) => (a >= 0 && b < n && t[b] - t[a] < 3 * dt + 0.5 && Math.abs(v[b] - v[a]) < leap ? ((v[b] - v[a]) / (t[b] - t[a])) * dt : rise);
  const p = slope(i - 1, j), q = slope(i, j + 1), s = share;
  return v[i] + s * (p + s * (3 * rise - 2 * p - q + s * (p + q - 2 * rise)));
}

// poseAt returns where a life's ship is at a moment, or null if nobody knows.
function poseAt(l, t, out) {
  const k = l.track;
  if (k.n === 0) return null;
  const j = before(k.t, k.n, t), i = Math.max(j - 1, 0);
  let share = 0;
  if (j > 0 && j < k.n) {
    share = (t - k.t[i]) / (k.t[j] - k.t[i]);
    const way = Math.hypot(k.at[0][j] - k.at[0][i], k.at[1][j] - k.at[1][i], k.at[2][j] - k.at[2][i]);
    if (way > leap + 12 * (k.t[j] - k.t[i])) share = 0;
  }
  const next = share > 0 ? j : i;
  for (let a = 0; a < 3; a++) {
    out.at[a] = next === i ? k.at[a][i] : curve(k.t, k.at[a], k.n, i, share);
    out.forward[a] = k.forward[a][i] + (k.forward[a][next] - k.forward[a][i]) * share;
    out.up[a] = k.up[a][i] + (k.up[a][next] - k.up[a][i]) * share;
  }
  out.speed = k.speed[i];
  out.cloaked = k.cloaked[i] === 1;
  return out;
}

const newPose = () => ({ at: [0, 0, 0], forward: [0, 1, 0], up: [0, 0, 1], speed: 0, cloaked: false });

// latest returns the last known value of a column at a moment, or -1.
function latest(times, values, n, t) {
  for (let i = before(times, n, t) - 1; i >= 0; i--) if (values[i] >= 0) return values[i];
  return -1;
}

// shieldsAt returns the mean of the facings that are known, or -1.
function shieldsAt(l, t) {
  let sum = 0, n = 0;
  for (const f of l.state.shields) {
    const v = latest(l.state.t, f, l.state.n, t);
    if (v >= 0) { sum += v; n++; }
  }
  return n ? sum / n : -1;
}

const alive = (l, t) => t >= l.begin && t <= l.end;

// Words and numbers.

const nameOf = (m, player) => (player >= 0 && player < m.players.length ? m.players[player].name : 'somebody');
const colorOf = (m, player) => (player >= 0 && player < m.players.length ? m.players[player].color : 'none');

function clock(t, digits = 1) {
  const p = 10 ** digits, whole = Math.round(Math.abs(t) * p), s = Math.floor(whole / p);
  const tail = digits ? '.' + String(whole % p).padStart(digits, '0') : '';
  const h = Math.floor(s / 3600), m = Math.floor(s / 60) % 60;
  return (t < 0 ? '−' : '') + (h ? h + ':' + String(m).padStart(2, '0') : m) + ':' + String(s % 60).padStart(2, '0') + tail;
}

const grouped = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ' ');
const plural = (n, one, many = one + 's') => n + ' ' + (n === 1 ? one : many);

const months = 'January February March April May June July August September October November December'.split(' ');

function date(ms) {
  const d = new Date(ms), two = (n) => String(n).padStart(2, '0');
  return `${d.getUTCDate()} ${months[d.getUTCMonth()]} ${d.getUTCFullYear()}, ${two(d.getUTCHours())}:${two(d.getUTCMinutes())} UTC`;
}

// tell says in words how a ship was lost.
function tell(m, k) {
  const victim = nameOf(m, k.victim), ship = k.ship ? readable(k.ship) : 'ship';
  if (k.killer < 0) return `${victim} loses the ${ship}${k.weapon ? `: ${k.weapon}` : ''}`;
  return (k.killer === k.victim ? `${victim} destroys the own ${ship}` : `${nameOf(m, k.killer)} destroys ${victim}’s ${ship}`) + (k.weapon ? ` with ${k.weapon}` : '');
}

// lead tells by how much the only leader leads.
function lead(m) {
  if (m.leading_team !== undefined || !m.leaders || m.leaders.length !== 1) return null;
  const p = m.players[m.leaders[0]];
  return p.score ? `${grouped(p.score)} points` : p.kills ? plural(p.kills, 'kill') : null;
}
