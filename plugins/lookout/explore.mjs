// SPDX-License-Identifier: Apache-2.0
// A conversation: through a directory by size.
import fs from "node:fs/promises";
import path from "node:path";
import { directory, walk } from "./disk.mjs";
import { bytes, percent, printable, table } from "./text.mjs";

const SHOWN = 20;
const HELP = `A number goes into that directory, "up" goes back, "find WORD" looks for names below,
"old" lists large files that have not been touched for a year, "exit" ends the conversation.\n`;
const ASK = "Where to? (number, up, find WORD, old, help, exit) ";
const SHORT = "Where to? ";

const largest = (items) => items.sort((a, b) => b.size - a.size).slice(0, SHOWN);
const slash = (item) => (item.directory ? "/" : "");

/** Where the conversation is, and what its numbers mean. */
class Place {
  constructor(place, call) {
    this.place = place;
    this.call = call;
    this.shown = [];
  }

  async list() {
    const { place, call } = this;
    const sizes = [];
    call.stream(`${printable(place)}\n`);
    const total = await walk(
      place,
      (item) => path.dirname(item.file) === place && sizes.push(item),
      (so_far) => call.stream(`… ${so_far.files} entries, ${bytes(so_far.size)} so far\n`),
      call.signal,
    );
    this.shown = largest([...sizes]);
    if (!sizes.length) return `It is empty, or may not be read.\n${SHORT}`;
    const name = (item) => printable(path.basename(item.file)) + slash(item);
    const row = (item, i) => [i + 1, bytes(item.size), percent(item.size, total.size), name(item)];
    const more = sizes.length > SHOWN ? `… and ${sizes.length - SHOWN} smaller ones\n` : "";
    return `${table(this.shown.map(row), [0, 1, 2])}\n${more}${bytes(total.size)} in all. ${ASK}`;
  }

  /** Lists what `wanted` picks below the place, largest first. */
  async search(title, wanted) {
    const { place, call } = this;
    const found = [];
    const progress = (so_far) => call.stream(`… ${so_far.files} entries\n`);
    await walk(place, (item) => found.push(item), progress, call.signal);
    const judged = await Promise.all(found.map(async (item) => ((await wanted(item)) ? item : null)));
    const picked = largest(judged.filter(Boolean));
    if (!picked.length) return `${title}: nothing found.\n${SHORT}`;
    this.shown = picked;
    const name = (item) => printable(path.relative(place, item.file)) + slash(item);
    return `${title}:\n${table(
      picked.map((item, i) => [i + 1, bytes(item.size), name(item)]),
      [0, 1],
    )}\n${SHORT}`;
  }

  go(place) {
    this.place = place;
    return this.list();
  }

  async enter(number) {
    const item = this.shown[number - 1];
    if (!item) return `There is no number ${number}.\n${SHORT}`;
    if (item.directory) return this.go(item.file);
    const stat = await fs.lstat(item.file).catch(() => null);
    const when = stat ? stat.mtime.toISOString().slice(0, 10) : "unknown";
    const what = `${printable(item.file)}: ${bytes(item.size)}, last changed ${when}.`;
    return `${what} Nothing is deleted from here.\n${SHORT}`;
  }

  /** What one turn of the user leads to. */
  turn(word) {
    if (/^\d+$/.test(word)) return this.enter(Number(word));
    if (word === "up" || word === "..") return this.go(path.dirname(this.place));
    if (word === "old") return this.search("Large and untouched for a year", isOld);
    if (!word.startsWith("find ")) return `${HELP}${SHORT}`;
    const part = word.slice(5).trim();
    const hasIt = (item) => path.basename(item.file).toLowerCase().includes(part);
    return this.search(`Names with "${printable(part)}"`, hasIt);
  }
}

async function isOld(item) {
  if (item.directory || item.size < 1024 * 1024) return false;
  const stat = await fs.lstat(item.file).catch(() => null);
  return stat && Date.now() - Math.max(stat.atimeMs, stat.mtimeMs) > 365 * 86400 * 1000;
}

export async function* explore(given, call) {
  const place = new Place(await directory(given.path), call);
  let text = await place.list();
  for (;;) {
    const word = (yield text).trim().toLowerCase();
    if (["exit", "quit", "done", "bye"].includes(word)) return "Done.\n";
    text = await place.turn(word);
  }
}
