// SPDX-License-Identifier: Apache-2.0
// A plugin for the tests: what it does is in its methods.
import { execFileSync, execSync, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { Plugin } from "../../../sdk/node/index.js";

const plugin = new Plugin({ name: "puppet", version: "1.0.0", description: "For tests" });
const log = (text) => process.stderr.write(`${text}\n`);

console.log("noise: module");

plugin.method("echo", (params) => params);

/** Writes to stdout in every way there is; what a child is given as stdout is stderr. */
plugin.method("noise", async () => {
  console.log("noise: console");
  process.stdout.write("noise: stdout\n");
  spawnSync("echo", ["noise: spawnSync"], { stdio: "inherit" });
  execFileSync("echo", ["noise: execFileSync"], { stdio: ["inherit", "inherit", "inherit"] });
  execSync("echo noise: execSync", { stdio: [0, 1, 2] });
  const child = spawn("sh", ["-c", "echo noise: spawn; cat"], {
    stdio: ["inherit", process.stdout, "inherit"],
  });
  await new Promise((resolve) => child.on("close", resolve));
  if (!process.env.PUPPET_SOCKET) fs.writeSync(1, "noise: descriptor\n");
  return "quiet";
});

/** Pipes of children are their own business. */
plugin.method("pipe", () => execSync("cat", { input: "from a child", encoding: "utf8" }));

plugin.method("text", { size: "integer" }, ({ size }) => "x".repeat(size));

/** Ends when it is told to. */
plugin.method("wait", (params, call) => {
  log("waiting");
  if (call.cancelled) return "told";
  return new Promise((resolve) => call.signal.addEventListener("abort", () => resolve("told")));
});

plugin.method("deaf", () => {
  log("waiting");
  return new Promise(() => setInterval(() => {}, 1000));
});

/** Streams without waiting for the reader, or with. */
plugin.method("flood", { pieces: "integer", polite: "boolean" }, async ({ pieces, polite }, call) => {
  let most = 0;
  for (let i = 0; i < pieces; i++) {
    const room = call.stream("y".repeat(65536));
    if (polite) await room;
    most = Math.max(most, process.memoryUsage.rss());
  }
  return most;
});

plugin.command("talk", async function* (args, call) {
  try {
    const name = yield "Your name?";
    call.stream("Hm. ");
    const place = yield `Where to, ${name}?`;
    return `${name} goes to ${place}.`;
  } finally {
    log("talk ended");
  }
});
plugin.command("busy", async (args, call) => {
  await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
  return "told";
});

plugin.onStart((config) => log(`start ${JSON.stringify(config)}`));
plugin.onStop(() => log("stop"));
plugin.run(import.meta);
