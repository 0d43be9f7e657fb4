// SPDX-License-Identifier: Apache-2.0
// What each dialect adds, as docs/dialects says it.
import assert from "node:assert/strict";
import test from "node:test";
import { talk } from "./raw.mjs";
import { Done, Extraction, Plugin, PluginError, Reply } from "../../../sdk/node/index.js";

const about = { name: "sample", version: "1.0.0", description: "For tests", author: "Ada" };
const request = (id, method, params) => ({ jsonrpc: "2.0", id, method, params });
const note = (method, params) => ({ jsonrpc: "2.0", method, params });
const result = (id, value) => ({ jsonrpc: "2.0", id, result: value });
const failure = (id, code, message, more) => ({ jsonrpc: "2.0", id, error: { code, message, ...more } });

/** The messages of a plugin, read. */
async function said(plugin, dialect, ...lines) {
  return (await talk(plugin, dialect, lines)).map((text) => JSON.parse(text));
}

// ---- yams

function reader() {
  const plugin = new Plugin(about);
  plugin.extractor({ formats: ["text/x-upper"], extensions: [".up", "upp"] }, async (source, call) => {
    if (call.options.fail) throw new Error("cannot read");
    if (call.options.code) throw new PluginError(-32001, "Unsupported format", { recoverable: false });
    call.stream("# ");
    const text = (await source.text()).toUpperCase();
    return call.options.more ? new Extraction(text, { length: text.length }) : text;
  });
  plugin.method("sample.count", { n: "integer" }, ({ n }) => n + 1);
  return plugin;
}

test("yams: handshake", async () => {
  const interfaces = ["content_extractor_v1"];
  const capabilities = { content_extraction: { formats: ["text/x-upper"], extensions: [".up", "upp"] } };
  assert.deepEqual(await said(reader(), "yams", request(1, "handshake.manifest")), [
    result(1, { ...about, interfaces, capabilities }),
  ]);
});

test("yams: not initialized, but only where it matters", async () => {
  const answers = await said(
    reader(),
    "yams",
    request(1, "plugin.health"),
    request(2, "extractor.supports", { mime_type: "text/x-upper", extension: "" }),
    request(3, "sample.count", { n: 1 }),
    request(4, "nope"),
    request(5, "plugin.shutdown"),
  );
  assert.deepEqual(answers, [
    result(1, { status: "ok" }),
    failure(2, -32003, "Not initialized"),
    failure(3, -32003, "Not initialized"),
    failure(4, -32601, "Method not found: nope"),
    result(5, null),
  ]);
});

const init = (params) => request(0, "plugin.init", params);

test("yams: the configuration, wrapped or not", async () => {
  for (const [params, config] of [
    [{ config: { a: 1 }, a: 1 }, { a: 1 }],
    [{ a: 1 }, { a: 1 }],
    [undefined, {}],
  ]) {
    const plugin = reader();
    let got;
    plugin.onStart((given) => {
      got = given;
    });
    await said(plugin, "yams", init(params));
    assert.deepEqual(got, config);
  }
});

test("yams: an error of onStart is the answer to init", async () => {
  const plugin = reader().onStart(() => {
    throw new PluginError(-32603, "Ghidra is missing", { env_var: "GHIDRA" });
  });
  const answers = await said(plugin, "yams", init({}), request(1, "sample.count", { n: 1 }));
  assert.deepEqual(answers[0], failure(0, -32603, "Ghidra is missing", { data: { env_var: "GHIDRA" } }));
  assert.deepEqual(answers[1], failure(1, -32003, "Not initialized"));
});

test("yams: the author's own method goes before the library's", async () => {
  const plugin = reader().method("plugin.health", () => ({ status: "degraded" }));
  plugin.method("extractor.supports", () => ({ supported: true, confidence: 0.5 }));
  const supports = (id) => request(id, "extractor.supports", { extension: ".x" });
  assert.deepEqual(
    await said(plugin, "yams", request(1, "plugin.health"), supports(2), init(), supports(3)),
    [
      result(1, { status: "degraded" }),
      failure(2, -32003, "Not initialized"),
      result(0, { status: "initialized", config_applied: {} }),
      result(3, { supported: true, confidence: 0.5 }),
    ],
  );
});

