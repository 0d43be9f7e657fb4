// SPDX-License-Identifier: Apache-2.0
// What takes the space below a directory.
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { PluginError } from "tenon";
import { bar, bytes, percent, printable, table } from "./text.mjs";

const SAY_EVERY_MS = 2000; // progress, while a long walk lasts

function resolve(given) {
  const text = given.trim() || "~";
  const at_home = text === "~" || text.startsWith("~/");
  return path.resolve(os.homedir(), at_home ? path.join(os.homedir(), text.slice(1)) : text);
}

/** Keeps the largest few of many without sorting all of them. */
class Largest {
  constructor(limit) {
    this.limit = limit;
    this.items = [];
  }

  offer(item) {
    if (this.items.length === this.limit && item.size <= this.items.at(-1).size) return;
    this.items.push(item);
    this.items.sort((a, b) => b.size - a.size);
    if (this.items.length > this.limit) this.items.pop();
  }
}

/**
 * Adds up a tree: space that is really taken (blocks), on one file system, a file with several names once.
 * `seen` is told of every directory and file when its size is known. Returns { size, files, refused }.
 */
async function walk(top, seen, progress, signal) {
  const total = { size: 0, files: 0, refused: 0 };
  const links = new Set();
  const root = await fs.lstat(top);
  let said = Date.now();

  async function visit(dir) {
    let size = 0;
    let entries;
    try {
      entries = await fs.readdir(dir, { withFileTypes: true });
    } catch {
      total.refused++;
      return 0;
    }
    for (const entry of entries) {
      signal.throwIfAborted();
      const file = path.join(dir, entry.name);
      let stat;
      try {
        stat = await fs.lstat(file);
      } catch {
        continue; // gone meanwhile
      }
      if (stat.dev !== root.dev) continue;
      if (stat.nlink > 1 && !stat.isDirectory()) {
        if (links.has(stat.ino)) continue;
        links.add(stat.ino);
      }
      let own = stat.blocks * 512;
      total.files++;
      total.size += own;
      if (stat.isDirectory()) own += await visit(file);
      seen({ file, size: own, directory: stat.isDirectory() });
      size += own;
      if (progress && Date.now() - said >= SAY_EVERY_MS) {
        said = Date.now();
        progress(total);
      }
    }
    return size;
  }

  if (root.isDirectory()) await visit(top);
  else total.size = root.blocks * 512;
  return total;
}

function list(title, items, whole, top) {
  if (!items.length) return "";
  const rows = items.map((item) => [
    bytes(item.size),
    percent(item.size, whole),
    bar(item.size, whole),
    printable(path.relative(top, item.file)),
  ]);
  return `\n${title}:\n${table(rows, [0, 1])}\n`;
}

const refuse = (place, why) => new PluginError(-32602, `path: ${printable(place)}: ${why}`);

/** The directory that a path names, or an error of the user's making. */
async function directory(given) {
  const place = resolve(given);
  const stat = await fs.stat(place).catch((error) => {
    throw refuse(place, error.code === "ENOENT" ? "no such directory" : error.message);
  });
  if (!stat.isDirectory()) throw refuse(place, "not a directory");
  return place;
}

async function disk({ path: given, top: limit }, call) {
  const top = await directory(given);
  const directories = new Largest(limit);
  const files = new Largest(limit);

  call.stream(`Looking through ${printable(top)} …\n`);
  const total = await walk(
    top,
    (item) => (item.directory ? directories : files).offer(item),
    (so_far) => call.stream(`… ${so_far.files} entries, ${bytes(so_far.size)} so far\n`),
    call.signal,
  );
  call.stream(list("Largest directories (with all below them)", directories.items, total.size, top));
  call.stream(list("Largest files", files.items, total.size, top));
  const refused = total.refused ? `; ${total.refused} directories could not be read` : "";
  return `\n${bytes(total.size)} in ${total.files} entries${refused}.\n`;
}

export { directory, disk, walk };
