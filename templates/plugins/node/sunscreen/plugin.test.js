import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { runInside, spawn } from "tenon/testing";
import { plugin } from "./plugin.js";

const program = path.resolve("plugin.js");
process.chdir(fs.mkdtempSync(path.join(os.tmpdir(), "workspace-"))); // the workspace of the tests
test.after(() => fs.rmSync(process.cwd(), { recursive: true }));

test("greeting", async () => {
  const done = await runInside(plugin).call("scaffold:hello", ["Ada"]);
  assert.deepEqual(done.files_written, ["hello-ada.txt"]);
  assert.equal(fs.readFileSync("hello-ada.txt", "utf8"), "Hello, Ada!\n");
});

test("a name is needed", async () => {
  await assert.rejects(runInside(plugin).call("scaffold:hello", []), { message: "name: is missing" });
});

test("as a process", async () => {
  const host = spawn([program], { dialect: "sunscreen" });
  assert.equal((await host.call("scaffold:hello", ["Bob"])).summary, "greeted Bob");
  assert.equal(await host.close(), 0);
});
