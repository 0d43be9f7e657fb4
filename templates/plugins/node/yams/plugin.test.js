import assert from "node:assert/strict";
import test from "node:test";
import { runInside, spawn } from "tenon/testing";
import { plugin } from "./plugin.js";

test("title and text", async () => {
  const found = await runInside(plugin).extract(Buffer.from("Shopping\nmilk\n"));
  assert.deepEqual([found.content, found.metadata.title], ["milk\n", "Shopping"]);
});

test("as a process", async () => {
  const host = spawn(["./plugin.js"], { dialect: "yams" });
  assert.match((await host.extract("example.note")).content, /bread/);
  assert.equal(await host.close(), 0);
});
