// SPDX-License-Identifier: Apache-2.0
// Bytes to texts of messages, and back. No descriptors here: a reader gets chunks and calls
//   on.text(text)      one message
//   on.bad(code, why)  a message that is refused; the next one is read
//   on.corrupt(why)    the stream cannot be followed any further
// A chunk, the first `size` bytes of a buffer, is only valid until push() returns: what is kept is copied.
import buffer from "node:buffer";
import { code } from "./errors.js";

const EMPTY = Buffer.alloc(0);
const HEADER_LIMIT = 65536;
const fatal = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// Node before 18.14 has no isUtf8.
const isUtf8 =
  buffer.isUtf8 ??
  ((bytes) => {
    try {
      fatal.decode(bytes);
      return true;
    } catch {
      return false;
    }
  });

/** The bytes that wait for the rest of their message. */
class Waiting {
  parts = [];
  size = 0;

  keep(bytes) {
    if (!bytes.length) return;
    this.parts.push(Buffer.from(bytes));
    this.size += bytes.length;
  }

  /** These bytes with `bytes` behind them. */
  take(bytes) {
    if (!this.size) return bytes;
    const all = Buffer.concat([...this.parts, bytes]);
    this.parts = [];
    this.size = 0;
    return all;
  }
}

class Reader {
  constructor(on, limit) {
    this.on = on;
    this.limit = limit;
    this.waiting = new Waiting();
    this.over = false; // nothing more is read
  }

  deliver(bytes) {
    const text = bytes.toString("utf8");
    // Bytes that are no UTF-8 become U+FFFD; so does a U+FFFD that was sent.
    if (text.includes("\ufffd") && !isUtf8(bytes)) this.on.bad(code.parse, "Parse error: not UTF-8");
    else this.on.text(text);
  }

  refuse(size) {
    const limit = `${this.limit / 1048576} MiB`;
    const most = size ? `${size} bytes, at most ${limit}` : `more than ${limit}`;
    this.on.bad(code.request, `Invalid Request: the message is too long (${most})`);
  }

  corrupt(why) {
    if (this.over) return;
    this.over = true;
    this.on.corrupt(why);
  }
}

/** One message per line. */
class LineReader extends Reader {
  skipping = false;

  push(buffer, size = buffer.length) {
    // Most often a host sends one line and waits: nothing is cut or copied.
    if (buffer[size - 1] === 10 && !this.waiting.size && !this.skipping) {
      this.lines(buffer, size);
      return;
    }
    const chunk = buffer.subarray(0, size);
    const last = chunk.lastIndexOf(10);
    if (last < 0) {
      this.keep(chunk);
      return;
    }
    const bytes = this.finish(chunk.subarray(0, last + 1));
    this.lines(bytes, bytes.length);
    this.keep(chunk.subarray(last + 1));
  }

  /** Whole lines: what waited, and these; without the line that is skipped. */
  finish(bytes) {
    if (!this.skipping) return this.waiting.take(bytes);
    this.skipping = false;
    return bytes.subarray(bytes.indexOf(10) + 1);
  }

  keep(bytes) {
    if (this.skipping) return;
    this.waiting.keep(bytes);
    if (this.waiting.size <= this.limit) return;
    this.waiting = new Waiting();
    this.skipping = true;
    this.refuse();
  }

  lines(bytes, size) {
    const text = bytes.toString("utf8", 0, size);
    if (size > this.limit || (text.includes("\ufffd") && !isUtf8(bytes.subarray(0, size)))) {
      this.eachLine(bytes.subarray(0, size));
      return;
    }
    for (let from = 0, end; (end = text.indexOf("\n", from)) >= 0; from = end + 1) {
      if (text.charCodeAt(from) > 32) this.on.text(text.slice(from, end));
      else this.oddLine(text.slice(from, end));
    }
  }

  oddLine(line) {
    if (line.trim()) this.on.text(line);
  }

  eachLine(bytes) {
    for (let from = 0, end; (end = bytes.indexOf(10, from)) >= 0; from = end + 1) {
      const line = bytes.subarray(from, end);
      if (line.length > this.limit) this.refuse(line.length);
      else if (line.some((byte) => byte > 32)) this.deliver(line);
    }
  }

  /** A last line may lack its newline. */
  end() {
    const rest = this.waiting.take(EMPTY);
    if (rest.some((byte) => byte > 32)) this.deliver(rest);
  }
}

