import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import test from "node:test";

// A small driver: answers what the analyzer asks, gives one record, and then no more work.
function answers(dir, asked) {
  const one = { workingDir: dir, inputs: ["a.note"], arguments: [], output: path.join(dir, "out") };
  let given = false;
  return {
    init: () => ({ protocol: "kythe1" }),
    vname: () => ({ vname: { corpus: "test", path: asked.params.path } }),
    analyze: () => (given ? undefined : ((given = true), one)),
  };
}

async function analyze(program, text) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "record-"));
  fs.writeFileSync(path.join(dir, "a.note"), text);
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const asked = {};
  const table = answers(dir, asked);
  let input = Buffer.alloc(0);
  child.stdout.on("data", (data) => {
    input = Buffer.concat([input, data]);
    for (let at; (at = input.indexOf("\n")) >= 0; ) {
      const end = at + 1 + Number(input.subarray(0, at));
      if (input.length < end) return;
      Object.assign(asked, JSON.parse(input.subarray(at + 1, end)));
      input = input.subarray(end);
      const result = table[asked.method]?.();
      if (asked.method === "analyze" && !result) return child.stdin.end();
      if (!result) continue;
      const body = JSON.stringify({ jsonrpc: "2.0", id: asked.id, result });
      child.stdin.write(`${Buffer.byteLength(body)}\n${body}`);
    }
  });
  const status = await new Promise((resolve) => child.on("close", resolve));
  const output = fs.readFileSync(path.join(dir, "out"), "latin1");
  fs.rmSync(dir, { recursive: true });
  return { status, output };
}

test("nodes", async () => {
  const { status, output } = await analyze("./plugin.js", "# Shopping\nmilk\n");
  assert.equal(status, 0);
  assert.match(output, /\/kythe\/node\/kind.*file/s);
  assert.match(output, /Shopping.*\/kythe\/edge\/childof/s);
});
