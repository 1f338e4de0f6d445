// The list of messages: only the rows in sight are elements, and their texts come
// from a worker in blocks.

const blockRows = 256; // rows
const mostBlocks = 96; // that are kept
const tallest = 8e6; // pixels that all browsers can scroll

class MessageList {
  // ask returns rows of the list from one place to another as a promise of text;
  // choose is told of the row that is chosen.
  constructor(ask, choose) {
    this.ask = ask;
    this.choose = choose;
    this.blocks = new Map();
    this.version = 0;
    this.n = 0;
    this.top = 0; // place of the first row in sight, with a fraction
    this.place = -1; // chosen
    this.row = -1; // chosen: its number in the list without a filter
    this.pool = [];
    this.fill = h('div', { class: 'fill', 'aria-hidden': 'true' });
    this.rows = h('div', { class: 'rows', role: 'rowgroup' });
    this.body = h('div', { class: 'listbody', role: 'grid', tabindex: 0, 'aria-label': 'Messages: frame, time, from and to, name, contents', 'aria-colcount': 5, 'aria-rowcount': 0 }, this.rows, this.fill);
    this.head = h('div', { class: 'row headrow', 'aria-hidden': 'true' }, ['Frame', 'Time', 'From and to', 'Message', 'Contents'].map((x, i) => h('span', { class: `c${i}` }, x)));
    this.element = h('div', { class: 'list card' }, this.head, this.body);
    this.body.addEventListener('scroll', () => this.scrolled());
    this.body.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
    this.body.addEventListener('keydown', (e) => this.key(e));
    this.rows.addEventListener('click', (e) => {
      const r = e.target.closest('.row');
      if (r && r.place !== undefined) this.select(r.place);
    });
    new ResizeObserver(() => this.resize()).observe(this.body);
  }

  resize() {
    this.height = this.body.clientHeight;
    this.rowHeight = matchMedia('(max-width: 820px)').matches ? 44 : 24;
    this.seen = Math.max(Math.floor(this.height / this.rowHeight), 1);
    this.layout();
  }

  // count sets the number of rows; fresh makes them other rows.
  count(n, fresh) {
    if (fresh) {
      this.version++;
      this.blocks.clear();
    } else if (n > this.n) {
      this.blocks.delete(Math.floor(this.n / blockRows)); // it was not full
    }
    if (n === this.n && !fresh) return;
    this.n = n;
    this.body.setAttribute('aria-rowcount', n);
    this.layout();
  }

  layout() {
    if (!this.rowHeight) return;
    const full = this.n * this.rowHeight;
    this.scaled = full > tallest;
    this.fill.style.height = `${Math.min(full, tallest)}px`;
    if (this.top > this.most()) this.scrollTo(this.most());
    this.draw();
  }

  most() { return Math.max(this.n - this.height / this.rowHeight, 0); }

  // scrollTo brings a place to the top.
  scrollTo(top) {
    this.top = Math.min(Math.max(top, 0), this.most());
    const to = this.scaled ? (this.top / this.most()) * (tallest - this.height) : this.top * this.rowHeight;
    this.expected = Math.round(to);
    this.body.scrollTop = this.expected;
    this.draw();
  }

  scrolled() {
    const at = this.body.scrollTop;
    if (this.expected !== undefined && Math.abs(at - this.expected) < 1.5) { // by scrollTo, which is more exact
      this.expected = undefined;
      this.draw();
      return;
    }
    this.expected = undefined;
    this.top = this.scaled ? (at / (tallest - this.height)) * this.most() : at / this.rowHeight;
    this.draw();
  }

  // wheel scrolls by rows where a pixel of the scroll bar stands for many.
  wheel(e) {
    if (!this.scaled || e.ctrlKey) return;
    e.preventDefault();
    const unit = e.deltaMode === 1 ? 1 : e.deltaMode === 2 ? this.seen : 1 / this.rowHeight;
    this.scrollTo(this.top + e.deltaY * unit);
  }

  draw() {
    if (!this.rowHeight) return;
    const first = Math.floor(this.top), n = Math.min(this.seen + 2, Math.max(this.n - first, 0));
    while (this.pool.length < n) {
      const cells = [0, 1, 2, 3, 4].map((i) => h('span', { class: `c${i}`, role: 'gridcell' }));
      const row = h('div', { class: 'row', role: 'row', id: `row${this.pool.length}` }, cells);
      row.cells = cells;
      this.pool.push(row);
      this.rows.append(row);
    }
    this.rows.style.transform = `translateY(${(first - this.top) * this.rowHeight}px)`;
    let active = null;
    for (let i = 0; i < this.pool.length; i++) {
      const e = this.pool[i];
      if (i >= n) { e.hidden = true; e.place = undefined; continue; }
      e.hidden = false;
      const place = first + i, text = this.text(place);
      if (e.place !== place || e.text !== text) {
        e.place = place;
        e.text = text;
        e.setAttribute('aria-rowindex', place + 1);
        const [, frame = '', time = '', look = '', way = '', name = '', contents = '', marks = ''] = text ? text.split('\t') : [];
        const [c0, c1, c2, c3, c4] = e.cells;
        c0.textContent = frame;
        c1.textContent = time;
        c2.textContent = way;
        c3.textContent = name;
        c4.textContent = contents + (contents && marks ? '  ' : '') + marks;
        e.dataset.look = look;
        e.classList.toggle('odd', place % 2 === 1);
      }
      const on = place === this.place;
      e.setAttribute('aria-selected', String(on));
      if (on) active = e;
    }
    if (active) this.body.setAttribute('aria-activedescendant', active.id); else this.body.removeAttribute('aria-activedescendant');
  }

  // text returns a row's line, or nothing until it has come.
  text(place) {
    const k = Math.floor(place / blockRows), lines = this.blocks.get(k);
    if (Array.isArray(lines)) return lines[place % blockRows];
    if (!lines) this.fetch(k);
    return undefined;
  }

  async fetch(k) {
    const version = this.version;
    if (this.blocks.size >= mostBlocks) {
      const far = [...this.blocks.keys()].reduce((a, b) => (Math.abs(b - k) > Math.abs(a - k) ? b : a));
      this.blocks.delete(far);
    }
    const asked = {};
    this.blocks.set(k, asked);
    const rows = await this.ask(k * blockRows, Math.min((k + 1) * blockRows, this.n));
    if (version !== this.version || this.blocks.get(k) !== asked) return;
    this.blocks.set(k, rows === '' ? [] : rows.split('\n'));
    this.draw();
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !this.n) return;
    const at = this.place < 0 ? Math.ceil(this.top) - 1 : this.place;
    const to = { ArrowUp: at - 1, ArrowDown: at + 1, PageUp: at - this.seen, PageDown: at + this.seen, Home: 0, End: this.n - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    this.select(Math.min(Math.max(to, 0), this.n - 1));
  }

  // select chooses a place and brings it into sight.
  async select(place, middle) {
    this.place = place;
    const rows = this.height / this.rowHeight;
    if (middle && (place < this.top || place > this.top + rows - 1)) this.scrollTo(place - rows / 2);
    else if (place < this.top) this.scrollTo(place);
    else if (place + 1 > this.top + rows) this.scrollTo(place + 1 - rows);
    else this.draw();
    const line = this.text(place) ?? await this.ask(place, place + 1);
    if (this.place !== place || !line) return;
    this.row = +line.split('\t', 1)[0];
    this.choose(this.row, line);
  }

  clear() {
    this.place = -1;
    this.row = -1;
    this.draw();
  }
}
