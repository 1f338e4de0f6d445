// The search of the documents. It needs a web server: from a disk the field stays hidden.
const form = document.querySelector("form[role=search]"), input = form.querySelector("input"), found = document.getElementById("found");

async function begin() {
  const pagefind = await import("./pagefind/pagefind.js");
  let latest = 0;
  form.hidden = false;
  form.addEventListener("submit", (e) => e.preventDefault());
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !(e.target instanceof HTMLInputElement)) { e.preventDefault(); input.focus(); }
    if (e.key === "Escape") found.hidden = true;
  });
  input.addEventListener("input", async () => {
    const mine = ++latest, text = input.value.trim();
    const results = text ? (await pagefind.search(text)).results.slice(0, 10) : [];
    const pages = await Promise.all(results.map((r) => r.data()));
    if (mine !== latest) return; // a later letter was typed
    found.replaceChildren(...pages.map(show));
    if (text && !pages.length) found.textContent = `No page has “${text}”.`;
    found.hidden = !text;
  });
}

// show makes the entry of a page; the excerpt of the index is HTML of our own pages.
function show(page) {
  const p = document.createElement("p"), a = document.createElement("a"), text = document.createElement("span");
  a.href = page.url;
  a.textContent = page.meta.title;
  text.append(...new DOMParser().parseFromString(page.excerpt, "text/html").body.childNodes);
  p.append(a, text);
  return p;
}

if (location.protocol !== "file:") begin();