test("yams: supports", async () => {
  const ask = async (params) =>
    (await said(reader(), "yams", init(), request(1, "extractor.supports", params)))[1];
  assert.deepEqual((await ask({ mime_type: "text/X-upper", extension: "" })).result, {
    supported: true,
    confidence: 1,
  });
  assert.equal((await ask({ extension: "UPP" })).result.supported, true);
  assert.equal((await ask({ mime_type: "text/plain", extension: ".txt" })).result.supported, false);
  assert.equal((await ask({})).error.code, -32602);
});

test("yams: extract", async () => {
  const data = Buffer.from("héllo").toString("base64");
  const extract = async (source, options) =>
    (await said(reader(), "yams", init(), request(1, "extractor.extract", { source, options })))[1];
  const content = "# HÉLLO";
  const bytes = { type: "bytes", data };
  assert.deepEqual((await extract(bytes)).result, {
    success: true,
    content,
    text: content,
    metadata: {},
    error: null,
  });
  assert.deepEqual((await extract(bytes, { more: true })).result.metadata, { length: 5 });
  assert.match((await extract({ type: "path", path: process.argv[1] })).result.content, /YAMS: EXTRACT/);
  assert.deepEqual((await extract(bytes, { fail: true })).error, { code: -32000, message: "cannot read" });
  assert.equal((await extract(bytes, { code: true })).error.code, -32001);
  assert.equal((await extract({ type: "path", path: "/nonexistent" })).error.code, -32000);
  for (const [source, message] of [
    [undefined, "source: is missing"],
    [{ type: "path" }, "source.path: is missing"],
    [{ type: "bytes", data: 1 }, "source.data: a string is expected"],
    [{ type: "hash" }, 'source.type: one of "path", "bytes" is expected, not "hash"'],
  ])
    assert.deepEqual((await extract(source)).error, { code: -32602, message });
});

// ---- gassist

function helper() {
  const plugin = new Plugin(about);
  plugin.command("count", "Counts", { to: "integer" }, ({ to }, call) => {
    for (let i = 1; i <= to; i++) call.stream(i);
    call.progress(0.5, "half");
    call.log("warning", "careful");
    return { counted: to };
  });
  plugin.command("fail", (args, call) => {
    if (call.context.length) throw new PluginError(-3, "Rate limited");
    throw new Error("no luck");
  });
  plugin.command("info", (args, call) => call.system_info);
  plugin.command("trip", async function* () {
    const where = yield "Where to?";
    const when = yield { when: where };
    return `${where}, ${when}`;
  });
  return plugin;
}

const execute = (id, name, args, more) =>
  request(id, "execute", { function: name, arguments: args, ...more });
const complete = (id, data, keep = false) =>
  note("complete", { request_id: id, success: true, data, keep_session: keep });

test("gassist: initialize and ping", async () => {
  const [hello, ...rest] = await said(
    helper(),
    "gassist",
    request(1, "initialize", { protocol_version: "2.0" }),
    request(2, "ping", { timestamp: 1234567890 }),
    note("ping", {}),
  );
  const { author, ...shown } = about;
  assert.equal(author, "Ada");
  const commands = ["count", "fail", "info", "trip"].map((name) => ({
    name,
    description: name === "count" ? "Counts" : "",
  }));
  const more = { protocol_version: "2.0", capabilities: ["streaming", "passthrough"], commands };
  // The ping is answered while onStart may still run.
  assert.deepEqual(hello, result(2, { timestamp: 1234567890 }));
  assert.deepEqual(rest, [result(1, { ...shown, ...more })]);
});

test("gassist: pieces, log, the end", async () => {
  const id = '"a-7"';
  const line = `{"jsonrpc":"2.0","id":${id},"method":"execute","params":{"function":"count","arguments":{"to":2}}}`;
  const answers = await talk(helper(), "gassist", [line]);
  assert.deepEqual(answers, [
    `{"jsonrpc":"2.0","method":"stream","params":{"request_id":${id},"data":1}}`,
    `{"jsonrpc":"2.0","method":"stream","params":{"request_id":${id},"data":2}}`,
    '{"jsonrpc":"2.0","method":"log","params":{"level":"info","message":"50% half"}}',
    '{"jsonrpc":"2.0","method":"log","params":{"level":"warning","message":"careful"}}',
    `{"jsonrpc":"2.0","method":"complete","params":{"request_id":${id},"success":true,"data":{"counted":2},"keep_session":false}}`,
  ]);
});

