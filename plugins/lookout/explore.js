// SPDX-License-Identifier: Apache-2.0
'use strict';
// A conversation: through a directory by size. There is one at a time, as there is one user.
const fs = require('node:fs/promises');
const path = require('node:path');
const { must_be_directory, resolve, walk } = require('./disk.js');
const { bytes, percent, printable, table } = require('./text.js');

const SHOWN = 20;
const HELP = `A number goes into that directory, "up" goes back, "find WORD" looks for names below,
"old" lists large files that have not been touched for a year, "exit" ends the conversation.\n`;
const ASK = 'Where to? (number, up, find WORD, old, help, exit) ';

let place = null; // where the conversation is; null: there is none
let shown = [];   // what the numbers mean

const keep = (text) => ({ text, keep: true });

async function show(say) {
  const sizes = [];
  say.stream(`${printable(place)}\n`);
  const total = await walk(place, (item) => {
    if (path.dirname(item.file) === place) sizes.push(item);
  }, (so_far) => say.stream(`… ${so_far.files} entries, ${bytes(so_far.size)} so far\n`));
  shown = sizes.sort((a, b) => b.size - a.size).slice(0, SHOWN);
  if (!shown.length) return keep('It is empty, or may not be read.\nWhere to? ');
  const rows = shown.map((item, i) => [i + 1, bytes(item.size), percent(item.size, total.size),
    printable(path.basename(item.file)) + (item.directory ? '/' : '')]);
  const more = sizes.length > SHOWN ? `… and ${sizes.length - SHOWN} smaller ones\n` : '';
  return keep(`${table(rows, [0, 1, 2])}\n${more}${bytes(total.size)} in all. ${ASK}`);
}

async function explore(given, say) {
  const start = resolve(given.path);
  await must_be_directory(start, say);
  place = start;
  return show(say);
}

/** Lists what `wanted` picks below the place, largest first. */
async function search(say, title, wanted) {
  const found = [];
  await walk(place, (item) => found.push(item), (so_far) => say.stream(`… ${so_far.files} entries\n`));
  const judged = await Promise.all(found.map(async (item) => (await wanted(item) ? item : null)));
  const picked = judged.filter(Boolean).sort((a, b) => b.size - a.size).slice(0, SHOWN);
  if (!picked.length) return keep(`${title}: nothing found.\nWhere to? `);
  shown = picked;
  const rows = picked.map((item, i) => [i + 1, bytes(item.size),
    printable(path.relative(place, item.file)) + (item.directory ? '/' : '')]);
  return keep(`${title}:\n${table(rows, [0, 1])}\nWhere to? `);
}

async function is_old(item) {
  if (item.directory || item.size < 1024 * 1024) return false;
  const stat = await fs.lstat(item.file).catch(() => null);
  return stat && Date.now() - Math.max(stat.atimeMs, stat.mtimeMs) > 365 * 86400 * 1000;
}

async function go(number, say) {
  const item = shown[number - 1];
  if (!item) return keep(`There is no number ${number}.\nWhere to? `);
  if (!item.directory) {
    const stat = await fs.lstat(item.file).catch(() => null);
    const when = stat ? stat.mtime.toISOString().slice(0, 10) : 'unknown';
    const what = `${printable(item.file)}: ${bytes(item.size)}, last changed ${when}.`;
    return keep(`${what} Nothing is deleted from here.\nWhere to? `);
  }
  place = item.file;
  return show(say);
}

/** One turn of the user. */
async function turn(said, say) {
  const text = said.trim();
  const word = text.toLowerCase();

  if (!place) return 'Nothing is being explored: call explore first.\n';
  if (['exit', 'quit', 'done', 'bye'].includes(word)) {
    place = null;
    return 'Done.\n';
  }
  if (/^\d+$/.test(word)) return go(Number(word), say);
  if (word === 'up' || word === '..') {
    place = path.dirname(place);
    return show(say);
  }
  if (word === 'old') return search(say, 'Large and untouched for a year', is_old);
  if (word.startsWith('find ')) {
    const part = word.slice(5).trim();
    const has_it = (item) => path.basename(item.file).toLowerCase().includes(part);
    return search(say, `Names with "${printable(part)}"`, has_it);
  }
  return keep(`${HELP}Where to? `);
}

module.exports = { explore, turn };
