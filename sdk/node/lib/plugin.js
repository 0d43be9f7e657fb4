// SPDX-License-Identifier: Apache-2.0
// What an author declares.
import { Fields } from "./fields.js";
import { dialects } from "./dialects/index.js";
import { isProgram, serve } from "./run.js";

/** The arguments of a declaration, sorted by their types: [description], [fields], function. */
function sorted(what, args) {
  const fn = args.at(-1);
  if (typeof fn !== "function") throw new TypeError(`${what}: the last argument must be a function`);
  const description = args.find((arg) => typeof arg === "string") ?? "";
  const fields = args.find((arg) => typeof arg === "object" && arg !== null);
  return { description, fields, fn };
}

const texts = (what, options, names) => {
  for (const name of names)
    if (typeof options[name] !== "string") throw new TypeError(`${what}: ${name}: a string is expected`);
};

export class Plugin {
  constructor(options) {
    texts("Plugin", { description: "", ...options }, ["name", "version", "description"]);
    for (const name of [options.dialect ?? []].flat())
      if (!Object.hasOwn(dialects, name))
        throw new TypeError(`Plugin: no dialect "${name}"; there are ${Object.keys(dialects).join(", ")}`);
    this.options = { description: "", ...options };
    this.methods = new Map();
    this.commands = new Map();
    this.hooks = new Map();
    this.extractors = [];
    this.handlers = [];
    this.analyses = [];
    this.starter = undefined;
    this.stopper = undefined;
  }

  #entry(what, named, args) {
    const about = typeof named === "string" ? { name: named } : named;
    texts(what, about, ["name"]);
    const { description, fields, fn } = sorted(what, args);
    return { description, aliases: [], ...about, fields: new Fields(fields, this.options.strict), fn };
  }

  method(named, ...args) {
    const entry = this.#entry("method", named, args);
    this.methods.set(entry.name, entry);
    return this;
  }

  command(named, ...args) {
    const entry = this.#entry("command", named, args);
    const [kind, name] = entry.name.includes(":") ? entry.name.split(/:(.*)/s) : [entry.kind, entry.name];
    this.commands.set(name, { ...entry, kind, name });
    return this;
  }

  hook(named, ...args) {
    const entry = this.#entry("hook", named, args);
    this.hooks.set(entry.name, entry);
    return this;
  }

  extractor(options, fn) {
    if (typeof fn !== "function") throw new TypeError("extractor: the last argument must be a function");
    this.extractors.push({ options, fn });
    return this;
  }

  handler(...args) {
    const fn = args.pop();
    if (typeof fn !== "function") throw new TypeError("handler: the last argument must be a function");
    this.handlers.push({ match: args[0], fn });
    return this;
  }

  analysis(type, fn) {
    if (typeof fn !== "function") throw new TypeError("analysis: the last argument must be a function");
    this.analyses.push({ type, fn });
    return this;
  }

  onStart(fn) {
    this.starter = fn;
    return this;
  }

  onStop(fn) {
    this.stopper = fn;
    return this;
  }

  run(meta) {
    if (isProgram(meta)) serve(this);
  }
}
