// SPDX-License-Identifier: Apache-2.0
// JSON-RPC and the life of a plugin, the same for all dialects. A dialect is a table (lib/dialects): for each
// method a row { run(session, request), now, stops }.
//   now    answered at once, also while the author's code runs
//   stops  the end: what was asked before is finished first, or cancelled
// run() gives the result or a promise of it; NOTHING where the answer goes another way. What it throws becomes
// the error. The author's code runs one call at a time, in order; the rest waits in a queue.
import { Call } from "./call.js";
import { code, PluginError } from "./errors.js";
import { rawElements, rawId, stringify } from "./json.js";
import { isTalk, Talk } from "./talk.js";

export const NOTHING = Symbol("nothing");
const CANCEL = "$/cancelRequest";
const PATIENCE = 20; // ms that a call may last before a stop is said to it
const GRACE = 2000; // ms that a cancelled call has

const isPromise = (value) => typeof value?.then === "function";

/** Waits for work, but not for ever. */
function within(ms, work) {
  let timer;
  const limit = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}

export class Session {
  /** output: send(text, now), room(), finish(). on.exit(status): the process may end. */
  constructor(plugin, dialect, output, on) {
    this.plugin = plugin;
    this.dialect = dialect;
    this.output = output;
    this.on = on;
    this.queue = [];
    this.current = undefined; // the request whose code runs
    this.since = 0;
    this.idle = undefined; // resolves when nothing runs
    this.started = false;
    this.stopping = false;
    this.inputEnded = false;
    this.talks = new Map();
    dialect.open?.(this);
  }

  // ---- messages in

  receive(text) {
    let message;
    try {
      message = JSON.parse(text);
    } catch (error) {
      this.refuse(code.parse, `Parse error: ${error.message}`);
      return;
    }
    if (Array.isArray(message)) this.receiveBatch(text, message);
    else this.receiveOne(message, text, undefined);
  }

  /** A message without an id of its own to answer to. */
  refuse(number, message, batch) {
    this.answer({ id: "null", batch }, "error", { code: number, message });
  }

  receiveBatch(text, list) {
    if (!list.length) {
      this.refuse(code.request, "Invalid Request: an empty batch");
      return;
    }
    const batch = { open: 1, answers: [] };
    rawElements(text).forEach((raw, i) => this.receiveOne(list[i], raw, batch));
    this.closeBatch(batch);
  }

  closeBatch(batch) {
    if (--batch.open || !batch.answers.length) return;
    this.output.send(`[${batch.answers.filter(Boolean).join(",")}]`);
  }

