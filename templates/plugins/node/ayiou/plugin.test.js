import assert from "node:assert/strict";
import test from "node:test";
import { runInside, spawn } from "tenon/testing";
import { plugin } from "./plugin.js";

test("hello", async () => {
  const { reply } = await runInside(plugin).say("/hello Ada Lovelace");
  assert.equal(reply, "Hello, Ada Lovelace!");
});

test("as a process", async () => {
  const host = spawn(["./plugin.js"], { dialect: "ayiou" });
  assert.equal((await host.say("/hello")).reply, "Hello, world!");
  assert.equal(await host.close(), 0);
});
