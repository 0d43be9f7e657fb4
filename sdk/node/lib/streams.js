// SPDX-License-Identifier: Apache-2.0
// Reading and writing on the wire's own descriptors. As measured (`./dev bench`): epoll and one buffer for all
// reads, and write() at once, are several times faster than streams; and a read of the thread pool would hold
// up the end of the process.
import fs from "node:fs";
import net from "node:net";
import tty from "node:tty";

const CHUNK = 65536;

/** Reads until the end. on.chunk(buffer, size) (valid during the call), on.end(). */
export class Input {
  constructor({ fd, kind, position }, on) {
    this.on = on;
    this.paused = false;
    this.ended = false;
    if (kind === "file") this.readFile(fd, position);
    else if (kind === "terminal") this.watch(new tty.ReadStream(fd));
    else this.readStream(fd);
  }

  readStream(fd) {
    const callback = (size, bytes) => {
      this.on.chunk(bytes, size);
      return !this.paused;
    };
    this.watch(
      new net.Socket({
        fd,
        readable: true,
        writable: false,
        onread: { buffer: Buffer.allocUnsafe(CHUNK), callback },
      }),
    );
  }

  watch(stream) {
    this.stream = stream;
    if (stream.isTTY) stream.on("data", (bytes) => this.on.chunk(bytes, bytes.length));
    stream.on("end", () => this.end());
    stream.on("error", () => this.end());
    stream.resume();
  }

  /** A file never makes us wait; but between two pieces others have their turn. */
  readFile(fd, position) {
    const bytes = Buffer.allocUnsafe(CHUNK);
    this.next = () => {
      if (this.paused || this.ended) return;
      let size = 0;
      try {
        size = fs.readSync(fd, bytes, 0, CHUNK, position);
      } catch {
        // a directory, say: nothing to read
      }
      if (!size) {
        this.end();
        return;
      }
      position += size;
      this.on.chunk(bytes, size);
      setImmediate(this.next);
    };
    setImmediate(this.next);
  }

  end() {
    if (this.ended) return;
    this.ended = true;
    this.on.end();
  }

  pause() {
    this.paused = true;
    if (this.stream?.isTTY) this.stream.pause();
  }

  resume() {
    if (!this.paused) return;
    this.paused = false;
    if (this.stream) this.stream.resume();
    else setImmediate(this.next);
  }

  /** No more reading, and the process may end. */
  close() {
    this.ended = true;
    this.stream?.destroy();
  }
}

/** Writes; keeps what a full pipe does not take. on.gone(): nobody reads any more. on.full(), on.drained(). */
export class Output {
  constructor({ fd, kind }, on) {
    this.fd = fd;
    this.on = on;
    this.pieces = [];
    this.planned = false; // flush() will be called
    this.busy = false; // a full pipe has the rest
    this.gone = false;
    this.waiters = [];
    // Makes a socket non-blocking; a pipe was opened so.
    if (kind === "stream" && fd <= 2) this.slow();
  }

  /** piece: a text or a Buffer. It leaves with others of the same turn, or at once. */
  send(piece, now = false) {
    if (this.gone) return;
    this.pieces.push(piece);
    if (now) this.flush();
    else if (!this.planned) {
      this.planned = true;
      queueMicrotask(() => this.flush());
    }
  }

  flush() {
    this.planned = false;
    if (this.busy || this.gone || !this.pieces.length) return;
    const all = joined(this.pieces);
    this.pieces = [];
    let rest;
    try {
      const size = fs.writeSync(this.fd, all);
      if (size === Buffer.byteLength(all)) return;
      rest = Buffer.from(all).subarray(size);
    } catch (error) {
      if (error.code !== "EAGAIN") {
        this.lost();
        return;
      }
      rest = Buffer.from(all);
    }
    this.later(rest);
  }

  slow() {
    if (this.stream) return this.stream;
    this.stream = new net.Socket({ fd: this.fd, readable: false, writable: true });
    this.stream.on("error", () => this.lost());
    return this.stream;
  }

  later(bytes) {
    this.busy = true;
    this.on.full();
    this.slow().write(bytes, (error) => {
      if (error) return;
      this.busy = false;
      this.flush();
      if (this.busy) return;
      this.on.drained();
      for (const wake of this.waiters.splice(0)) wake();
    });
  }

  lost() {
    if (this.gone) return;
    this.gone = true;
    this.pieces = [];
    for (const wake of this.waiters.splice(0)) wake();
    this.on.gone();
  }

  /** A promise for the time when there is room again. */
  room() {
    return this.busy && !this.gone ? new Promise((wake) => this.waiters.push(wake)) : Promise.resolve();
  }

  /** All that was sent is written, or nobody wants it. */
  async finish() {
    this.flush();
    while (this.busy && !this.gone) await this.room();
  }
}

function joined(pieces) {
  if (pieces.length === 1) return pieces[0];
  if (pieces.every((piece) => typeof piece === "string")) return pieces.join("");
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
}
