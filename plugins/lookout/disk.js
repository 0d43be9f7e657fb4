// SPDX-License-Identifier: Apache-2.0
'use strict';
// What takes the space below a directory.
const fs = require('node:fs/promises');
const os = require('node:os');
const path = require('node:path');
const { bar, bytes, count, percent, printable, table } = require('./text.js');

const SAY_EVERY_MS = 2000; // progress, while a long walk lasts

function resolve(given) {
  const text = String(given ?? '~').trim() || '~';
  const at_home = text === '~' || text.startsWith('~/');
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
async function walk(top, seen, progress) {
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
  if (!items.length) return '';
  const rows = items.map((item) => [bytes(item.size), percent(item.size, whole), bar(item.size, whole),
    printable(path.relative(top, item.file))]);
  return `\n${title}:\n${table(rows, [0, 1])}\n`;
}

async function must_be_directory(place, say) {
  const stat = await fs.stat(place).catch((error) => {
    const why = error.code === 'ENOENT' ? 'no such directory' : error.message;
    say.refuse(`${printable(place)}: ${why}`);
  });
  if (!stat.isDirectory()) say.refuse(`${printable(place)} is no directory`);
}

async function disk(given, say) {
  const top = resolve(given.path);
  const limit = count(given.top, 10, 1000, say, 'top');
  const directories = new Largest(limit);
  const files = new Largest(limit);

  await must_be_directory(top, say);
  say.stream(`Looking through ${printable(top)} …\n`);
  const total = await walk(top, (item) => (item.directory ? directories : files).offer(item),
    (so_far) => say.stream(`… ${so_far.files} entries, ${bytes(so_far.size)} so far\n`));
  say.stream(list('Largest directories (with all below them)', directories.items, total.size, top));
  say.stream(list('Largest files', files.items, total.size, top));
  const refused = total.refused ? `; ${total.refused} directories could not be read` : '';
  return `\n${bytes(total.size)} in ${total.files} entries${refused}.\n`;
}

module.exports = { disk, must_be_directory, resolve, walk };
