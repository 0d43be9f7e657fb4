// SPDX-License-Identifier: Apache-2.0
// Bytes that no host would send: every framing and dialect lives on, answers only with JSON, and after
// broken lines the next good one is answered. A seed that fails is in the name of the test:
// TENON_SEED=N runs it alone.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import "../../../sdk/node/testing.js";
import { Plugin } from "../../../sdk/node/index.js";
import { dialects, guess } from "../../../sdk/node/lib/dialects/index.js";
import { framings } from "../../../sdk/node/lib/frames.js";
import { Session } from "../../../sdk/node/lib/session.js";

const PUPPET = fileURLToPath(new URL("puppet.mjs", import.meta.url));
const ROUNDS = process.env.MORTISE_TIER === "1" ? 50 : 200; // tests/README.md, "Two tiers"

/** mulberry32: the same numbers for the same seed. */
function numbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

const seedsOf = (count) =>
  process.env.TENON_SEED ? [Number(process.env.TENON_SEED)] : Array.from({ length: count }, (_, i) => i + 1);

function sample() {
  const plugin = new Plugin({ name: "fuzzed", version: "1.0.0" });
  plugin.method("echo", (params) => params);
  plugin.command("roll", { sides: { type: "integer", default: 6 }, why: "string" }, ({ sides }) => sides);
  plugin.command("talk", function* () {
    return `${yield "What?"}!`;
  });
  plugin.hook("after_build", (context) => context);
  plugin.extractor({ extensions: [".txt"] }, (source) => source.text());
  plugin.handler(/x/, ({ text }) => text);
  return plugin;
}

const messages = [
  { id: 1, method: "echo", params: { a: [1, "é", null] } },
  { id: 2, method: "handshake.manifest" },
  { id: 3, method: "plugin.init", params: { config: { a: 1 } } },
  { id: 4, method: "extractor.extract", params: { source: { type: "bytes", data: "aGk=" } } },
  { id: 5, method: "execute", params: { function: "roll", arguments: { sides: 3, why: "x" } } },
  { id: 6, method: "execute", params: { function: "talk" } },
  { id: 7, method: "input", params: { content: "x" } },
  { id: 8, method: "ping", params: { timestamp: 1 } },
  { id: 9, method: "handle", params: { text: '/roll 3 "x', user_id: 1, message_type: "private" } },
  { id: 10, method: "matches", params: { text: "x", user_id: 1, message_type: "group", group_id: 2 } },
  { id: 11, method: "lifecycle", params: { event: { startup: null } } },
  { id: 12, method: "run", params: { command: "scaffold:roll", args: ["3", "x"], flags: { why: ["y"] } } },
  { id: 13, method: "hook", params: { name: "after_build", context: {} } },
  { id: 14, method: "sunscreen.command/run", params: { command: "roll", args: ["--why=x", "--sides", "2"] } },
  { id: 15, method: "extractor.supports", params: { mime_type: "text/plain", extension: ".txt" } },
];

const odd = [
  '{"id":123456789012345678901234567890,"method":"echo"}',
  `{"id":${"9".repeat(5000)},"method":"echo"}`,
  `{"id":1e999,"method":"echo","params":{"a":1e999}}`,
  `{"id":"\\ud800","method":"echo","params":"x"}`,
  `{"id":{"a":[]},"method":"__proto__","params":{"__proto__":1}}`,
  `{"id":1,"method":"echo","params":${"[".repeat(20000)}${"]".repeat(20000)}}`,
  `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`,
  "[".repeat(30000),
  '[{"id":1,"method":"echo"},[],1,{"method":null}]',
  '{"id":1,"id":2,"method":"echo","method":"nope"}',
  "null",
  '"text"',
  " \t",
  '{"id":1,"method":"execute","params":{"function":"constructor","arguments":{"sides":[]}}}',
  '{"id":1,"method":"lifecycle","params":{"event":[]}}',
  '{"id":1,"method":"handle","params":[]}',
  '{"id":1,"method":"run","params":{"command":":","args":{}}}',
];

