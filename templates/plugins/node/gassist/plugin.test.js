import assert from "node:assert/strict";
import test from "node:test";
import { runInside, spawn } from "tenon/testing";
import { plugin } from "./plugin.js";

test("a conversation", async () => {
  const host = runInside(plugin);
  assert.equal(await host.call("hello", { name: "Ada" }), "Ada! How are you?");
  assert.deepEqual(host.streamed, ["Hello, "]);
  assert.equal(await host.say("fine"), "So you are fine.");
});

test("as a process", async () => {
  const host = spawn(["./plugin.js"], { dialect: "gassist" });
  assert.equal(await host.call("hello", { name: "Ada" }), "Ada! How are you?");
  assert.equal(await host.close(), 0);
});
