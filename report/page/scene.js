// The replay: a canvas, a camera, and what is drawn of a moment.

class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    this.g = canvas.getContext('2d');
    this.goal = { at: [0, 0, 0], yaw: 0.6, pitch: 0.62, size: 60, flat: 0 };
    this.cam = { at: [0, 0, 0], yaw: 0.6, pitch: 0.62, size: 60, flat: 0 };
    this.fit = true;
    this.follow = -1; // player
    this.poses = [];
    this.widths = new Map();
    this.places = new Map();
    this.covered = []; // parts of the canvas where labels would be hidden: x, y, width, height
    this.calm = matchMedia('(prefers-reduced-motion: reduce)');
    this.stars = [];
    let seed = 12345; // always the same sky
    const random = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
    for (let i = 0; i < 260; i++) {
      const z = random() * 2 - 1, a = random() * 2 * Math.PI, r = Math.sqrt(1 - z * z);
      this.stars.push([r * Math.cos(a), r * Math.sin(a), z, 0.25 + random() ** 3]);
    }
    this.theme();
  }

  theme() {
    const s = getComputedStyle(document.documentElement), v = (n) => s.getPropertyValue(n).trim();
    this.colors = Array.from({ length: 8 }, (_, i) => v('--c' + i));
    this.ink = { text: v('--text'), soft: v('--soft'), faint: v('--faint'), space: v('--space'), rule: v('--rule'), alarm: v('--alarm'), warn: v('--warn'), good: v('--good'), shield: v('--shield'), grid: v('--grid'), glow: v('--glow'), star: v('--star'), accent: v('--accent') };
    this.dark = s.colorScheme === 'dark';
  }

  load(m) {
    this.m = m;
    this.poses = m.lives.map(newPose);
    this.follow = -1;
    this.fit = true;
    this.settled = false;
    // The flights of all ships tell where to look while nobody flies.
    const middle = [0, 0, 0];
    let n = 0;
    for (const l of m.lives) for (let i = 0; i < l.track.n; i++, n++) for (let k = 0; k < 3; k++) middle[k] += l.track.at[k][i];
    this.middle = middle.map((x) => (n ? x / n : 0));
    this.places.clear();
  }

  resize() {
    const r = this.canvas.getBoundingClientRect(), d = Math.min(window.devicePixelRatio || 1, 2);
    this.w = r.width;
    this.h = r.height;
    this.canvas.width = Math.round(r.width * d);
    this.canvas.height = Math.round(r.height * d);
    this.g.setTransform(d, 0, 0, d, 0, 0);
  }

  color(player) {
    const c = colorOf(this.m, player);
    return c === 'none' ? this.ink.soft : this.colors[c];
  }

  // basis prepares the projection of this frame.
  basis() {
    const c = this.cam, sy = Math.sin(c.yaw), cy = Math.cos(c.yaw), sp = Math.sin(c.pitch), cp = Math.cos(c.pitch);
    this.right = [cy, -sy, 0];
    this.into = [sy * cp, cy * cp, -sp];
    this.upward = [sy * sp, cy * sp, cp];
    this.zoom = Math.min(this.w, this.h * 1.25) / 2 / c.size; // pixels of a unit at the target
    this.away = c.size * 2.6;
  }

  // project returns x and y on the canvas, the scale there, and the distance.
  project(x, y, z) {
    const c = this.cam, a = x - c.at[0], b = y - c.at[1], d = z - c.at[2];
    const r = this.right, u = this.upward, n = this.into;
    const deep = (a * n[0] + b * n[1] + d * n[2]) * (1 - c.flat);
    const depth = this.away + deep;
    if (depth < this.away * 0.06) return null;
    const s = (this.zoom * this.away) / depth;
    return [this.w / 2 + (a * r[0] + b * r[1]) * s, this.h / 2 - (a * u[0] + b * u[1] + d * u[2]) * s, s, depth];
  }

  // flying lists the lives that have a ship somewhere at a moment.
  flying(t) {
    const out = [];
    this.m.lives.forEach((l, i) => {
      if (alive(l, t) && poseAt(l, t, this.poses[i])) out.push(i);
    });
    return out;
  }

  // aim moves the camera to where it should be; true while it still moves.
  aim(t, dt) {
    this.basis();
    const g = this.goal, c = this.cam, ships = this.flying(t).map((i) => [i, this.poses[i].at]);
    const followed = ships.find(([i]) => this.m.lives[i].player === this.follow);
    if (followed) g.at = [...followed[1]];
    if (this.fit && ships.length) {
      let points = ships.map(([, p]) => p);
      for (const k of this.m.kills) if (k.at && t >= k.t && t - k.t < 2.4) points.push(k.at);
      const center = (list) => [0, 1, 2].map((k) => (Math.min(...list.map((p) => p[k])) + Math.max(...list.map((p) => p[k]))) / 2);
      const median = [0, 1, 2].map((k) => points.map((p) => p[k]).sort((a, b) => a - b)[points.length >> 1]);
      const away = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
      const far = points.map((p) => away(p, median)).sort((a, b) => a - b)[points.length >> 1];
      if (followed) points = points.sort((p, q) => away(p, followed[1]) - away(q, followed[1])).slice(0, 3); // the nearest others
      else if (points.length > 2) points = points.filter((p) => away(p, median) <= 4 * far + 80); // one who left does not shrink the rest
      if (!followed) g.at = center(points);
      // The least size at which all points are within the middle of the canvas.
      const half = Math.min(this.w, this.h * 1.25) / 2, across = half / (this.w * 0.4), upright = half / (this.h * 0.34);
      g.size = Math.max(16, ...points.map((p) => {
        const d = p.map((x, k) => x - g.at[k]), on = (v) => d[0] * v[0] + d[1] * v[1] + d[2] * v[2];
        return Math.max(Math.abs(on(this.right)) * across, Math.abs(on(this.upward)) * upright) - (on(this.into) * (1 - c.flat)) / 2.6;
      }));
      if (followed) g.size = Math.min(g.size, 70);
    } else if (this.fit && !this.settled) g.at = [...this.middle];
    if (!this.settled) {
      Object.assign(c, g, { at: [...g.at] });
      this.settled = true;
      return false;
    }
    if (this.calm.matches) return this.hold(followed !== undefined);
    const near = 1 - Math.exp(-dt * (followed ? 6 : 2.2)), quick = 1 - Math.exp(-dt * 9);
    let left = 0; // of the way, however short the step was
    for (let k = 0; k < 3; k++) { c.at[k] += (g.at[k] - c.at[k]) * near; left = Math.max(left, Math.abs(g.at[k] - c.at[k]) / c.size); }
    for (const k of ['yaw', 'pitch', 'flat']) { c[k] += (g[k] - c[k]) * quick; left = Math.max(left, Math.abs(g[k] - c[k])); }
    c.size += (g.size - c.size) * (this.fit ? near : quick);
    return Math.max(left, Math.abs(g.size - c.size) / c.size) > 2e-3;
  }

  // hold is for people who want little motion: the camera stays until the fight
  // has left its picture or the user turns it. Then it is there at once.
  hold(followed) {
    const g = this.goal, c = this.cam, off = Math.hypot(...g.at.map((x, k) => x - c.at[k])) / c.size;
    const turned = ['yaw', 'pitch', 'flat'].some((k) => g[k] !== c[k]);
    if (!this.fit || followed || turned || off > 0.4 || g.size > c.size * 1.1 || g.size < c.size * 0.45) Object.assign(c, g, { at: [...g.at] });
    return false;
  }

  draw(t) {
    const g = this.g, m = this.m;
    this.basis();
    g.fillStyle = this.ink.space;
    g.fillRect(0, 0, this.w, this.h);
    const glow = g.createRadialGradient(this.w / 2, this.h * 0.52, 0, this.w / 2, this.h * 0.52, Math.max(this.w, this.h) * 0.62);
    glow.addColorStop(0, `rgb(${this.ink.glow})`);
    glow.addColorStop(1, `rgb(${this.ink.glow} / 0)`);
    g.fillStyle = glow;
    g.fillRect(0, 0, this.w, this.h);
    this.sky();
    this.grid();
    const ships = this.flying(t);
    for (const i of ships) this.trail(i, t);
    const spots = new Map();
    for (const i of ships) {
      const p = this.poses[i].at, s = this.project(...p);
      if (s) spots.set(i, s);
    }
    for (const [i, s] of spots) this.stem(i, s);
    this.shots(t);
    const order = [...spots].sort((a, b) => b[1][3] - a[1][3]);
    for (const [i, s] of order) this.ship(i, s);
    this.deaths(t);
    this.labels(order, t);
    this.scale();
    this.near = order.map(([i, s]) => [i, s[0], s[1]]);
    return m.lives.length;
  }

  sky() {
    const g = this.g, f = Math.max(this.w, this.h) * 0.9;
    g.fillStyle = `rgb(${this.ink.star})`;
    for (const [x, y, z, b] of this.stars) {
      const n = this.into, depth = x * n[0] + y * n[1] + z * n[2];
      if (depth < 0.2) continue;
      const sx = this.w / 2 + ((x * this.right[0] + y * this.right[1]) / depth) * f, sy = this.h / 2 - ((x * this.upward[0] + y * this.upward[1] + z * this.upward[2]) / depth) * f;
      if (sx < 0 || sy < 0 || sx > this.w || sy > this.h) continue;
      g.globalAlpha = b * (this.dark ? 0.6 : 0.5);
      g.fillRect(sx, sy, b > 0.8 ? 1.8 : 1.1, b > 0.8 ? 1.8 : 1.1);
    }
    g.globalAlpha = 1;
  }

  // step is the distance of the grid's lines: 1, 2 or 5 times a power of ten.
  step() {
    const rough = this.cam.size / 3, p = 10 ** Math.floor(Math.log10(rough)), f = rough / p;
    return (f < 1.5 ? 1 : f < 3.5 ? 2 : f < 7.5 ? 5 : 10) * p;
  }

  grid() {
    const g = this.g, c = this.cam, step = this.step(), cells = 14;
    const x0 = Math.round(c.at[0] / step) * step, y0 = Math.round(c.at[1] / step) * step;
    this.floor = c.at[2] - c.size * 0.28 * (1 - c.flat);
    const reach = cells * step, pieces = 14;
    g.lineWidth = 1;
    for (let i = -cells; i <= cells; i++) {
      for (const across of [true, false]) {
        const fixed = (across ? y0 : x0) + i * step, strong = Math.round(fixed / step) % 5 === 0;
        const off = Math.abs(i) / cells;
        let last = null;
        for (let k = 0; k <= pieces; k++) {
          const along = -reach + (2 * reach * k) / pieces;
          const p = across ? this.project(x0 + along, fixed, this.floor) : this.project(fixed, y0 + along, this.floor);
          if (p && last) {
            const mid = Math.abs(along - reach / pieces) / reach, fade = 1 - Math.hypot(mid, off);
            if (fade > 0.02) {
              g.strokeStyle = `rgb(${this.ink.grid} / ${(fade * fade * (strong ? 0.42 : 0.2)).toFixed(3)})`;
              g.beginPath();
              g.moveTo(last[0], last[1]);
              g.lineTo(p[0], p[1]);
              g.stroke();
            }
          }
          last = p;
        }
      }
    }
  }

  scale() {
    const g = this.g, step = this.step(), px = step * this.zoom, x = 18, y = this.h - 18;
    g.strokeStyle = this.ink.soft;
    g.fillStyle = this.ink.soft;
    g.lineWidth = 1.5;
    g.beginPath();
    g.moveTo(x, y - 5); g.lineTo(x, y); g.lineTo(x + px, y); g.lineTo(x + px, y - 5);
    g.stroke();
    g.font = '12px system-ui, sans-serif';
    g.textAlign = 'left';
    g.textBaseline = 'alphabetic';
    g.fillText(`${+step.toPrecision(3)} units`, x, y - 10);
  }

  // stem is the line from a ship to the grid, which tells its height.
  stem(i, s) {
    if (this.cam.flat > 0.97) return;
    const g = this.g, p = this.poses[i].at, f = this.project(p[0], p[1], this.floor);
    if (!f) return;
    g.strokeStyle = g.fillStyle = this.color(this.m.lives[i].player);
    g.globalAlpha = 0.28 * (1 - this.cam.flat);
    g.lineWidth = 1;
    g.setLineDash([2, 3]);
    g.beginPath();
    g.moveTo(s[0], s[1]); g.lineTo(f[0], f[1]);
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    g.ellipse(f[0], f[1], 4, 4 * Math.max(Math.sin(this.cam.pitch), 0.15), 0, 0, 7);
    g.fill();
    g.globalAlpha = 1;
  }

  // trail draws the last ten seconds of a flight, paler the older.
  trail(i, t) {
    const l = this.m.lives[i], k = l.track, g = this.g, long = 10, bands = 12;
    g.strokeStyle = this.color(l.player);
    g.lineJoin = 'round';
    g.lineCap = 'butt';
    const from = Math.max(t - long, l.begin), first = before(k.t, k.n, from), last = before(k.t, k.n, t);
    const faint = this.poses[i].cloaked ? 0.3 : 1;
    let old = null, band = -1, was = null;
    const put = (p, time, a) => {
      const s = this.project(p[0], p[1], p[2]);
      const b = Math.min(Math.floor(((time - (t - long)) / long) * bands), bands - 1);
      const jump = was && Math.hypot(p[0] - was[0], p[1] - was[1], p[2] - was[2]) > leap;
      if (b !== band || jump || !s) {
        if (band >= 0) g.stroke();
        band = b;
        g.globalAlpha = Math.min(0.04 + 0.8 * ((b + 1) / bands) ** 2, 0.8) * faint * a;
        g.lineWidth = 0.8 + 1.9 * ((b + 1) / bands);
        g.beginPath();
        if (old && !jump) g.moveTo(old[0], old[1]); else if (s) g.moveTo(s[0], s[1]);
      }
      if (s) g.lineTo(s[0], s[1]);
      old = s;
      was = p;
    };
    for (let n = first; n < last; n++) {
      put([k.at[0][n], k.at[1][n], k.at[2][n]], k.t[n], 1);
      const gap = (n + 1 < last ? k.t[n + 1] : t) - k.t[n];
      for (let j = 1, parts = Math.min(Math.ceil(gap / 0.2), 20); j < parts; j++) {
        const at = k.t[n] + (gap * j) / parts;
        put([...poseAt(l, at, (this.spare ??= newPose())).at], at, 1);
      }
    }
    put(this.poses[i].at, t, 1);
    if (band >= 0) g.stroke();
    g.globalAlpha = 1;
  }

  ship(i, s) {
    const g = this.g, l = this.m.lives[i], p = this.poses[i], color = this.color(l.player);
    const size = Math.min(Math.max(s[2] * 2.4, this.w < 600 ? 14 : 20), 60); // in pixels: half a length
    const unit = (v) => { const n = Math.hypot(...v) || 1; return v.map((x) => x / n); };
    const f = unit(p.forward), u = unit(p.up);
    const side = unit([f[1] * u[2] - f[2] * u[1], f[2] * u[0] - f[0] * u[2], f[0] * u[1] - f[1] * u[0]]);
    const flat = (v) => [v[0] * this.right[0] + v[1] * this.right[1], v[0] * this.upward[0] + v[1] * this.upward[1] + v[2] * this.upward[2]];
    const F = flat(f), S = flat(side), U = flat(u);
    g.lineJoin = 'round';
    g.globalAlpha = p.cloaked ? 0.3 : 1;
    if (l.player === this.follow) {
      g.strokeStyle = this.ink.text;
      g.lineWidth = 1.2;
      g.setLineDash([4, 5]);
      g.beginPath();
      g.arc(s[0], s[1], size * 1.45, 0, 7);
      g.stroke();
      g.setLineDash([]);
    }
    if (p.cloaked) g.setLineDash([3, 3]);
    g.lineWidth = 1.5;
    g.strokeStyle = color;
    for (const part of shapeOf(l.ship)) {
      g.beginPath();
      part.forEach(([x, y, z = 0], n) => {
        const px = s[0] + (S[0] * x + F[0] * y + U[0] * z) * size, py = s[1] - (S[1] * x + F[1] * y + U[1] * z) * size;
        if (n) g.lineTo(px, py); else g.moveTo(px, py);
      });
      g.closePath();
      g.fillStyle = this.ink.space;
      g.fill();
      g.globalAlpha *= 0.34;
      g.fillStyle = color;
      g.fill();
      g.globalAlpha = p.cloaked ? 0.3 : 1;
      g.stroke();
    }
    g.setLineDash([]);
    g.globalAlpha = 1;
  }

  // place returns where a ship is on the canvas at a moment, if it is known.
  place(life, t) {
    if (life < 0 || life >= this.m.lives.length) return null;
    const l = this.m.lives[life], p = poseAt(l, Math.min(Math.max(t, l.begin), l.end), (this.spare ??= newPose()));
    return p && { at: [...p.at], forward: [...p.forward] };
  }

  shots(t) {
    const q = this.m.shots, g = this.g, from = before(q.t, q.n, t - 6), to = before(q.t, q.n, t);
    g.lineCap = 'round';
    for (let i = Math.max(from, to - 400); i < to; i++) {
      const age = t - q.t[i], kind = q.kind[i], beam = kind === 0, fly = kind === 1 ? 1.1 : 0.55;
      const lasts = beam ? Math.min(Math.max(q.length[i], 0.35), 6) : fly + 0.45;
      if (age > lasts) continue;
      const a = this.place(q.life[i], beam ? t : q.t[i]);
      if (!a) continue;
      const mark = this.m.lives[q.target[i]]; // what it is aimed at, if that still flies
      let b = mark && t >= mark.begin && t <= mark.end + 0.6 ? this.place(q.target[i], t) : null;
      const aimed = b !== null;
      b ??= { at: a.at.map((x, k) => x + a.forward[k] * Math.min(this.cam.size * 0.22, 18)) };
      const A = this.project(...a.at), color = this.color(this.m.lives[q.life[i]].player);
      g.strokeStyle = g.fillStyle = color;
      if (beam) {
        const B = this.project(...b.at);
        if (!A || !B) continue;
        const fade = Math.min(1, (lasts - age) / 0.25);
        for (const [width, alpha, ink] of [[6, 0.18, color], [2.4, 0.7, color], [0.9, 0.9, this.dark ? '#fff' : color]]) {
          g.lineWidth = width;
          g.strokeStyle = ink;
          g.globalAlpha = alpha * fade * (aimed ? 1 : 0.5);
          g.beginPath();
          g.moveTo(A[0], A[1]); g.lineTo(B[0], B[1]);
          g.stroke();
        }
        if (aimed && q.hit[i] === 1) this.burst(B, 5, fade * 0.8, color);
        continue;
      }
      const way = Math.min(age / fly, 1);
      const at = a.at.map((x, k) => x + (b.at[k] - x) * way), P = this.project(...at);
      if (!P) continue;
      if (way < 1) {
        const tail = this.project(...a.at.map((x, k) => x + (b.at[k] - x) * Math.max(way - (kind === 1 ? 0.07 : 0.16), 0)));
        if (tail) {
          g.globalAlpha = aimed ? 0.85 : 0.45;
          g.lineWidth = kind === 1 ? 2.2 : 3;
          g.beginPath();
          g.moveTo(tail[0], tail[1]); g.lineTo(P[0], P[1]);
          g.stroke();
        }
        if (kind === 1) this.burst(P, 4.5, aimed ? 1 : 0.5, color);
      } else if (aimed && q.hit[i] !== 0) {
        const share = (age - fly) / 0.45;
        g.globalAlpha = (1 - share) * 0.9;
        g.lineWidth = 1.6;
        g.beginPath();
        g.arc(P[0], P[1], 4 + share * 13, 0, 7);
        g.stroke();
      }
    }
    g.globalAlpha = 1;
  }

  burst(p, size, alpha, color) {
    const g = this.g;
    for (const [r, a, ink] of [[2.6, 0.16, color], [1.4, 0.4, color], [0.6, 1, this.dark ? '#fff' : color]]) {
      g.globalAlpha = a * alpha;
      g.fillStyle = ink;
      g.beginPath();
      g.arc(p[0], p[1], size * r, 0, 7);
      g.fill();
    }
  }

  deaths(t) {
    const g = this.g;
    for (const k of this.m.kills) {
      const age = t - k.t, lasts = 2.4;
      if (age < 0 || age > lasts) continue;
      const at = k.at || this.place(k.life, k.t)?.at, p = at && this.project(...at);
      if (!p) continue;
      const share = age / lasts, ease = 1 - (1 - share) ** 3;
      const color = k.killer >= 0 ? this.color(k.killer) : this.ink.alarm, big = Math.min(Math.max(p[2] * 8, 42), 90);
      if (share < 0.5 && !this.calm.matches) this.burst(p, big * 0.34 * (1 - share), 1 - share * 2, this.color(k.victim));
      g.strokeStyle = color;
      for (const [r, w] of [[1, 3], [0.62, 1.5]]) {
        g.globalAlpha = (1 - share) * 0.9;
        g.lineWidth = w * (1 - share) + 0.4;
        g.beginPath();
        g.arc(p[0], p[1], big * ease * r, 0, 7);
        g.stroke();
      }
      g.lineWidth = 1.6;
      g.beginPath();
      for (let n = 0; n < 14; n++) {
        const a = n * 2.39996 + k.frame, from = big * ease * (0.3 + 0.2 * (n % 3)), to = from + big * 0.22 * (1 - share);
        g.moveTo(p[0] + Math.cos(a) * from, p[1] + Math.sin(a) * from);
        g.lineTo(p[0] + Math.cos(a) * to, p[1] + Math.sin(a) * to);
      }
      g.stroke();
    }
    g.globalAlpha = 1;
  }

  // label returns a name that is not too long, and its width.
  label(name) {
    let l = this.widths.get(name);
    if (!l) {
      let text = [...name.slice(0, 400)];
      const cut = text.length > 18;
      if (cut) text = text.slice(0, 17);
      text = text.join('') + (cut ? '…' : '');
      l = [text, Math.min(this.g.measureText(text).width, 190)];
      this.widths.set(name, l);
    }
    return l;
  }

  labels(order, t) {
    const g = this.g, taken = order.map(([, s]) => [s[0] - 11, s[1] - 11, 22, 22]), height = 27;
    taken.push(...this.covered);
    const overlap = (a, b) => Math.max(0, Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]));
    g.font = '600 12.5px system-ui, sans-serif';
    g.textBaseline = 'alphabetic';
    g.textAlign = 'left';
    for (let n = order.length - 1; n >= 0; n--) { // the nearest first
      const [i, s] = order[n], l = this.m.lives[i];
      if (s[0] < -40 || s[1] < -40 || s[0] > this.w + 40 || s[1] > this.h + 40) continue;
      const [text, tw] = this.label(nameOf(this.m, l.player)), width = Math.max(tw, 46) + 4;
      const gap = Math.min(Math.max(s[2] * 2.4, this.w < 600 ? 14 : 20), 60) * 0.8 + 5;
      const spots = [[-width / 2, -gap - height], [gap, -height / 2], [-gap - width, -height / 2], [-width / 2, gap], [gap * 0.7, -gap - height], [gap * 0.7, gap], [-gap * 0.7 - width, gap], [-gap * 0.7 - width, -gap - height]];
      const used = this.places.get(i) ?? 0;
      let best = null, cost = Infinity;
      spots.forEach(([x, y], k) => {
        const r = [s[0] + x, s[1] + y, width, height];
        let sum = k === used ? 0 : 40 + k; // stay where it was unless that is worse
        taken.forEach((o, j) => { if (j !== n) sum += overlap(r, o); });
        sum += Math.max(0, -r[0], r[0] + width - this.w, -r[1], r[1] + height - this.h) * 30;
        if (sum < cost) { cost = sum; best = [r, k]; }
      });
      this.places.set(i, best[1]);
      taken.push(best[0]);
      const [x, y] = best[0], color = this.color(l.player), dim = this.poses[i].cloaked ? 0.45 : 1;
      const left = best[1] === 0 || best[1] === 3 ? x + (width - tw) / 2 : x + 2;
      g.globalAlpha = dim;
      g.lineWidth = 3;
      g.strokeStyle = this.ink.space;
      g.globalAlpha = dim * 0.7;
      g.strokeText(text, left, y + 12, 190);
      g.globalAlpha = dim;
      g.fillStyle = color;
      g.fillText(text, left, y + 12, 190);
      const shield = shieldsAt(l, t), hull = latest(l.state.t, l.state.hull, l.state.n, t);
      const bx = best[1] === 0 || best[1] === 3 ? x + (width - 46) / 2 : x + 2;
      if (shield >= 0) this.bar(bx, y + 17, shield, this.ink.shield);
      if (hull >= 0) this.bar(bx, y + 22, hull, hull > 0.5 ? this.ink.good : hull > 0.25 ? this.ink.warn : this.ink.alarm);
      if (this.poses[i].cloaked) {
        g.font = '11px system-ui, sans-serif';
        g.fillText('cloaked', left + tw + 5, y + 12);
        g.font = '600 12.5px system-ui, sans-serif';
      }
    }
    g.globalAlpha = 1;
  }

  bar(x, y, share, color) {
    const g = this.g, w = 46, a = g.globalAlpha;
    g.fillStyle = this.ink.rule;
    g.beginPath();
    g.roundRect(x, y, w, 3.5, 1.75);
    g.fill();
    g.fillStyle = color;
    g.beginPath();
    g.roundRect(x, y, Math.max(w * share, share > 0 ? 2 : 0), 3.5, 1.75);
    g.fill();
    g.globalAlpha = a;
  }

  // pick returns the life near a place on the canvas, or -1.
  pick(x, y) {
    let best = -1, least = 34;
    for (const [i, sx, sy] of this.near || []) {
      const d = Math.hypot(sx - x, sy - y);
      if (d < least) { least = d; best = i; }
    }
    return best;
  }
}