/** One piece of a stream: a good message, an odd one, a damaged one, or noise. */
function piece(random, write) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const text = random() < 0.7 ? JSON.stringify({ jsonrpc: "2.0", ...pick(messages) }) : pick(odd);
  const bytes = Buffer.from(write(text));
  const kind = random();
  if (kind < 0.5) return bytes;
  const at = Math.floor(random() * bytes.length);
  if (kind < 0.65) return bytes.subarray(0, at);
  if (kind < 0.85) {
    const damaged = Buffer.from(bytes);
    damaged[at] = Math.floor(random() * 256);
    return damaged;
  }
  return Buffer.from(Array.from({ length: at % 64 }, () => Math.floor(random() * 256)));
}

function stream(random, write) {
  return Buffer.concat(Array.from({ length: 1 + Math.floor(random() * 12) }, () => piece(random, write)));
}

/** Pieces of any size, down to single bytes. */
function* cut(random, bytes) {
  const most = random() < 0.3 ? 3 : 4096;
  for (let at = 0, size; at < bytes.length; at += size) {
    size = 1 + Math.floor(random() * most);
    yield bytes.subarray(at, at + size);
  }
}

/** Plays a stream; gives what was sent. Any exception is a failure. */
function play(plugin, dialect, framing, chunks) {
  return new Promise((resolve, reject) => {
    const sent = [];
    const output = { send: (text) => sent.push(text), room: async () => {}, finish: async () => {} };
    const session = new Session(plugin, dialect, output, { exit: () => resolve(sent) });
    const on = {
      text: (text) => session.receive(text),
      bad: (code, why) => session.refuse(code, why),
      corrupt: () => {},
    };
    try {
      const reader = new framings[framing].Reader(on, 1 << 20);
      for (const chunk of chunks) reader.push(Buffer.from(chunk));
      reader.end();
      session.inputEnd();
    } catch (error) {
      reject(error);
    }
  });
}

for (const framing of Object.keys(framings))
  for (const dialect of Object.values(dialects).filter(({ name }) => name !== "kythe"))
    test(`${framing}, ${dialect.name}`, async () => {
      const error = console.error;
      console.error = () => {}; // the stacks of what the functions throw
      try {
        let answers = 0;
        for (const seed of seedsOf(ROUNDS)) {
          const random = numbers(seed);
          const bytes = stream(random, framings[framing].write);
          const sent = await play(sample(), dialect, framing, cut(random, bytes)).catch((failure) => {
            throw new Error(`seed ${seed}: ${failure.stack}`);
          });
          for (const text of sent) assert.doesNotThrow(() => JSON.parse(text), `seed ${seed}: ${text}`);
          answers += sent.length;
        }
        assert.ok(answers > 0); // else nothing was tried
      } finally {
        console.error = error;
      }
    });

test("after broken lines the next good one is answered", async () => {
  const good = Buffer.from('\n{"id":"good","method":"echo","params":[7]}\n');
  for (const seed of seedsOf(ROUNDS)) {
    const random = numbers(seed);
    const bytes = Buffer.concat([stream(random, framings.lines.write), good]);
    const plugin = new Plugin({ name: "echo", version: "1.0.0" }).method("echo", (params) => params);
    const sent = await play(plugin, dialects.plain, "lines", cut(random, bytes));
    assert.ok(sent.includes('{"jsonrpc":"2.0","id":"good","result":[7]}'), `seed ${seed}`);
  }
});

test("the first bytes are always decided", () => {
  const names = ["yams", "ayiou", "gassist", "sunscreen", "sunscreen-json", "kythe", "plain"];
  for (const seed of seedsOf(ROUNDS * 5)) {
    const random = numbers(seed);
    const bytes = Buffer.from(Array.from({ length: 1 + Math.floor(random() * 40) }, () => random() * 256));
    const found = guess(names, bytes, true);
    assert.ok(found.dialect && framings[found.framing], `seed ${seed}`);
    assert.notEqual(found.dialect.name, "kythe");
  }
});

test("whole processes end cleanly", async () => {
  for (const seed of seedsOf(8)) {
    const random = numbers(seed);
    const framing = Object.keys(framings)[seed % 4];
    const child = spawn("node", [PUPPET], { stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.on("error", () => {}); // it may have had enough
    const err = [];
    child.stderr.on("data", (bytes) => err.push(bytes));
    child.stdout.resume();
    for (let i = 0; i < 20; i++) child.stdin.write(stream(random, framings[framing].write));
    child.stdin.end();
    const status = await new Promise((resolve) => child.on("close", resolve));
    assert.equal(status, 0, `seed ${seed}: ${Buffer.concat(err)}`);
  }
});
