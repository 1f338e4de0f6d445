// The page of a match in a league: the data of its replay came as a script, and what
// the league knows of the match is in the page.

async function beginReplay() {
  paint();
  document.querySelector('.bars .end').before(lightButton());
  const [json, base64] = window.bcdissectReplay ?? [];
  if (json) {
    listen();
    const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    const data = unpack(json, new Uint8Array(await new Response(stream).arrayBuffer()));
    const { outcome, players, ...rest } = JSON.parse(document.getElementById('patch').textContent), m = data.matches[0];
    Object.assign(m, rest);
    Object.assign(m.outcome, outcome);
    players.forEach((p, i) => Object.assign(m.players[i], p));
    document.getElementById('summary').remove();
    const here = document.getElementById('replay-here');
    show(here, data);
    here.querySelector('footer').remove(); // the page has one
    if (!location.hash.includes('t=')) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }
  document.documentElement.dataset.ready = Math.round(performance.now());
}

beginReplay();
