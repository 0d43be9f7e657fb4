// SPDX-License-Identifier: Apache-2.0
// The reminders: kept in a file, with a timer for the next one.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { following } from "./when.mjs";

const LONGEST = 2 ** 31 - 1; // what a timer can wait, in milliseconds

function stateFile() {
  const { REMIND_STATE, XDG_STATE_HOME } = process.env;
  const state = XDG_STATE_HOME || path.join(os.homedir(), ".local/state");
  return REMIND_STATE || path.join(state, "remind/reminders.json");
}

export class Store {
  #timer;

  /** Reads the file. on_due(reminder): its time has come; it waits in `due` until somebody takes it. */
  constructor(on_due, file = stateFile()) {
    this.file = file;
    this.on_due = on_due;
    this.reminders = [];
    this.due = [];
    this.lastId = 0;
    this.#read();
    this.#arm();
  }

  #read() {
    if (!fs.existsSync(this.file)) return;
    const { reminders, due, lastId } = JSON.parse(fs.readFileSync(this.file, "utf8"));
    this.reminders = reminders.map((reminder) => ({ ...reminder, at: new Date(reminder.at) }));
    this.due = due;
    this.lastId = lastId;
  }

  /** The old file is complete until the new one is. */
  #write() {
    const { reminders, due, lastId } = this;
    const fresh = `${this.file}.${process.pid}`;
    fs.mkdirSync(path.dirname(this.file), { recursive: true });
    fs.writeFileSync(fresh, JSON.stringify({ reminders, due, lastId }, withBig, 1), { mode: 0o600 });
    fs.renameSync(fresh, this.file);
  }

  #arm() {
    clearTimeout(this.#timer);
    if (!this.reminders.length) return;
    const first = Math.min(...this.reminders.map(({ at }) => at.getTime()));
    this.#timer = setTimeout(() => this.#ring(), Math.min(Math.max(first - Date.now(), 0), LONGEST));
  }

  #ring() {
    const now = new Date();
    const ready = this.reminders.filter(({ at }) => at <= now);
    for (const reminder of ready) {
      const again = following(reminder, now);
      this.due.push({ ...reminder });
      if (again) reminder.at = again;
      else this.reminders.splice(this.reminders.indexOf(reminder), 1);
    }
    if (ready.length) this.#write();
    this.#arm();
    for (const reminder of ready) this.on_due(reminder);
  }

  add(reminder) {
    const added = { id: ++this.lastId, ...reminder };
    this.reminders.push(added);
    this.#write();
    this.#arm();
    return added;
  }

  /** Those of one place, the next one first. */
  of(place) {
    return this.reminders.filter((reminder) => reminder.place.id === place.id).sort((a, b) => a.at - b.at);
  }

  remove(id) {
    this.reminders = this.reminders.filter((reminder) => reminder.id !== id);
    this.#write();
    this.#arm();
  }

  /** What is due, for good. */
  take() {
    const taken = this.due.splice(0);
    if (taken.length) this.#write();
    return taken;
  }

  close() {
    clearTimeout(this.#timer);
  }
}

/** Numbers of accounts beyond 2^53 are kept as texts. */
const withBig = (key, value) => (typeof value === "bigint" ? String(value) : value);
