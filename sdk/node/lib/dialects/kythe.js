// SPDX-License-Identifier: Apache-2.0
// kythe: the plugin is the client. It says init, asks for a record with analyze, writes what it finds to the
// driver's file, says done and asks again, until the driver closes its input.
import { Call } from "../call.js";
import { Output as Entries, readVName } from "../entries.js";
import { MIB } from "./common.js";

const diagnostic = (message, { path, line, column } = {}) => ({
  message,
  ...(path ? { contextUrl: path } : {}), // a Diagnostic has no other place for it
  ...(line ? { span: { start: { lineNumber: line, ...(column ? { columnOffset: column - 1 } : {}) } } } : {}),
});

/** The call of an analysis: what every call has, and the graph. */
class Analysis extends Call {
  #session;
  #entries;
  #names = new Map();

  constructor(session, request, unit) {
    super(session, request);
    this.#session = session;
    this.unit = unit;
    this.#entries = new Entries(unit.output, session.encoding);
  }

  /** The VName that entries must use for a path of the record; asked once per analysis. */
  vname(path, signature = "") {
    const key = JSON.stringify([path, signature]);
    if (!this.#names.has(key)) this.#names.set(key, this.#ask(path, signature));
    return this.#names.get(key);
  }

  async #ask(path, signature) {
    const result = await this.#session.request("vname", { path, signature });
    if (result === undefined) throw new Error("vname: the driver is gone");
    return readVName(result.vname ?? result);
  }

  fact(source, name, value = "") {
    this.#entries.entry({ source, name, value });
  }

  edge(source, kind, target) {
    this.#entries.entry({ source, kind, target, name: "/", value: "" });
  }

  record(bytes) {
    this.#entries.record(bytes);
  }

  diagnostic(text, place) {
    this.#session.notify("log", { message: diagnostic(text, place) });
  }

  close() {
    this.#entries.close();
  }
}

function readUnit(reply) {
  const { environment = {} } = reply;
  return {
    workingDir: reply.workingDir ?? "",
    inputs: reply.inputs ?? (reply.input === undefined ? [] : [reply.input]),
    arguments: reply.arguments ?? [],
    environment: Array.isArray(environment)
      ? Object.fromEntries(environment.map(({ name = "", value = "" }) => [name, value]))
      : (environment ?? {}),
    output: reply.output,
    entryContext: reply.entryContext ?? "",
    outputKey: reply.outputKey ?? "",
    details: reply.details ?? [],
  };
}

/** One conversation with the driver. It has what Call wants of a session. */
export class Analyzer {
  constructor(plugin, dialect, output, on) {
    this.plugin = plugin;
    this.dialect = dialect;
    this.encoding = plugin.options.encoding ?? "protobuf";
    this.output = output;
    this.on = on;
    this.lastId = 0;
    this.pending = new Map();
    this.over = false;
    this.current = undefined;
  }

  request(method, params) {
    if (this.over) return Promise.resolve(undefined);
    const id = ++this.lastId;
    this.output.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }), true);
    return new Promise((resolve, reject) => this.pending.set(id, { resolve, reject, method }));
  }

  notify(method, params, now = true) {
    this.output.send(JSON.stringify({ jsonrpc: "2.0", method, params }), now);
  }

  receive(text) {
    let answer;
    try {
      answer = JSON.parse(text);
    } catch (error) {
      this.stop(`the driver sent no JSON: ${error.message}`);
      return;
    }
    const waiting = this.pending.get(answer?.id);
    if (answer?.error) {
      const { message, code } = answer.error;
      const failed = waiting ?? this.pending.values().next().value;
      failed?.reject(new Error(`${failed.method}: ${message} (${code})`));
    } else waiting?.resolve(answer.result ?? {});
    if (waiting) this.pending.delete(answer.id);
  }

  /** The driver has closed our input: no more work. The running analysis is told and has two seconds. */
  inputEnd() {
    this.over = true;
    for (const { resolve } of this.pending.values()) resolve(undefined);
    this.pending.clear();
    this.current?.cancel();
    setTimeout(() => this.leave(0), 2000).unref();
  }

  stop(why) {
    if (why) console.error(`${this.plugin.options.name}: ${why}`);
    this.status = why ? 1 : 0;
    this.inputEnd();
  }

  async leave(status) {
    if (this.left) return;
    this.left = true;
    await this.output.finish();
    this.on.exit(this.status || status);
  }

  async main() {
    try {
      const hello = await this.request("init", { protocol: "kythe1", outputEncoding: this.encoding });
      if (hello && hello.protocol !== "kythe1")
        throw new Error(`the driver speaks ${JSON.stringify(hello.protocol)}`);
      if (hello) await this.plugin.starter?.({});
      while (!this.over && (await this.analyzeOne()));
      if (hello) await this.plugin.stopper?.();
    } catch (error) {
      console.error(error);
      this.status = 1; // without `done`: the driver counts the analysis as failed
    }
    await this.leave(0);
  }

  async analyzeOne() {
    const types = this.plugin.analyses.map(({ type }) => type);
    const reply = await this.request("analyze", { types });
    if (reply === undefined) return false;
    const unit = readUnit(reply);
    const call = new Analysis(this, { method: "analyze", params: reply }, unit);
    this.current = call;
    if (unit.workingDir) process.chdir(unit.workingDir);
    try {
      for (const { fn } of this.plugin.analyses) await fn(unit, call);
    } finally {
      call.close(); // every byte is in the file before `done` says so
      process.chdir("/"); // nothing of the unit's view may be held once it is taken away
      this.current = undefined;
    }
    // In one breath with the next analyze: the driver then replaces one view by the other.
    this.notify("done", undefined, false);
    return true;
  }
}

const dialect = {
  name: "kythe",
  framing: "decimal",
  limit: 256 * MIB,
  log: (session, level, message) => session.notify("log", { message }),
  progress: (session, call, fraction, text) =>
    process.stderr.write(`${Math.round(fraction * 100)}% ${text}\n`),
  stream: (session, call, data) => process.stderr.write(`${data}\n`),
};

export default dialect;
