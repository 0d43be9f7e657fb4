// SPDX-License-Identifier: Apache-2.0
// JSON-RPC as every dialect has it, through a session without a wire.
import assert from "node:assert/strict";
import test from "node:test";
import { talk } from "./raw.mjs";
import { Plugin, PluginError } from "../../../sdk/node/index.js";

function sample() {
  const plugin = new Plugin({ name: "sample", version: "1.0.0", description: "For tests" });
  plugin.method("echo", (params) => params);
  plugin.method("add", { a: "integer", b: { type: "integer", default: 1 } }, ({ a, b }) => a + b);
  plugin.method("later", async () => "later");
  plugin.method("own", () => {
    throw new PluginError(7, "own error", { next_step: "none" });
  });
  plugin.method("bug", () => {
    throw new Error("a bug");
  });
  plugin.method("nan", () => ({ a: NaN, b: Infinity, c: undefined, d: 2n ** 63n }));
  plugin.method("circle", () => {
    const circle = {};
    circle.self = circle;
    return circle;
  });
  return plugin;
}

const ask = (...lines) => talk(sample(), "plain", lines);

for (const id of ["1", "12345678901234567890", "1.0", "-0", "1e2", '"a\\u0041"', "null", '{"x":[1]}', "true"])
  test(`id ${id} comes back as it was`, async () => {
    const shapes = [
      `{"jsonrpc":"2.0","id":${id},"method":"echo","params":{"id":1}}`,
      `{"jsonrpc":"2.0","method":"echo","params":{"id":1},"id":${id}}`,
      `{ "method" : "echo" , "params":{"id":1}, "\\u0069d" : ${id} }`,
    ];
    for (const shape of shapes)
      assert.deepEqual(await ask(shape), [`{"jsonrpc":"2.0","id":${id},"result":{"id":1}}`]);
  });

test("the last of two ids counts", async () => {
  const [answer] = await ask('{"id":1,"method":"echo","params":{},"id":2.0}');
  assert.equal(answer, '{"jsonrpc":"2.0","id":2.0,"result":{}}');
});

const errors = [
  ["{bad", "null", -32700, /^Parse error/],
  ["[]", "null", -32600, /empty batch/],
  ["3", "null", -32600, /object/],
  ['{"id":1}', "1", -32600, /method/],
  ['{"id":1,"method":7}', "1", -32600, /method/],
  ['{"id":1,"method":"nope"}', "1", -32601, /^Method not found: nope$/],
  ['{"id":1,"method":"constructor"}', "1", -32601, /^Method not found: constructor$/],
  ['{"id":1,"method":"add"}', "1", -32602, /^a: is missing$/],
  ['{"id":1,"method":"add","params":{"a":"six"}}', "1", -32602, /^a: an integer is expected, not "six"$/],
  ['{"id":1,"method":"add","params":{"a":9007199254740993}}', "1", -32602, /^a: .*2\^53/],
  ['{"id":1,"method":"add","params":[1,2,3]}', "1", -32602, /at most 2/],
  ['{"id":1,"method":"add","params":"x"}', "1", -32602, /^params: /],
  ['{"id":1,"method":"bug"}', "1", -32603, /^a bug$/],
  ['{"id":1,"method":"circle"}', "1", -32603, /cannot be sent/],
];
for (const [line, id, code, message] of errors)
  test(`${line} is answered with ${code}`, async () => {
    const [answer, ...more] = await ask(line);
    assert.equal(more.length, 0);
    assert.ok(answer.startsWith(`{"jsonrpc":"2.0","id":${id},"error":`), answer);
    const { error } = JSON.parse(answer);
    assert.equal(error.code, code);
    assert.match(error.message, message);
  });

test("an error of the author's has code and data", async () => {
  const [answer] = await ask('{"id":1,"method":"own"}');
  const error = { code: 7, message: "own error", data: { next_step: "none" } };
  assert.deepEqual(JSON.parse(answer).error, error);
});

test("NaN is never sent, and a BigInt keeps its digits", async () => {
  const [answer] = await ask('{"id":1,"method":"nan"}');
  assert.equal(answer, '{"jsonrpc":"2.0","id":1,"result":{"a":null,"b":null,"d":9223372036854775808}}');
});

test("notifications and responses are not answered", async () => {
  const lines = ['{"method":"echo"}', '{"method":"nope"}', '{"id":4,"result":1}', '{"id":4,"error":null}'];
  assert.deepEqual(await ask(...lines), []);
});

test("a batch is answered by one array, in its order", async () => {
  const items = [
    '{"id":1.0,"method":"later"}',
    '{"method":"echo"}',
    "5",
    '{"id":"x","method":"echo","params":[1,[2]]}',
    '{"id":7,"result":1}',
  ];
  const [answer, ...more] = await ask(`[${items.join(" , ")}]`);
  assert.equal(more.length, 0);
  const invalid = '"error":{"code":-32600,"message":"Invalid Request: an object is expected"}';
  assert.equal(
    answer,
    `[{"jsonrpc":"2.0","id":1.0,"result":"later"},{"jsonrpc":"2.0","id":null,${invalid}},` +
      '{"jsonrpc":"2.0","id":"x","result":[1,[2]]}]',
  );
  assert.deepEqual(await ask('[{"method":"echo"},{"method":"nope"}]'), []);
});

test("calls are answered in their order, one at a time", async () => {
  const plugin = new Plugin({ name: "order", version: "1.0.0" });
  let running = 0;
  plugin.method("work", async ({ turns }) => {
    assert.equal(++running, 1);
    for (let i = 0; i < turns; i++) await null;
    running--;
    return turns;
  });
  const lines = [50, 1, 20, 0].map((turns, id) => JSON.stringify({ id, method: "work", params: { turns } }));
  const answers = await talk(plugin, "plain", lines);
  assert.deepEqual(
    answers.map((answer) => JSON.parse(answer).result),
    [50, 1, 20, 0],
  );
});

test("depth does not matter", async () => {
  const deep = "[".repeat(200000) + "]".repeat(200000);
  const one = async (line) => (await ask(line))[0];
  assert.equal(
    await one(`{"id":1,"method":"later","params":${deep}}`),
    '{"jsonrpc":"2.0","id":1,"result":"later"}',
  );
  // JSON.stringify cannot write what JSON.parse has read.
  assert.equal(JSON.parse(await one(`{"id":2,"method":"echo","params":${deep}}`)).error.code, -32603);
  assert.equal(JSON.parse(await one(deep))[0].error.code, -32600);
  assert.equal(
    await one(`{"id":${deep},"method":"later"}`),
    `{"jsonrpc":"2.0","id":${deep},"result":"later"}`,
  );
});