test("gassist: errors", async () => {
  const answers = await said(
    helper(),
    "gassist",
    execute(1, "nope"),
    execute(2, "count", { to: "x" }),
    execute(3, "count", [1]),
    request(4, "execute", {}),
    request(5, "nope"),
  );
  assert.deepEqual(
    answers.map(({ id, error }) => [id, error.code]),
    [
      [1, -32601],
      [2, -32602],
      [3, -32602],
      [4, -32602],
      [5, -32601],
    ],
  );
  const told = await said(helper(), "gassist", execute(1, "fail"), execute(2, "fail", {}, { context: [{}] }));
  assert.deepEqual(told, [
    note("error", { request_id: 1, code: -1, message: "no luck" }),
    note("error", { request_id: 2, code: -3, message: "Rate limited" }),
  ]);
});

test("gassist: a conversation", async () => {
  const input = (id, content) => request(id, "input", { content, timestamp: 1 });
  const ack = (id) => result(id, { acknowledged: true });
  const turns = [];
  const plugin = helper();
  for (const lines of [
    [execute(1, "trip")],
    [execute(1, "trip"), input(2, "Rome")],
    [execute(1, "trip"), input(2, "Rome"), input(3, "May")],
  ])
    turns.push(await said(plugin, "gassist", ...lines));
  assert.deepEqual(turns[0], [complete(1, "Where to?", true)]);
  assert.deepEqual(turns[1], [ack(2), complete(1, "Where to?", true), complete(2, { when: "Rome" }, true)]);
  assert.deepEqual(turns[2].at(-1), complete(3, "Rome, May"));
  const [first, alone] = await said(plugin, "gassist", input(1, "Hello?"));
  assert.deepEqual([first, alone.method, alone.params.code], [ack(1), "error", -1]);
});

test("gassist: a new function ends the conversation", async () => {
  const answers = await said(
    helper(),
    "gassist",
    execute(1, "trip"),
    execute(2, "info", {}, { system_info: "RTX" }),
    request(3, "input", { content: "Rome" }),
  );
  assert.deepEqual(answers[1], complete(1, "Where to?", true));
  assert.deepEqual(answers[2], complete(2, "RTX"));
  assert.equal(answers[3].params.message, "nobody has asked: there is no conversation");
});

// ---- ayiou

function chatter() {
  const plugin = new Plugin(about);
  const fields = { dice: { type: "integer", default: 1 }, why: { type: "string", default: "fun" } };
  plugin.command(
    { name: "roll", description: "Rolls", aliases: ["r", "骰"] },
    fields,
    ({ dice, why }, call) => {
      call.stream("Rolling: ");
      return `${dice} for ${why}`;
    },
  );
  plugin.command("send", (args, { message }) => {
    const target_id = message.user_id;
    return new Reply(null, { actions: [{ type: "send", target_type: "private", target_id, message: "hi" }] });
  });
  plugin.command("trip", async function* () {
    return `${yield "Where to?"}!`;
  });
  plugin.command("raw", ({ text, words }) => ({ reply: `${text}|${words.join("|")}`, block: false }));
  plugin.handler(/\bhello\b/i, (message) => `Hello ${message.user_id}`);
  plugin.handler("quiet", () => undefined);
  plugin.handler(
    (message) => message.group_id === 5,
    () => "five",
  );
  return plugin;
}

const message = (text, more) => ({ text, raw_message: text, message_type: "private", user_id: 7, ...more });
const handled = (reply, more) => ({ handled: true, block: true, reply, actions: [], ...more });

test("ayiou: metadata", async () => {
  const [{ result: hello }] = await said(chatter(), "ayiou", request(1, "metadata", {}));
  const { name, description, version, author, commands } = hello;
  assert.deepEqual({ name, version, description, author }, about);
  assert.deepEqual(commands[0], { name: "roll", description: "Rolls", aliases: ["r", "骰"] });
});

test("ayiou: matches", async () => {
  const ask = async (text, more) =>
    (await said(chatter(), "ayiou", request(1, "matches", message(text, more))))[0].result.matches;
  for (const text of ["/roll", " /骰 3", "oh Hello you", "be quiet"])
    assert.equal(await ask(text), true, text);
  for (const text of ["/rolls", "roll", "othello", "/nope"]) assert.equal(await ask(text), false, text);
  assert.equal(await ask("x", { group_id: 5 }), true);
  assert.equal(await ask("x", { group_id: null }), false);
});

