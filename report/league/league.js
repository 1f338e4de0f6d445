// What the pages of a league do in a browser: colours, the order of tables, and a
// search. They are complete without it.
'use strict';
(() => {
  const root = document.documentElement, light = matchMedia('(prefers-color-scheme: light)');
  const paint = (theme) => { root.dataset.theme = theme || (light.matches ? 'light' : 'dark'); };
  paint();
  light.addEventListener('change', () => paint());
  addEventListener('beforeprint', () => paint('light'));
  addEventListener('afterprint', () => paint());

  const button = (text, label, act) => {
    const b = document.createElement('button');
    b.type = 'button';
    b.textContent = text;
    if (label) { b.setAttribute('aria-label', label); b.title = label; }
    b.addEventListener('click', act);
    return b;
  };
  document.querySelector('.bars .end').before(button('◐', 'Light or dark', () => paint(root.dataset.theme === 'light' ? 'dark' : 'light')));

  // valueOf is what a cell is sorted by: its number, or else its text.
  const valueOf = (cell) => {
    const text = cell.dataset.v ?? cell.textContent.trim().replace('−', '-'), number = parseFloat(text);
    return Number.isNaN(number) ? text.toLowerCase() : number;
  };
  const compare = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === 'number' ? 1 : -1);
  for (const table of document.querySelectorAll('table.sortable')) {
    const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    heads.forEach((head, i) => {
      head.setAttribute('aria-sort', 'none');
      head.replaceChildren(button(head.textContent, '', () => {
        const down = head.getAttribute('aria-sort') === 'none' ? head.classList.contains('num') : head.getAttribute('aria-sort') === 'ascending';
        for (const h of heads) h.setAttribute('aria-sort', 'none');
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const rows = [...body.rows].map((row) => [valueOf(row.cells[i]), row]);
        rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
        body.append(...rows.map((r) => r[1]));
      }));
    });
  }

  // A region that scrolls has to be reached by keyboard.
  for (const e of document.querySelectorAll('.scroll')) {
    e.tabIndex = 0;
    e.setAttribute('role', 'region');
    e.setAttribute('aria-label', e.querySelector('caption')?.textContent || 'Table');
  }

  const list = document.querySelector('table.list'), few = 12;
  if (list && list.tBodies[0].rows.length > few) {
    const search = document.createElement('input');
    search.type = 'search';
    search.placeholder = 'Search';
    search.setAttribute('aria-label', 'Search these matches');
    const rows = [...list.tBodies[0].rows].map((row) => [row.textContent.toLowerCase(), row]);
    search.addEventListener('input', () => {
      const word = search.value.toLowerCase();
      for (const [text, row] of rows) row.hidden = !text.includes(word);
    });
    list.closest('.card').before(search);
  }
  root.dataset.ready = Math.round(performance.now());
})();
