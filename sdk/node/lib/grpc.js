// SPDX-License-Identifier: Apache-2.0
// A plugin behind gRPC: Sunscreen's service, as a host that wants it asks for by the environment. A call of the
// host becomes a request of the session, as if it had come over stdin: one call at a time, onStart,
// cancellation. docs/design/0009-grpc.md has the contract.
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { sunscreen } from "./dialects/sunscreen.js";
import { BadMessage, messages, read, write } from "./protobuf.js";
import { Session } from "./session.js";
import { claim } from "./wire.js";

const SERVICE = "sunscreen.plugin.v1.Plugin";
const STREAM = "mortise.sunscreen.v1.Stream";
const VERSION = "1"; // of Sunscreen's protocol
const SERVING = 1;
const LIMIT = 256 << 20;
const GRACE = 2000; // ms for answers that are on their way when the plugin ends

// ---- whether, and where

/** The socket to listen on; "": one of our own, which the first line names. undefined: not over gRPC. */
export function wanted(plugin) {
  const { MORTISE_DIALECT: spoken, PLUGIN_PROTOCOL_VERSIONS: versions } = process.env;
  if (process.env.MORTISE_GRPC_SOCKET) return process.env.MORTISE_GRPC_SOCKET;
  // Every host of ours says which dialect it speaks: then the variable is one of somebody further up.
  if (versions === undefined || spoken !== undefined || !hasCommands(plugin)) return undefined;
  const declared = [plugin.options.dialect ?? []].flat();
  return declared.length && !declared.some((name) => name.startsWith("sunscreen")) ? undefined : "";
}

const hasCommands = (plugin) => plugin.commands.size + plugin.hooks.size > 0;

function refuse(plugin, text) {
  process.stderr.write(`${plugin.options.name}: ${text}\n`);
  process.exit(1);
}

