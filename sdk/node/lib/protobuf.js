// SPDX-License-Identifier: Apache-2.0
// The few messages of Sunscreen over gRPC, as bytes. sdk/proto has their definitions. A message is an object of
// its fields; what is not set is absent. So an author needs neither protobuf nor generated code.

const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;
const FIXED32 = 5;
const wires = { text: BYTES, bool: VARINT, number: VARINT, double: FIXED64 };

// A row is [number, name, kind, repeated]. A kind is "text", "bool", "number" (an enum), "double", or a table.
const command = [
  [1, "kind", "text"],
  [2, "name", "text"],
  [3, "summary", "text"],
];
const run = [
  [1, "kind", "text"],
  [2, "name", "text"],
  [3, "args", "text", true],
];
const result = [
  [1, "ok", "bool"],
  [2, "json_result", "text"],
];
const progress = [
  [1, "fraction", "double"],
  [2, "text", "text"],
];
const log = [
  [1, "level", "text"],
  [2, "text", "text"],
];

export const messages = {
  nothing: [],
  initialize: [
    [1, "protocol_version", "text"],
    [2, "sunscreen_version", "text"],
    [3, "workspace_root", "text"],
  ],
  initialized: [
    [1, "protocol_version", "text"],
    [2, "accepted_capabilities", "text", true],
  ],
  capabilities: [
    [1, "commands", command, true],
    [2, "hooks", "text", true],
    [1000, "extensions", "text", true],
  ],
  run,
  hook: [
    [1, "hook", "text"],
    [2, "json_context", "text"],
  ],
  result,
  shutdown: [[1, "ok", "bool"]],
  fromHost: [
    [1, "run", run],
    [2, "cancel", [[1, "reason", "text"]]],
  ],
  fromPlugin: [
    [1, "progress", progress],
    [2, "log", log],
    [3, "piece", [[1, "text", "text"]]],
    [4, "result", result],
  ],
  health: [[1, "service", "text"]],
  healthy: [[1, "status", "number"]],
};

/** Bytes that are not such a message. */
export class BadMessage extends Error {}

// ---- writing

function varint(number) {
  const out = [];
  for (; number > 0x7f; number = Math.floor(number / 128)) out.push((number % 128) | 0x80);
  out.push(number);
  return Buffer.from(out);
}

const key = (number, wire) => varint(number * 8 + wire);
const bytes = (number, data) => Buffer.concat([key(number, BYTES), varint(data.length), data]);

function double(number, value) {
  const data = Buffer.alloc(8);
  data.writeDoubleLE(value);
  return Buffer.concat([key(number, FIXED64), data]);
}

function field(number, kind, value) {
  if (kind === "text") return bytes(number, Buffer.from(String(value)));
  if (kind === "double") return double(number, value);
  if (wires[kind] === VARINT) return Buffer.concat([key(number, VARINT), varint(Number(value))]);
  return bytes(number, write(kind, value));
}

/** What protobuf does not send: it is what a field has that is not set. */
const isDefault = (kind, value) => kind !== "double" && (value === "" || value === false || value === 0);

/** The bytes of a message. */
export function write(table, message) {
  const parts = [];
  for (const [number, name, kind, repeated] of table) {
    const value = message[name];
    if (repeated) parts.push(...(value ?? []).map((one) => field(number, kind, one)));
    else if (value !== undefined && !isDefault(kind, value)) parts.push(field(number, kind, value));
  }
  return Buffer.concat(parts);
}

// ---- reading

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

class Reader {
  constructor(data) {
    this.data = data;
    this.at = 0;
  }

  /** Digits above 2^53 are lost; no field of ours has them. */
  varint() {
    let value = 0;
    for (let i = 0; i < 10; i++) {
      if (this.at >= this.data.length) break;
      const byte = this.data[this.at++];
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw new BadMessage("a number without an end");
  }

  value(wire) {
    if (wire === VARINT) return this.varint();
    const size = { [BYTES]: () => this.varint(), [FIXED64]: () => 8, [FIXED32]: () => 4 }[wire]?.();
    if (size === undefined) throw new BadMessage(`a field of the type ${wire}`);
    if (size > this.data.length - this.at) throw new BadMessage("a field that is cut off");
    this.at += size;
    return this.data.subarray(this.at - size, this.at);
  }
}

function text(raw) {
  try {
    return utf8.decode(raw);
  } catch {
    throw new BadMessage("a text that is not UTF-8");
  }
}

function meaning(kind, raw) {
  if (kind === "text") return text(raw);
  if (kind === "bool") return raw !== 0;
  if (kind === "number") return raw;
  return kind === "double" ? raw.readDoubleLE() : read(kind, raw);
}

/** The fields that are set. Those that are not known are skipped. Throws BadMessage. */
export function read(table, data) {
  const reader = new Reader(data);
  const message = {};
  while (reader.at < data.length) {
    const tag = reader.varint();
    const raw = reader.value(tag % 8);
    const [, name, kind, repeated] = table.find(([number]) => number === Math.floor(tag / 8)) ?? [];
    if (!name) continue;
    if ((wires[kind] ?? BYTES) !== tag % 8) throw new BadMessage(`${name} has another type`);
    const value = meaning(kind, raw);
    if (repeated) (message[name] ??= []).push(value);
    else message[name] = value;
  }
  return message;
}
