// A worker runs the program for one task: the report, the list of messages, or a
// file to save. Its memory goes with it when the task is done. Go's support script
// and the file system are before it in the same file.
let running = false;
const pause = new MessageChannel(); // lets messages in between two steps
let resume = null;
pause.port1.onmessage = () => resume();
const breath = () => new Promise((done) => { resume = done; pause.port2.postMessage(null); });

// put makes the files known to the program.
function put(files) {
  const reader = new FileReaderSync();
  for (const { name, file } of files) {
    disk.set(name, { size: file.size, read: (from, to) => new Uint8Array(reader.readAsArrayBuffer(file.slice(from, to))) });
  }
  return files.map((f) => f.name);
}

// told says how far a reading is, but not too often.
function told() {
  let last = 0;
  return (read, size) => {
    const now = performance.now();
    if (now - last < 50) return;
    last = now;
    postMessage({ progress: [read, size] });
  };
}

// list goes on with the list until there is nothing more to do.
async function list() {
  if (running) return;
  running = true;
  let last = 0;
  for (let more = true; more;) {
    const state = bcdissect.step();
    more = state.more;
    const now = performance.now();
    if (now - last > 80 || !more) {
      last = now;
      postMessage({ state });
    }
    await breath();
  }
  running = false;
}

const tasks = {
  report({ files }) {
    const r = bcdissect.report(put(files), told());
    if (r.error) return r;
    return { report: r.report, columns: r.columns };
  },
  save({ files, choice }) {
    const parts = [];
    const r = bcdissect.save(choice, put(files), told(), (bytes) => parts.push(bytes));
    if (r.error) return r;
    return { blob: new Blob(parts), notes: r.notes };
  },
  list({ files }) {
    const r = bcdissect.list(put(files));
    if (!r.error) list();
    return r;
  },
  rows: ({ from, to }) => ({ rows: bcdissect.rows(from, to) }),
  filter({ expression }) {
    const r = bcdissect.filter(expression);
    if (r.error) return r;
    setTimeout(list); // after the answer
    return { mistake: r };
  },
  place: ({ row }) => ({ place: bcdissect.place(row) }),
  frame: ({ file, frame }) => ({ row: bcdissect.frame(file, frame) }),
  detail: ({ row }) => ({ detail: bcdissect.detail(row) }),
  complete: ({ expression }) => ({ offers: bcdissect.complete(expression) }),
};

globalThis.ready = () => {
  globalThis.onmessage = ({ data }) => {
    let result;
    try {
      result = tasks[data.task](data);
    } catch (e) {
      result = { error: String(e.message || e) };
    }
    const move = result.columns ? [result.columns.buffer] : [];
    postMessage({ id: data.id, ...result }, move);
  };
  postMessage({ ready: true });
};

globalThis.onmessage = async ({ data }) => {
  globalThis.process.cwd = () => '/';
  const go = new Go();
  const instance = await WebAssembly.instantiate(data.module, go.importObject);
  await go.run(instance);
  postMessage({ died: true });
};
