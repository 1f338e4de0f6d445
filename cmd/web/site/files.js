// The file system of the program: the files that were dropped, which are read
// from their place when they are needed, and what the program itself writes. Go's
// support script finds it as globalThis.fs.
'use strict';

// disk holds for each name its size and a function that returns some of its bytes.
const disk = new Map();

{
  const open = new Map(); // the open files by their numbers
  let last = 2; // after standard input, output and error
  const constants = { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };
  const failure = (code) => Object.assign(new Error(code), { code });
  const missing = (callback) => callback(failure('ENOSYS'));
  const stat = (f) => ({ dev: 0, ino: 0, mode: 0o100600, nlink: 1, uid: 0, gid: 0, rdev: 0, size: f.size, blksize: 4096, blocks: Math.ceil(f.size / 512), atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => false });

  // written is a file in memory.
  const written = () => ({
    size: 0,
    bytes: new Uint8Array(1 << 16),
    read(from, to) { return this.bytes.subarray(from, to); },
    put(b, at) {
      const end = at + b.length;
      if (end > this.bytes.length) {
        const more = new Uint8Array(Math.max(end, this.bytes.length * 2));
        more.set(this.bytes.subarray(0, this.size));
        this.bytes = more;
      }
      this.bytes.set(b, at);
      this.size = Math.max(this.size, end);
    },
  });

  let line = '';
  const write = (fd, buffer, offset, length, position, callback) => {
    const b = buffer.subarray(offset, offset + length);
    if (fd === 1 || fd === 2) {
      line += new TextDecoder().decode(b);
      const lines = line.split('\n');
      line = lines.pop();
      for (const text of lines) console.error(text);
      return callback(null, length);
    }
    const o = open.get(fd);
    if (!o?.f.put) return callback(failure('EBADF'));
    o.f.put(b, position ?? o.at);
    if (position === null) o.at += length;
    return callback(null, length);
  };

  globalThis.fs = {
    constants,
    open(name, flags, mode, callback) {
      let f = disk.get(name);
      if (f && flags & constants.O_CREAT && flags & constants.O_EXCL) return callback(failure('EEXIST'));
      if (!f && !(flags & constants.O_CREAT)) return callback(failure('ENOENT'));
      if (!f || flags & constants.O_TRUNC) disk.set(name, f = written());
      if (flags & (constants.O_WRONLY | constants.O_RDWR) && !f.put) return callback(failure('EACCES'));
      open.set(++last, { f, at: 0 });
      return callback(null, last);
    },
    close(fd, callback) { callback(open.delete(fd) ? null : failure('EBADF')); },
    read(fd, buffer, offset, length, position, callback) {
      const o = open.get(fd);
      if (!o) return callback(failure('EBADF'));
      const at = position ?? o.at;
      let b;
      try {
        b = o.f.read(Math.min(at, o.f.size), Math.min(at + length, o.f.size));
      } catch { // the file has changed or is gone
        return callback(failure('EIO'));
      }
      buffer.set(b, offset);
      if (position === null) o.at += b.length;
      return callback(null, b.length);
    },
    write,
    writeSync(fd, buffer) { write(fd, buffer, 0, buffer.length, null, () => {}); return buffer.length; },
    stat(name, callback) { const f = disk.get(name); if (f) callback(null, stat(f)); else callback(failure('ENOENT')); },
    lstat(name, callback) { this.stat(name, callback); },
    fstat(fd, callback) { const o = open.get(fd); if (o) callback(null, stat(o.f)); else callback(failure('EBADF')); },
    rename(from, to, callback) {
      const f = disk.get(from);
      if (!f) return callback(failure('ENOENT'));
      disk.delete(from);
      disk.set(to, f);
      return callback(null);
    },
    unlink(name, callback) { callback(disk.delete(name) ? null : failure('ENOENT')); },
    fsync(fd, callback) { callback(null); },
    chmod(name, mode, callback) { callback(null); },
    fchmod(fd, mode, callback) { callback(null); },
    ftruncate(fd, length, callback) { missing(callback); },
    truncate(name, length, callback) { missing(callback); },
    chown(name, uid, gid, callback) { missing(callback); },
    fchown(fd, uid, gid, callback) { missing(callback); },
    lchown(name, uid, gid, callback) { missing(callback); },
    link(name, other, callback) { missing(callback); },
    symlink(name, other, callback) { missing(callback); },
    readlink(name, callback) { missing(callback); },
    mkdir(name, mode, callback) { missing(callback); },
    rmdir(name, callback) { missing(callback); },
    readdir(name, callback) { missing(callback); },
    utimes(name, atime, mtime, callback) { missing(callback); },
  };
}
