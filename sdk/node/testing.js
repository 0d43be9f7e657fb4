// SPDX-License-Identifier: Apache-2.0
// Test help for authors: a host in the same process, and one that starts the plugin. See testing.d.ts.
import { spawn as spawnProcess } from "node:child_process";
import { once } from "node:events";
import { framings } from "./lib/frames.js";
import { dialects } from "./lib/dialects/index.js";
import { meant } from "./lib/dialects/index.js";
import { PluginError } from "./lib/errors.js";
import { Session } from "./lib/session.js";

globalThis[Symbol.for("tenon.testing")] = true; // run() of a plugin that a test imports does nothing

/** How a command goes over the wire in each dialect: [method, params]. */
const carried = {
  gassist: (name, args) => ["execute", { function: name, arguments: args }],
  sunscreen: (name, args) => [
    "run",
    { command: name, ...words(args), workspace_root: process.cwd(), config: {} },
  ],
  "sunscreen-json": (name, args) => [
    "sunscreen.command/run",
    {
      command: name,
      args: commandLine(args),
      workspace: process.cwd(),
      scratch: process.cwd(),
      plugin: "test",
    },
  ],
  ayiou: (name, args) => ["handle", message([`/${name}`, ...Object.values(args)].join(" "))],
};
const protocol = (dialect, name) => Object.hasOwn(dialects[dialect].methods ?? {}, name);

/** A list is words; names are flags. */
const words = (args) =>
  Array.isArray(args) ? { args: args.map(String), flags: {} } : { args: [], flags: args };

const flag = ([name, value]) => (value === true ? [`--${name}`] : [`--${name}=${value}`]);
const commandLine = (args) => (Array.isArray(args) ? args.map(String) : Object.entries(args).flatMap(flag));

const message = (text, who = {}) => ({
  text,
  raw_message: text,
  message_type: who.group_id === undefined ? "private" : "group",
  user_id: 1,
  ...who,
});

const greetings = {
  yams: (config) => [["handshake.manifest"], ["plugin.init", { config }]],
  gassist: () => [["initialize", { protocol_version: "2.0", engine_version: "1.0.0", capabilities: [] }]],
  ayiou: () => [
    ["metadata", {}],
    ["lifecycle", { event: { startup: null } }],
  ],
};

class Host {
  constructor(dialect, config = {}) {
    this.dialect = dialect;
    this.config = config;
    this.lastId = 0;
    this.pending = new Map();
    this.streamed = [];
    this.notes = [];
    this.greeting = undefined;
  }

  /** Sends exactly this, greeted or not. */
  request(method, params) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, method });
      this.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    });
  }

  notify(method, params) {
    this.write(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  greet() {
    this.greeting ??= (async () => {
      for (const [method, params] of greetings[this.dialect]?.(this.config) ?? [])
        await this.request(method, params);
    })();
    return this.greeting;
  }

  async call(name, params = {}) {
    await this.greet();
    this.streamed = [];
    const own = protocol(this.dialect, name) || !carried[this.dialect] || !this.isCommand(name);
    return this.request(...(own ? [name, params] : carried[this.dialect](name, params)));
  }

  async say(text, who) {
    await this.greet();
    this.streamed = [];
    if (this.dialect === "gassist") return this.request("input", { content: text, timestamp: 0 });
    return this.request("handle", message(text, who));
  }

  async extract(source, options = {}) {
    await this.greet();
    const given =
      typeof source === "string"
        ? { type: "path", path: source }
        : { type: "bytes", data: Buffer.from(source).toString("base64") };
    return this.request("extractor.extract", { source: given, options });
  }

  async hook(name, context = {}) {
    await this.greet();
    if (this.dialect === "sunscreen-json")
      return this.request("sunscreen.hook/run", { command: name, kind: "hook" });
    return this.request("hook", { name, context: { workspace_root: process.cwd(), ...context } });
  }

  /** What the plugin says. */
  receive(text) {
    for (const item of [JSON.parse(text)].flat()) {
      if (item.method) this.note(item.method, item.params ?? {});
      else this.answered(item);
    }
  }

  answered({ id, result, error }) {
    const waiting = this.pending.get(id) ?? (error && this.pending.values().next().value);
    if (!waiting) return;
    // G-Assist answers by `complete`; a response is the acknowledgement, or an error.
    if (!error && this.dialect === "gassist" && ["execute", "input"].includes(waiting.method)) return;
    this.settle(id, waiting, result, error);
  }

  settle(id, { resolve, reject }, result, error) {
    this.pending.delete(id);
    if (error) reject(new PluginError(error.code, error.message, error.data));
    else resolve(result);
  }

  note(method, params) {
    const waiting = this.pending.get(params.request_id);
    if (method === "stream") this.streamed.push(params.data);
    else if (method === "complete" && waiting) {
      this.keepsSession = params.keep_session === true;
      this.settle(params.request_id, waiting, params.data);
    } else if (method === "error" && waiting) this.settle(params.request_id, waiting, undefined, params);
    else this.notes.push({ method, params });
  }

  /** The plugin is gone: nobody will answer. */
  lost(why) {
    for (const [id, waiting] of this.pending)
      this.settle(id, waiting, undefined, { code: -32603, message: why });
  }
}

class InsideHost extends Host {
  constructor(plugin, { dialect = meant(plugin)[0], config } = {}) {
    super(dialect, config);
    this.plugin = plugin;
    const output = {
      send: (text) => queueMicrotask(() => this.receive(text)),
      room: () => Promise.resolve(),
      finish: () => Promise.resolve(),
    };
    this.ended = new Promise((resolve) => {
      this.session = new Session(plugin, dialects[dialect], output, { exit: resolve });
    });
  }

  isCommand(name) {
    return !this.plugin.methods.has(name);
  }

  write(text) {
    this.session.receive(text);
  }

  async close() {
    this.session.inputEnd();
    return this.ended;
  }
}

class SpawnedHost extends Host {
  constructor(
    [file, ...args],
    { dialect = "plain", config, env, cwd, framing = dialects[dialect].framing ?? "lines" } = {},
  ) {
    super(dialect, config);
    this.write_ = framings[framing].write;
    this.stderr = "";
    this.process = spawnProcess(file, args, {
      cwd,
      env: { ...process.env, MORTISE_DIALECT: dialect, ...env },
    });
    this.process.stdin.on("error", () => {}); // its end is told below
    this.process.stderr.setEncoding("utf8").on("data", (text) => (this.stderr += text));
    const reader = new framings[framing].Reader(
      {
        text: (text) => this.receive(text),
        bad: (code, why) => this.lost(why),
        corrupt: (why) => this.lost(why),
      },
      2 ** 28,
    );
    this.process.stdout.on("data", (bytes) => reader.push(bytes));
    this.ended = once(this.process, "close").then(([status, signal]) => {
      this.lost(`the plugin ended: ${signal ?? status}: ${this.stderr.trim().split("\n").at(-1)}`);
      return status ?? signal;
    });
    this.ended.catch((error) => this.lost(error.message));
  }

  isCommand(name) {
    return !name.includes(".");
  }

  write(text) {
    this.process.stdin.write(this.write_(text));
  }

  async close() {
    this.process.stdin.end();
    return this.ended;
  }
}

export const runInside = (plugin, options) => new InsideHost(plugin, options);

export const spawn = (command, options) => new SpawnedHost(command, options);