test("ayiou: handle", async () => {
  const ask = async (text, more) => {
    const [answer] = await said(chatter(), "ayiou", request(1, "handle", message(text, more)));
    return answer.result ?? answer.error;
  };
  assert.deepEqual(await ask("/roll"), handled("Rolling: 1 for fun"));
  assert.deepEqual(await ask('/r 3 "a  good" reason '), handled('Rolling: 3 for "a  good" reason'));
  assert.deepEqual(await ask('/r 3 "a  good reason"'), handled("Rolling: 3 for a  good reason"));
  assert.equal((await ask("/roll x")).message, 'dice: an integer is expected, not "x"');
  assert.deepEqual(await ask("hello"), handled("Hello 7"));
  const nothing = { handled: false, block: false, reply: null, actions: [] };
  assert.deepEqual(await ask("quiet"), nothing);
  assert.deepEqual(await ask("something else"), nothing);
  assert.deepEqual(await ask("x", { group_id: 5 }), handled("five"));
  assert.deepEqual(await ask("/raw a 'b c'"), handled("a 'b c'|a|b c", { block: false }));
  assert.equal((await ask(7)).code, -32602);
});

test("ayiou: a number of 64 bits goes there and back", async () => {
  const big = "9223372036854775807";
  const line = `{"id":1,"method":"handle","params":{"text":"/send","message_type":"private","user_id":${big}}}`;
  const [answer] = await talk(chatter(), "ayiou", [line]);
  assert.match(answer, new RegExp(`"target_id":${big},`));
});

test("ayiou: a conversation belongs to a user in a place", async () => {
  const handle = (id, text, more) => request(id, "handle", message(text, more));
  const answers = await said(
    chatter(),
    "ayiou",
    handle(1, "/trip"),
    handle(2, "Rome", { user_id: 8 }),
    handle(3, "Rome", { group_id: 1 }),
    request(4, "matches", message("Rome")),
    handle(5, "Rome"),
    request(6, "matches", message("Rome")),
  );
  assert.deepEqual(
    answers.map(({ result: value }) => value.reply ?? value.matches ?? null),
    ["Where to?", null, null, true, "Rome!", false],
  );
});

test("ayiou: lifecycle in all its forms", async () => {
  for (const style of ["startup", { startup: null }, { startup: {} }, "Startup"]) {
    let started = 0;
    const plugin = chatter().onStart(() => void started++);
    const [answer] = await said(plugin, "ayiou", request(1, "lifecycle", { event: style }));
    assert.deepEqual([answer.result, started], [{ ok: true }, 1]);
  }
  for (const style of ["shutdown", { shutdown: null }]) {
    let stopped = 0;
    const plugin = chatter().onStop(() => void stopped++);
    const lines = [request(1, "lifecycle", { event: "startup" }), request(2, "lifecycle", { event: style })];
    assert.deepEqual((await said(plugin, "ayiou", ...lines))[1].result, { ok: true });
    assert.equal(stopped, 1);
  }
  const ok = ["bot_connect", { botconnect: { self_id: 1 } }, { action_result: {} }];
  for (const event of ok) {
    assert.deepEqual((await said(chatter(), "ayiou", request(1, "lifecycle", { event })))[0].result, {
      ok: true,
    });
  }
  assert.equal((await said(chatter(), "ayiou", request(1, "lifecycle", {})))[0].error.code, -32602);
  const refuses = chatter().onStart(() => {
    throw new Error("no account");
  });
  const [answer] = await said(refuses, "ayiou", request(1, "lifecycle", { event: "startup" }));
  assert.deepEqual(answer.result, { ok: false, error: "no account" });
});

// ---- sunscreen

function builder() {
  const plugin = new Plugin(about);
  const fields = {
    name: "string",
    program: { type: "string", default: "app" },
    count: { type: "integer", optional: true },
    force: { type: "boolean", default: false },
    tags: { type: "array", default: [] },
  };
  plugin.command("scaffold:indexer", "An indexer", fields, (args, call) => {
    call.stream("made ");
    if (args.name === "bad") throw new Error("failed");
    if (args.name === "there") throw new PluginError(4, "exists", { next_step: "pass --force" });
    return new Done(JSON.stringify(args), [`${call.workspace}/x`]);
  });
  plugin.command("bare", ({ args, flags }) => `${args} ${JSON.stringify(flags)}`);
  plugin.hook("after_build", "Updates", (context, call) => `${context.idl?.name} in ${call.workspace}`);
  return plugin;
}

