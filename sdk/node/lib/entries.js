// SPDX-License-Identifier: Apache-2.0
// Kythe entries, written to the driver's file: length-delimited records, in protobuf or JSON.
import fs from "node:fs";

const BUFFERED = 1 << 20;
const parts = ["signature", "corpus", "root", "path", "language"];

function varint(number) {
  const bytes = [];
  for (; number > 0x7f; number = Math.floor(number / 128)) bytes.push((number % 128) | 0x80);
  bytes.push(number);
  return Buffer.from(bytes);
}

/** A length-delimited field. A message is written even when nothing is in it: its presence means something. */
function message(number, bytes) {
  return Buffer.concat([Buffer.from([(number << 3) | 2]), varint(bytes.length), bytes]);
}

const field = (number, value) => {
  const bytes = Buffer.from(value);
  return bytes.length ? message(number, bytes) : bytes;
};

const vnameBytes = (name) => Buffer.concat(parts.map((part, i) => field(i + 1, name[part] ?? "")));

const vnameJson = (name) =>
  Object.fromEntries(parts.filter((part) => name[part]).map((part) => [part, name[part]]));

function entryBytes({ source, kind, target, name, value }) {
  return Buffer.concat([
    message(1, vnameBytes(source)),
    ...(target ? [field(2, kind), message(3, vnameBytes(target))] : []),
    field(4, name),
    field(5, value),
  ]);
}

function entryJson({ source, kind, target, name, value }) {
  const edge = target ? { edgeKind: kind, target: vnameJson(target) } : {};
  const fact = value.length ? { factValue: Buffer.from(value).toString("base64") } : {};
  return Buffer.from(JSON.stringify({ source: vnameJson(source), factName: name, ...edge, ...fact }));
}

export const encoders = { protobuf: entryBytes, json: entryJson };

/** A VName as it came, or with what was left out. */
export const readVName = (given) => Object.fromEntries(parts.map((part) => [part, given?.[part] ?? ""]));

/** The output of one analysis. */
export class Output {
  constructor(path, encoding) {
    this.fd = fs.openSync(path, "a");
    this.encode = encoders[encoding];
    this.parts = [];
    this.size = 0;
  }

  /** One record of any kind, for analyses whose output is not made of entries. */
  record(body) {
    const bytes = Buffer.from(body);
    const head = varint(bytes.length);
    this.parts.push(head, bytes);
    this.size += head.length + bytes.length;
    if (this.size >= BUFFERED) this.flush();
  }

  entry(members) {
    this.record(this.encode(members));
  }

  flush() {
    const all = Buffer.concat(this.parts);
    for (let at = 0; at < all.length;) at += fs.writeSync(this.fd, all, at);
    this.parts = [];
    this.size = 0;
  }

  close() {
    this.flush();
    fs.closeSync(this.fd);
  }
}
