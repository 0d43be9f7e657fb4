// SPDX-License-Identifier: Apache-2.0
// One call of the author's function, as the function sees it.

const levels = ["debug", "info", "warning", "error"];

export class Call {
  #session;
  #abort;

  constructor(session, request) {
    this.#session = session;
    this.request = request;
    this.cancelled = false;
    this.pieces = ""; // what was streamed in a dialect that cannot
  }

  get id() {
    return this.request.idValue;
  }

  get method() {
    return this.request.method;
  }

  get params() {
    return this.request.params;
  }

  get dialect() {
    return this.#session.dialect.name;
  }

  get plugin() {
    return this.#session.plugin;
  }

  /** Most calls never ask for it, and it is not cheap. */
  get signal() {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.cancelled) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  /** Not for authors: the plugin stops. */
  cancel() {
    this.cancelled = true;
    this.#abort?.abort();
  }

  stream(data) {
    const { dialect, output } = this.#session;
    if (dialect.stream) dialect.stream(this.#session, this, data);
    else this.pieces += typeof data === "string" ? data : JSON.stringify(data);
    return output.room();
  }

  progress(fraction, text = "") {
    const { dialect, output } = this.#session;
    if (dialect.progress) dialect.progress(this.#session, this, fraction, text);
    else process.stderr.write(`${percent(fraction)} ${text}\n`);
    return output.room();
  }

  log(level, text) {
    const { dialect, output } = this.#session;
    if (!levels.includes(level))
      throw new TypeError(`log: no level "${level}"; there are ${levels.join(", ")}`);
    if (dialect.log) dialect.log(this.#session, level, String(text), this);
    else process.stderr.write(`${level}: ${text}\n`);
    return output.room();
  }

  /** What was streamed, with the last text behind it. */
  withPieces(text) {
    const all = this.pieces + text;
    this.pieces = "";
    return all;
  }
}

export const percent = (fraction) => `${Math.round(fraction * 100)}%`;
