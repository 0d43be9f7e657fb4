// SPDX-License-Identifier: Apache-2.0
// Plays the part in the file $PUPPET_PART with the Node SDK (tests/sdk/README.md has the format).
import { readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { Plugin, PluginError } from "../../../sdk/node/index.js";

// Numbers beyond 2^53 are BigInts here, as everywhere in the SDK.
const BIG = /("(?:[^"\\]|\\.)*")|(-?\d{16,})(?![\d.eE])/g;
const parse = (text) =>
  JSON.parse(
    text.replace(BIG, (all, string, digits) => string ?? `"\\u0000${digits}"`),
    (key, value) => (typeof value === "string" && value[0] === "\0" ? BigInt(value.slice(1)) : value),
  );

const split = (text) => {
  const at = text.indexOf(" ");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
};

// facts: one word each; declared: [kind, name, lines]; scripts: kind and name to the acts of each call
function readPart(path) {
  const part = { facts: {}, declared: [], scripts: new Map() };
  let into;
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const [word, rest] = split(line.trim());
    if (line.startsWith("  ")) into.push([word, rest]);
    else if (word === "declare") part.declared.push([...split(rest), (into = [])]);
    else if (word === "on") {
      const list = part.scripts.get(rest) ?? [];
      part.scripts.set(rest, list);
      list.push((into = []));
    } else if (word) part.facts[word] = rest;
  }
  return part;
}

const part = readPart(process.env.PUPPET_PART);

/** The acts of the next call; the last ones are used again. */
function next(kind, name) {
  const left = part.scripts.get(`${kind} ${name}`.trim()) ?? [[["return", "null"]]];
  return left.length > 1 ? left.shift() : left[0];
}

async function wait(name) {
  const gate = await open(`gate.${name}`, "r");
  await gate.read(Buffer.alloc(1), 0, 1, null);
  await gate.close();
}

function fail(rest) {
  const [code, more] = split(rest);
  const [, message, data] = /^("(?:[^"\\]|\\.)*")\s*(.*)$/s.exec(more);
  throw new PluginError(Number(code), parse(message), data ? parse(data) : undefined);
}

const acts = {
  stream: (rest, call) => call.stream(parse(rest)),
  progress: (rest, call) => call.progress(Number(split(rest)[0]), parse(split(rest)[1])),
  log: (rest, call) => call.log(split(rest)[0], parse(split(rest)[1])),
  print: (rest) => console.log(parse(rest)),
  gate: (rest) => wait(rest),
  hold: () => wait("hold"),
  fail,
  raise: (rest) => {
    throw new Error(parse(rest));
  },
  vname: (rest, call) => {
    const { path, signature } = parse(rest);
    return call.vname(path, signature);
  },
};

async function play(list, call) {
  for (const [word, rest] of list) {
    if (word === "return") return parse(rest);
    if (word === "echo") return call.params;
    await acts[word](rest, call);
  }
  return null;
}

async function* converse(list, call) {
  for (const [word, rest] of list) {
    if (word === "ask") yield parse(rest);
    else if (word === "return") return parse(rest);
    else await acts[word](rest, call);
  }
  return null;
}

const asks = (kind, name) =>
  (part.scripts.get(`${kind} ${name}`.trim()) ?? []).flat().some(([word]) => word === "ask");

const { facts } = part;
const words = (text) => (text ?? "").split(" ").filter(Boolean);
const plugin = new Plugin({
  name: facts.name,
  version: facts.version,
  description: facts.description ?? "",
  author: facts.author,
  dialect: facts.dialect,
  encoding: facts.encoding,
  interfaces: facts.interfaces && [
    ...(part.declared.some(([kind]) => kind === "extract") ? ["content_extractor_v1"] : []),
    ...words(facts.interfaces),
  ],
});

function fieldsOf(lines) {
  const fields = lines.filter(([word]) => word === "field").map(([, rest]) => parse(rest));
  if (!fields.length) return undefined;
  return Object.fromEntries(fields.map(({ name, ...field }) => [name, field]));
}

const declare = {
  method: (about, args) => plugin.method(about, ...args),
  command: (about, args) => plugin.command(about, ...args),
  hook: (about, args) => plugin.hook(about, ...args),
  extract: (about, args) =>
    plugin.extractor({ formats: words(facts.formats), extensions: words(facts.extensions) }, args.at(-1)),
  handler: (about, args) =>
    plugin.handler(() => parse(next("matches", "").at(-1)[1]) !== false, args.at(-1)),
  analysis: (about, args) => plugin.analysis(about.name, args.at(-1)),
};

for (const [kind, name, lines] of part.declared) {
  const text = (word) => lines.find(([one]) => one === word)?.[1];
  const run = asks(kind, name) ? converse : play;
  const fn = (...args) => run(next(kind, name), args.at(-1));
  const fields = fieldsOf(lines);
  const about = { name, description: text("about") ?? "", aliases: words(text("alias")) };
  declare[kind](about, fields ? [fields, fn] : [fn]);
}
if (part.scripts.has("start")) plugin.onStart((...args) => play(next("start", ""), args.at(-1)));
if (part.scripts.has("stop")) plugin.onStop(() => play(next("stop", "")));
plugin.run();