/** Readers of frames with a length. `step` looks at the bytes from `at` and says how many it has used; 0: more
 * are needed, `need` in all. */
class FrameReader extends Reader {
  need = 1;
  skip = 0;

  push(buffer, total = buffer.length) {
    if (this.over) return;
    let chunk = buffer.subarray(0, total);
    if (this.skip) {
      const gone = Math.min(this.skip, chunk.length);
      this.skip -= gone;
      chunk = chunk.subarray(gone);
    }
    if (this.waiting.size + chunk.length < this.need) {
      this.waiting.keep(chunk);
      return;
    }
    const bytes = this.waiting.take(chunk);
    let at = 0;
    for (let used = 1; used && at < bytes.length && !this.over; at += used) used = this.step(bytes, at);
    if (this.over) return;
    if (at > bytes.length) {
      this.skip = at - bytes.length;
      this.need = 1;
    } else this.waiting.keep(bytes.subarray(at));
  }

  /** A frame whose body of `size` bytes begins `head` bytes after `at`. */
  body(bytes, at, head, size) {
    if (size > this.limit) this.refuse(size);
    else if (bytes.length - at < head + size) {
      this.need = head + size;
      return 0;
    } else if (size) this.deliver(bytes.subarray(at + head, at + head + size));
    this.need = 1;
    return head + size;
  }

  end() {
    if (this.waiting.size || this.skip) this.corrupt("the input ends inside a message");
  }
}

class Be32Reader extends FrameReader {
  step(bytes, at) {
    this.need = 4;
    return bytes.length - at < 4 ? 0 : this.body(bytes, at, 4, bytes.readUInt32BE(at));
  }
}

/** Content-Length and an empty line; LF alone is accepted, and so are other headers. */
class HeaderReader extends FrameReader {
  step(bytes, at) {
    if (bytes[at] === 13 || bytes[at] === 10) return 1;
    const head = bytes.toString("latin1", at, Math.min(bytes.length, at + HEADER_LIMIT));
    const end = /\r?\n\r?\n/.exec(head);
    if (!end) {
      if (head.length === HEADER_LIMIT) this.corrupt("no end of the headers");
      this.need = bytes.length - at + 1;
      return 0;
    }
    const size = /^content-length[ \t]*:[ \t]*(\d{1,15})[ \t]*$/im.exec(head.slice(0, end.index));
    if (size) return this.body(bytes, at, end.index + end[0].length, Number(size[1]));
    this.corrupt("no Content-Length");
    return 0;
  }
}

/** Kythe's: a decimal length, a newline, the body. */
class DecimalReader extends FrameReader {
  step(bytes, at) {
    const end = bytes.indexOf(10, at);
    const tag = bytes.toString("latin1", at, end < 0 ? bytes.length : end);
    if (!/^(0|[1-9]\d{0,18})?$/.test(tag) || (end >= 0 && !tag)) {
      this.corrupt(`not a length: ${JSON.stringify(tag.slice(0, 20))}`);
      return 0;
    }
    if (end < 0) {
      this.need = bytes.length - at + 1;
      return 0;
    }
    if (Number(tag) > this.limit) {
      this.corrupt(`a message of ${tag} bytes`);
      return 0;
    }
    if (tag === "0") this.on.bad(code.parse, "Parse error: an empty message");
    return this.body(bytes, at, tag.length + 1, Number(tag));
  }
}

function be32(text) {
  const size = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(4 + size);
  frame.writeUInt32BE(size);
  frame.write(text, 4);
  return frame;
}

/** How messages lie in the stream. `write` makes a text or a Buffer. */
export const framings = {
  lines: { Reader: LineReader, write: (text) => text + "\n" },
  be32: { Reader: Be32Reader, write: be32 },
  headers: {
    Reader: HeaderReader,
    write: (text) => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  },
  decimal: { Reader: DecimalReader, write: (text) => `${Buffer.byteLength(text)}\n${text}` },
};

/** The framing that the first bytes show, or undefined while there are too few of them. */
export function guessFraming(bytes) {
  if (bytes[0] === 0) return "be32";
  const head = bytes.toString("latin1", 0, 16).toLowerCase();
  if (head.startsWith("content-")) return "headers";
  if ("content-".startsWith(head)) return undefined;
  const digits = /^\d+(\n?)/.exec(head);
  if (digits) return digits[1] ? "decimal" : digits[0].length < head.length ? "lines" : undefined;
  return "lines";
}