/** grpc-js, which only those need who ask for it: the plugin's own, or one beside this library. */
function load(plugin) {
  for (const from of [path.resolve(process.argv[1] ?? "."), import.meta.url]) {
    try {
      return createRequire(from)("@grpc/grpc-js");
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  return refuse(plugin, "the host wants gRPC: npm install @grpc/grpc-js, or use the transport stdio");
}

// ---- the dialect: words as they were typed, and notes where the host takes them

function dialectOf(plugin, bridge) {
  const declared = [plugin.options.dialect ?? process.env.MORTISE_DIALECT].flat()[0];
  const note = (call, what, fields) => bridge.note(call.request, what, fields);
  const text = (data) => (typeof data === "string" ? data : JSON.stringify(data));
  const aloud = (line) => process.stderr.write(`${line}\n`);
  return {
    ...sunscreen,
    kind: declared === "sunscreen-json" ? "app" : "scaffold",
    methods: { run: sunscreen.typed, hook: sunscreen.methods.hook, shutdown },
    stream(session, call, data) {
      if (!note(call, "piece", { text: text(data) })) call.pieces += text(data);
    },
    progress(session, call, fraction, what) {
      const known = fraction >= 0 ? { fraction } : {};
      if (!note(call, "progress", { ...known, text: what })) aloud(`${Math.round(fraction * 100)}% ${what}`);
    },
    log(session, level, line, call) {
      if (!note(call, "log", { level, text: line })) aloud(`${level}: ${line}`);
    },
  };
}

const shutdown = {
  stops: true,
  async run(session) {
    await session.close();
    setImmediate(() => session.leave());
    return true;
  },
};

// ---- between the session and the calls

/** What the session sees as its wire. */
class Bridge {
  constructor() {
    this.pending = new Map(); // id -> { answer(result), note(what, fields) or undefined, room() }
    this.last = 0;
    this.workspace = "";
  }

  /** Asks the session. `on.answer({ ok, json_result })` comes once, unless the plugin ends. */
  ask(method, params, on) {
    const id = String(++this.last);
    this.pending.set(id, on);
    this.session.dispatch({ id, idValue: this.last, method, params, text: "", batch: undefined });
    return { cancel: () => this.session.cancel(id), forget: () => this.pending.delete(id) };
  }

  note({ id }, what, fields) {
    const on = this.pending.get(id);
    on?.note?.(what, fields);
    return on?.note !== undefined;
  }

  // As Session.answer() writes it. What it holds is passed on as it is: no digit of it changes.
  send(text) {
    const [head, id, member] = /^\{"jsonrpc":"2\.0","id":(\d+),"(result|error)":/.exec(text) ?? [];
    const on = this.pending.get(id);
    this.pending.delete(id);
    on?.answer({ ok: member === "result", json_result: text.slice(head.length, -1) });
  }

  room() {
    return Promise.all([...this.pending.values()].map((on) => on.room?.()));
  }

  async finish() {
    await this.close?.();
  }
}

// ---- the services

class Services {
  constructor(grpc, plugin, bridge) {
    this.status = grpc.status;
    this.plugin = plugin;
    this.bridge = bridge;
  }

  initialize({ workspace_root: root = "" }) {
    this.bridge.workspace = root;
    return { protocol_version: VERSION };
  }

  capabilities() {
    const { kind } = this.bridge.session.dialect;
    const commands = [...this.plugin.commands.values()].map((entry) => ({
      kind: entry.kind ?? kind,
      name: entry.name,
      summary: entry.description ?? "",
    }));
    return { commands, hooks: [...this.plugin.hooks.keys()], extensions: [STREAM] };
  }

  runParams({ kind = "", name: command = "", args = [] }) {
    return { kind, command, args, workspace: this.bridge.workspace };
  }

  runCommand(asked, call) {
    return this.result(call, "run", this.runParams(asked));
  }

  runHook({ hook: name = "", json_context: json = "" }, call) {
    let context;
    try {
      context = JSON.parse(json || "{}");
    } catch (error) {
      throw this.problem("INVALID_ARGUMENT", `json_context is not JSON: ${error.message}`);
    }
    if (typeof context === "object" && context !== null && !Array.isArray(context))
      context = { workspace_root: this.bridge.workspace, ...context };
    return this.result(call, "hook", { name, context });
  }

  async shutdown(asked, call) {
    await this.result(call, "shutdown", {});
    return { ok: true };
  }

  health({ service = "" }) {
    if (!["", "plugin", SERVICE].includes(service))
      throw this.problem("NOT_FOUND", `there is no service ${service}`);
    return { status: SERVING };
  }

  problem(name, details) {
    return Object.assign(new Error(details), { code: this.status[name], details });
  }

  /** One call of the session. The end of the gRPC call before its answer cancels it there. */
  result(call, method, params) {
    return new Promise((resolve) => {
      const asked = this.bridge.ask(method, params, { answer: resolve });
      call.on("cancelled", asked.cancel);
    });
  }

  parse(table, data) {
    try {
      return read(table, data);
    } catch (error) {
      if (!(error instanceof BadMessage)) throw error;
      throw this.problem("INVALID_ARGUMENT", `not such a message: ${error.message}`);
    }
  }

  // ---- the stream

  stream(call) {
    let asked;
    call.on("data", (data) => {
      try {
        const message = this.parse(messages.fromHost, data);
        if (asked && message.cancel) asked.cancel();
        else asked ??= this.begin(call, message);
      } catch (error) {
        asked?.cancel();
        call.emit("error", error);
      }
    });
    call.on("end", () => {
      if (!asked) call.emit("error", this.problem("INVALID_ARGUMENT", "the first message must be `run`"));
    });
    call.on("cancelled", () => asked?.cancel());
    call.on("error", () => {}); // it has ended
  }

  begin(call, { run }) {
    if (!run) throw this.problem("INVALID_ARGUMENT", "the first message must be `run`");
    let room; // while the host does not read
    const send = (message) => {
      if (call.cancelled || call.write(write(messages.fromPlugin, message)) || room) return;
      room = new Promise((resolve) => {
        for (const event of ["drain", "close", "cancelled"]) call.once(event, resolve);
      }).then(() => (room = undefined));
    };
    return this.bridge.ask("run", this.runParams(run), {
      note: (what, fields) => send({ [what]: fields }),
      room: () => room,
      answer: (result) => {
        send({ result });
        call.end();
      },
    });
  }

  // ---- the table

  unary(name, work, takes, gives) {
    const handler = async (call, done) => {
      try {
        const asked = this.parse(messages[takes], call.request);
        done(null, write(messages[gives], await work.call(this, asked, call)));
      } catch (error) {
        done(error);
      }
    };
    return [name, handler, false];
  }

  all() {
    return {
      [SERVICE]: [
        this.unary("Initialize", this.initialize, "initialize", "initialized"),
        this.unary("Capabilities", this.capabilities, "nothing", "capabilities"),
        this.unary("RunCommand", this.runCommand, "run", "result"),
        this.unary("RunHook", this.runHook, "hook", "result"),
        this.unary("Shutdown", this.shutdown, "nothing", "shutdown"),
      ],
      [STREAM]: [["RunCommandStream", (call) => this.stream(call), true]],
      "grpc.health.v1.Health": [this.unary("Check", this.health, "health", "healthy")],
      "plugin.GRPCController": [this.unary("Shutdown", this.shutdown, "nothing", "nothing")],
    };
  }
}

const same = (bytes) => bytes;

/** Messages are bytes for grpc-js: what cannot be read is answered in our words. */
function register(server, services) {
  for (const [service, rows] of Object.entries(services)) {
    const definition = {};
    const handlers = {};
    for (const [name, handler, both] of rows) {
      definition[name] = {
        path: `/${service}/${name}`,
        requestStream: both,
        responseStream: both,
        requestSerialize: same,
        requestDeserialize: same,
        responseSerialize: same,
        responseDeserialize: same,
      };
      handlers[name] = handler;
    }
    server.addService(definition, handlers);
  }
}

// ---- run

/** The line that HashiCorp's hosts wait for. */
function handshake(file) {
  const versions = process.env.PLUGIN_PROTOCOL_VERSIONS.split(",").filter((word) => /^\d+$/.test(word));
  return `1|${Math.max(1, ...versions.map(Number))}|unix|${file}|grpc\n`;
}

/** Answers that are on their way still leave; the socket of our own goes. */
function closer(server, folder) {
  return async () => {
    let timer;
    const limit = new Promise((resolve) => (timer = setTimeout(resolve, GRACE)));
    await Promise.race([new Promise((resolve) => server.tryShutdown(resolve)), limit]);
    clearTimeout(timer);
    if (folder) fs.rmSync(folder, { recursive: true, force: true });
  };
}

/** Serves until the host says Shutdown, or SIGTERM comes. */
export function serveGrpc(plugin, given) {
  if (!hasCommands(plugin))
    refuse(plugin, "the host wants gRPC, which is only for commands and hooks (sunscreen)");
  const { output } = claim();
  const grpc = load(plugin);
  const bridge = new Bridge();
  const exit = (status) => process.exit(status);
  bridge.session = new Session(plugin, dialectOf(plugin, bridge), bridge, { exit });
  const sizes = { "grpc.max_receive_message_length": LIMIT, "grpc.max_send_message_length": -1 };
  const server = new grpc.Server(sizes);
  register(server, new Services(grpc, plugin, bridge).all());
  const folder = given ? "" : fs.mkdtempSync(path.join(os.tmpdir(), "tenon-"));
  const file = given || path.join(folder, "grpc");
  bridge.close = closer(server, folder);
  process.on("SIGTERM", () => bridge.session.stop());
  server.bindAsync(`unix:${file}`, grpc.ServerCredentials.createInsecure(), (error) => {
    if (error) refuse(plugin, `cannot listen on ${file}: ${error.message}`);
    if (folder) fs.writeSync(output.fd, handshake(file));
  });
}