test("sunscreen: commands", async () => {
  assert.deepEqual(await said(builder(), "sunscreen", { jsonrpc: "2.0", id: 1, method: "commands" }), [
    result(1, { scaffold: { indexer: "An indexer", bare: "" }, hook: { after_build: "Updates" } }),
  ]);
});

const run = (params) => request(1, "run", { workspace_root: "/w", config: {}, ...params });

test("sunscreen: run", async () => {
  const ask = async (params) => (await said(builder(), "sunscreen", run(params)))[0];
  const flags = { count: "3", force: true, tags: ["a", "b"], other: "x" };
  const answer = await ask({ command: "scaffold:indexer", args: ["Trades"], flags });
  const args = { name: "Trades", program: "app", count: 3, force: true, tags: ["a", "b"] };
  assert.deepEqual(answer, result(1, { files_written: ["/w/x"], summary: `made ${JSON.stringify(args)}` }));
  assert.match((await ask({ command: "indexer", args: ["A", "b"] })).result.summary, /"program":"b"/);
  assert.deepEqual((await ask({ command: "bare", args: ["a"], flags: { k: "v" } })).result, {
    files_written: [],
    summary: 'a {"k":"v"}',
  });
  assert.deepEqual((await ask({ command: "indexer", args: ["bad"] })).error, { code: 1, message: "failed" });
  assert.deepEqual((await ask({ command: "indexer", args: ["there"] })).error, {
    code: 4,
    message: "exists",
    data: { next_step: "pass --force" },
  });
  assert.equal((await ask({ command: "indexer" })).error.message, "name: is missing");
  assert.equal((await ask({ command: "app:indexer", args: [] })).error.code, -32601);
  assert.equal((await ask({})).error.message, "command: is missing");
  assert.equal((await ask({ command: "indexer", args: ["a", "b", "c"] })).error.code, -32602);
});

test("sunscreen: hook", async () => {
  const ask = async (params) => (await said(builder(), "sunscreen", request(1, "hook", params)))[0];
  const context = { workspace_root: "/w", idl: { name: "app" } };
  assert.deepEqual((await ask({ name: "after_build", context })).result, {
    files_written: [],
    summary: "app in /w",
  });
  assert.equal((await ask({ name: "before_build" })).error.code, -32601);
});

test("sunscreen-json: words are the command line", async () => {
  const ask = async (args, more) => {
    const params = {
      args,
      command: "indexer",
      kind: "scaffold",
      plugin: "sample",
      scratch: "/s",
      workspace: "/w",
    };
    return (
      await said(builder(), "sunscreen-json", request(1, "sunscreen.command/run", { ...params, ...more }))
    )[0];
  };
  const { result: done } = await ask([
    "--force",
    "Trades",
    "--count=3",
    "--tags",
    "a",
    "--tags",
    "b",
    "--",
    "--x",
  ]);
  assert.deepEqual(JSON.parse(done.summary.replace(/^made /, "")), {
    name: "Trades",
    program: "--x",
    count: 3,
    force: true,
    tags: ["a", "b"],
  });
  assert.equal((await ask([], { kind: "app" })).error.message, "name: is missing"); // found by its name alone
  assert.equal((await ask([], { command: "app:indexer" })).error.code, -32601);
  assert.equal((await ask(["x"], { command: "bare", kind: "app" })).result.summary, "x {}");
  const hook = { args: [], command: "after_build", kind: "hook", workspace: "/w" };
  const [answer] = await said(builder(), "sunscreen-json", request(1, "sunscreen.hook/run", hook));
  assert.equal(answer.result.summary, "undefined in /w");
});

// ---- plain

test("plain: commands by name, notifications about a request", async () => {
  const plugin = new Plugin(about);
  plugin.command("work", { n: "integer" }, async ({ n }, call) => {
    await call.stream("piece");
    await call.progress(0.25, "a quarter");
    return n;
  });
  const lines = ['{"id":1.0,"method":"work","params":[5]}', '{"method":"work","params":{"n":1}}'];
  assert.deepEqual(await talk(plugin, "plain", lines), [
    '{"jsonrpc":"2.0","method":"stream","params":{"request_id":1.0,"data":"piece"}}',
    '{"jsonrpc":"2.0","method":"progress","params":{"request_id":1.0,"fraction":0.25,"text":"a quarter"}}',
    '{"jsonrpc":"2.0","id":1.0,"result":5}',
  ]);
});