  receiveOne(message, text, batch) {
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      this.refuse(code.request, "Invalid Request: an object is expected", this.place(batch));
      return;
    }
    const { method, id } = message;
    if (method === undefined && ("result" in message || "error" in message)) return; // nobody asked
    const raw = id === undefined ? undefined : rawId(text, id);
    const request = { id: raw, idValue: id, method, params: message.params ?? {}, text, batch: undefined };
    if (raw !== undefined || typeof method !== "string") request.batch = this.place(batch);
    if (typeof method !== "string") {
      request.id ??= "null";
      this.fail(request, new PluginError(code.request, "Invalid Request: method: a string is expected"));
    } else if (typeof request.params !== "object")
      this.fail(request, new PluginError(code.params, "params: an object or an array is expected"));
    else this.dispatch(request);
  }

  /** Answers of a batch keep the order of its requests. */
  place(batch) {
    if (!batch) return undefined;
    batch.open++;
    return { batch, at: batch.answers.push("") - 1 };
  }

  // ---- messages out

  answer(request, member, value) {
    if (request.id === undefined) return;
    let body;
    try {
      body = stringify(value);
    } catch (error) {
      member = "error"; // nested too deep, or a circle
      body = stringify({ code: code.internal, message: `the result cannot be sent: ${error.message}` });
    }
    const text = `{"jsonrpc":"2.0","id":${request.id},"${member}":${body}}`;
    const { batch: place } = request;
    if (!place) {
      this.output.send(text);
      return;
    }
    place.batch.answers[place.at] = text;
    this.closeBatch(place.batch);
  }

  /** Notifications of streams show up at once, also before code that blocks. */
  notify(method, params) {
    this.output.send(`{"jsonrpc":"2.0","method":"${method}","params":${stringify(params)}}`, true);
  }

  fail(request, error, own) {
    const known = error instanceof PluginError;
    if (!known) console.error(error);
    const number = known ? error.code : (own ?? this.dialect.failure ?? code.internal);
    const body = { code: number, message: String(error?.message ?? error) };
    if (error?.data !== undefined) body.data = error.data;
    this.answer(request, "error", body);
  }

  // ---- the queue

  /** The author's own method goes before the library's of that name. */
  row(request) {
    const { methods, own } = this.dialect;
    const ours = Object.hasOwn(methods, request.method) && !this.plugin.methods.has(request.method);
    const row = ours ? methods[request.method] : own;
    return typeof row === "function" ? row(request) : row; // what it is, its params say
  }

  dispatch(request) {
    if (request.method === CANCEL) {
      this.cancel(stringify(request.params.id));
      return;
    }
    const row = this.row(request);
    if (row.now) this.perform(request, row);
    else this.enqueue(request, row);
  }

  enqueue(request, row) {
    if (this.stopping) this.fail(request, new PluginError(code.internal, "the plugin is stopping"));
    else if (this.current || this.queue.length) {
      this.queue.push([request, row]);
      if (row.stops) this.hurry();
    } else this.begin(request, row);
  }

  begin(request, row) {
    this.current = request;
    this.since = Date.now();
    const working = this.perform(request, row);
    if (isPromise(working)) working.then(() => this.ended());
    else this.ended();
  }

  /** Runs a row and sends its answer; gives a promise if that takes time. */
  perform(request, row) {
    let value;
    try {
      value = row.run(this, request);
    } catch (error) {
      this.failed(request, error);
      return undefined;
    }
    if (!isPromise(value)) {
      this.succeeded(request, value);
      return undefined;
    }
    return value.then(
      (result) => this.succeeded(request, result),
      (error) => this.failed(request, error),
    );
  }

  succeeded(request, value) {
    if (value !== NOTHING) this.answer(request, "result", value);
    else if (request.batch) this.closeBatch(request.batch.batch);
  }

  failed(request, error) {
    this.fail(request, error, request.failure);
  }

  /** The loop, not recursion: thousands of short calls may wait. */
  ended() {
    this.current = undefined;
    if (this.draining) return;
    this.draining = true;
    while (!this.current && this.queue.length && !this.stopping) this.begin(...this.queue.shift());
    this.draining = false;
    if (this.current) return;
    this.idle?.();
    this.idle = undefined;
    if (this.inputEnded && !this.stopping) this.stop();
  }

  // ---- the author's code

  /** Runs a function with its call; a generator is led to its first question. */
  run(call, entry, ...args) {
    const { request } = call;
    request.call = call;
    const value = entry(...args, call);
    return isTalk(value) ? this.converse(new Talk(value, call)) : value;
  }

  /** Resolves to what the dialect makes of a question, or to the function's own result. */
  async converse(talk, answer) {
    const step = await talk.go(answer);
    if (step !== talk) return step.value;
    if (this.dialect.ask) return step;
    await talk.end();
    throw new PluginError(
      code.internal,
      `${this.dialect.name} has no conversations: nobody can answer the question`,
    );
  }

  newCall(request) {
    const call = new Call(this, request);
    if (request.cancelled) call.cancel();
    return call;
  }

  /** Starts the plugin if nothing has; gives what onStart gives, or a promise of it. */
  start(config = {}) {
    if (this.started) return undefined;
    const working = this.plugin.starter?.(config);
    const done = (applied) => {
      this.started = true;
      return applied;
    };
    return isPromise(working) ? working.then(done) : done(working);
  }

  /** Starts the plugin where its dialect has no message for that, then goes on. */
  whenStarted(work) {
    const starting = this.start();
    return isPromise(starting) ? starting.then(work) : work();
  }

  // ---- the end

  /** The host does not want the answer of one call any more, which runs or waits; the plugin goes on. */
  cancel(id) {
    const waiting = this.queue.map(([request]) => request);
    const found = [this.current, ...waiting].find((request) => request?.id === id);
    if (!found) return;
    found.cancelled = true;
    found.call?.cancel();
  }

  /** A stop waits in the queue: what is before it may finish, unless it takes long. */
  hurry() {
    const check = () => {
      const waiting = this.queue.some(([, row]) => row.stops);
      if (!waiting || this.stopping) return;
      if (Date.now() - this.since >= PATIENCE) this.interrupt();
      else setTimeout(check, PATIENCE);
    };
    setTimeout(check, PATIENCE);
  }

  /** Tells the running call, and refuses those before the stop. */
  interrupt() {
    const at = this.queue.findIndex(([, row]) => row.stops);
    for (const [request] of this.queue.splice(0, Math.max(at, 0)))
      this.fail(request, new PluginError(code.internal, "the plugin is stopping"));
    this.current?.call?.cancel();
    setTimeout(() => this.abandon(), GRACE).unref();
  }

  /** A call that does not end: the process ends without on_stop, which could meet its half-done work. */
  abandon() {
    if (!this.current || !this.queue.length) return;
    this.leave();
  }

  /** Ends conversations, then on_stop. Once per start. */
  async close() {
    for (const talk of this.talks.values()) await talk.end();
    this.talks.clear();
    if (!this.started) return;
    this.started = false;
    try {
      await this.plugin.stopper?.();
    } catch (error) {
      console.error(error);
    }
  }

  /** The end of everything, as SIGTERM, the end of stdin and a host that is gone want it. */
  async stop() {
    if (this.stopping) return;
    this.stopping = true;
    this.queue = [];
    if (this.current) {
      this.current.call?.cancel();
      this.current.talk?.call.cancel();
      await within(GRACE, new Promise((resolve) => (this.idle = resolve)));
    }
    if (!this.current) await within(GRACE, this.close());
    this.leave();
  }

  async leave() {
    this.stopping = true;
    await within(GRACE, this.output.finish());
    this.on.exit(0);
  }

  /** The end of stdin. What was asked is still answered, while somebody reads. */
  inputEnd() {
    this.inputEnded = true;
    if (!this.current && !this.queue.length) this.stop();
    else this.dialect.inputEnd?.(this);
  }
}
