// The page that a program wrote: its data is in it.

async function begin() {
  paint();
  listen();
  const page = document.getElementById('page');
  const base64 = atob(document.getElementById('columns').textContent);
  const packed = Uint8Array.from(base64, (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  const data = unpack(JSON.parse(document.getElementById('data').textContent), new Uint8Array(await new Response(stream).arrayBuffer()));
  page.append(skipButton(), bars('Session', h('span', { class: 'cut' }, data.captures.join(', '))));
  show(page, data);
  document.documentElement.dataset.ready = Math.round(performance.now());
}

begin().catch((e) => {
  document.getElementById('page').append(h('p', null, `This browser cannot show the page: ${e.message}. One of 2023 or later can.`));
  throw e;
});
