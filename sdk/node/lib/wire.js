// SPDX-License-Identifier: Apache-2.0
// The wire is private. claim() opens stdin and stdout anew and puts stderr and /dev/null in their places, so
// that console.log, child processes and native code cannot disturb a message.
//
// Node has no dup2. A pipe, a file or a terminal can be opened once more as /proc/self/fd/N; and as open()
// gives the lowest free number, closing 1 and opening another file puts that file at 1. A socket cannot be
// opened so (nor can a pipe of another user): then the wire stays at 0 or 1, and process.stdout, the console
// and the children that would inherit it are led to stderr instead.
import childProcess from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import tty from "node:tty";

const { O_APPEND, O_NOCTTY, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants;

/** A new descriptor for the same pipe, file or terminal; -1 where the system gives no other. */
function reopened(fd, flags) {
  try {
    return fs.openSync(`/proc/self/fd/${fd}`, flags | O_NOCTTY);
  } catch {
    return -1;
  }
}

/** Puts another file at `fd`. Nothing else opens a file in between: all of it is synchronous. */
function replaced(fd, path, flags) {
  let probe;
  try {
    probe = fs.openSync(path, flags | O_NOCTTY);
  } catch {
    return false;
  }
  fs.closeSync(probe);
  fs.closeSync(fd);
  const got = fs.openSync(path, flags | O_NOCTTY);
  if (got !== fd) fs.closeSync(got); // a thread of the pool was faster
  return got === fd;
}

function filePosition(fd) {
  try {
    return Number(/^pos:\s*(\d+)/.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, "latin1"))[1]);
  } catch {
    return 0;
  }
}

const kindOf = (fd) => {
  if (tty.isatty(fd)) return "terminal";
  const stat = fs.fstatSync(fd);
  return stat.isFIFO() || stat.isSocket() ? "stream" : "file";
};

/** stderr at 1. A file gets O_APPEND at both places: two positions would write over each other. */
function stderrAtOne() {
  const file = kindOf(2) === "file";
  if (!replaced(1, "/proc/self/fd/2", O_WRONLY | (file ? O_APPEND : 0))) {
    replaced(1, "/dev/null", O_WRONLY);
    return false;
  }
  if (file) replaced(2, "/proc/self/fd/1", O_WRONLY | O_APPEND);
  return true;
}

let wire;

/** What claim() has returned, if it was called. */
export const claimed = () => wire;

/**
 * Takes stdin and stdout away from everybody else; once per process.
 * @returns {{input: object, output: object}} descriptors: { fd, kind, position }
 */
export function claim() {
  if (wire) return wire;
  const input = { fd: 0, kind: kindOf(0), position: null };
  const output = { fd: 1, kind: kindOf(1) };
  if (input.kind === "file") input.position = filePosition(0);
  const flags = (kind) => (kind === "stream" ? O_NONBLOCK : 0);
  const newIn = reopened(0, O_RDONLY | flags(input.kind));
  const newOut = reopened(1, O_WRONLY | flags(output.kind) | (output.kind === "file" ? O_APPEND : 0));
  let safe = newIn >= 0 && newOut >= 0;
  if (newIn >= 0 && replaced(0, "/dev/null", O_RDONLY)) input.fd = newIn;
  if (newOut >= 0) {
    output.fd = newOut;
    safe = stderrAtOne() && safe;
  }
  quietStdout();
  if (!safe) quietChildren();
  wire = { input, output };
  return wire;
}

// ---- what is written by JavaScript

/** process.stdout and the console write to stderr from now on. */
function quietStdout() {
  process.stdout.write = (...args) => process.stderr.write(...args);
}

/**
 * A module may print before it calls run(). What is printed from now to the end of this turn of the event
 * loop is kept: run() sends it to stderr; where nobody calls run(), as in a test, it goes to stdout after
 * all. /
 */
export function guard() {
  if (wire || globalThis[Symbol.for("tenon.testing")]) return;
  if (process.env.MORTISE_DIALECT && !process.env.NODE_TEST_CONTEXT) {
    claim(); // a host has started this process: it is a plugin
    return;
  }
  const kept = [];
  const own = process.stdout.write;
  process.stdout.write = (...args) => {
    kept.push(args);
    return true;
  };
  const release = () => {
    if (!wire) process.stdout.write = own;
    for (const args of kept.splice(0)) process.stdout.write(...args);
  };
  setImmediate(release).unref();
  process.once("exit", release);
}

// ---- children

/** The stdio of a child without our 0 and 1. */
function childStdio(stdio) {
  const list = typeof stdio === "string" ? [stdio, stdio, stdio] : [...(stdio ?? [])];
  const ours = (item, fd) => item === fd || item?.fd === fd;
  return list.map((item, at) => {
    if (at === 0 && item === "inherit") return "ignore";
    if (at === 1 && item === "inherit") return 2;
    return ours(item, 0) ? "ignore" : ours(item, 1) ? 2 : item;
  });
}

const withStdio = (options) => (options?.stdio ? { ...options, stdio: childStdio(options.stdio) } : options);

/** Only where the wire had to stay at 0 or 1. */
function quietChildren() {
  const { spawn } = childProcess.ChildProcess.prototype;
  childProcess.ChildProcess.prototype.spawn = function spawnQuietly(options) {
    return spawn.call(this, withStdio(options));
  };
  for (const name of ["spawnSync", "execFileSync", "execSync"]) {
    const original = childProcess[name];
    childProcess[name] = (...args) =>
      original(...args.map((arg) => (Array.isArray(arg) || typeof arg !== "object" ? arg : withStdio(arg))));
  }
  syncBuiltinESMExports();
}
