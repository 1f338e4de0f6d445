// Keeps the files of the page, and nothing else, for use without a network.
'use strict';

const version = '{{version}}';
const files = JSON.parse('{{files}}');

addEventListener('install', (e) => {
  e.waitUntil(caches.open(version).then((c) => c.addAll(['./', ...files])).then(() => skipWaiting()));
});

addEventListener('activate', (e) => {
  e.waitUntil(caches.keys()
    .then((names) => Promise.all(names.filter((name) => name.startsWith('bcdissect-') && name !== version).map((name) => caches.delete(name))))
    .then(() => clients.claim()));
});

// A file with a hash in its name never changes. The page itself is asked for
// first, so that a new version shows at once, and is kept for when there is no answer.
addEventListener('fetch', (e) => {
  const url = new URL(e.request.url);
  if (e.request.method !== 'GET' || url.origin !== location.origin) return;
  const name = url.pathname.slice(new URL(registration.scope).pathname.length);
  if (files.includes(name)) {
    e.respondWith(caches.match(e.request).then((r) => r || fetch(e.request)));
  } else if (name === '' || name === 'index.html') {
    e.respondWith(fetch(e.request).catch(() => caches.match('./')));
  }
});
