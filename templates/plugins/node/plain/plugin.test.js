import assert from "node:assert/strict";
import test from "node:test";
import { runInside, spawn } from "tenon/testing";
import { plugin } from "./plugin.js";

test("greets", async () => {
  const host = runInside(plugin);
  assert.equal(await host.call("greet", { name: "Ada" }), "Hello, Ada!");
  assert.equal(await host.call("greet", { name: "Bob", greeting: "Hi" }), "Hi, Bob!");
});

test("a name is needed", async () => {
  await assert.rejects(runInside(plugin).call("greet"), { code: -32602, message: "name: is missing" });
});

test("as a process", async () => {
  const host = spawn(["./plugin.js"]);
  assert.equal(await host.call("greet", { name: "Ada" }), "Hello, Ada!");
  assert.equal(await host.close(), 0);
});
