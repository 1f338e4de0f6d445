'use strict';
// What the server sends of matches: docs/live-page.md describes it.

// mergeList gives a list its changes.
function mergeList(list, change) {
  for (const [key, item] of Object.entries(change)) if (key !== 'length') list[key] = item;
  if (change.length !== undefined) list.length = change.length;
}

// mergeMatch gives a match its changes.
function mergeMatch(m, part) {
  for (const [key, value] of Object.entries(part.values)) if (value === null) delete m[key]; else m[key] = value;
  for (const [key, change] of Object.entries(part.lists)) mergeList(m[key] ??= [], change);
}

// hear calls the functions of the events that the server sends, and told with true when
// it can be reached and with false when not. A connection that is lost comes back.
function hear(address, events, told) {
  const source = new EventSource(address);
  for (const [name, does] of Object.entries(events)) source.addEventListener(name, (e) => does(JSON.parse(e.data)));
  source.addEventListener('open', () => told(true));
  source.addEventListener('error', () => {
    told(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(() => hear(address, events, told), 5000);
  });
}
