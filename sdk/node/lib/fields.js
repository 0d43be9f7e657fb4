// SPDX-License-Identifier: Apache-2.0
// A table of fields: the check of a call's parameters, the conversion of words, the schema of the manifest.
import { code, PluginError, shown } from "./errors.js";

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** What a value of each type is called, how it is recognised, and how a word becomes one. */
const types = {
  string: { noun: "a string", is: (v) => typeof v === "string", from: (word) => word },
  integer: {
    noun: "an integer",
    is: (v) => Number.isInteger(v),
    from: (word) => (/^[-+]?\d+$/.test(word) ? Number(word) : undefined),
  },
  number: {
    noun: "a number",
    is: (v) => typeof v === "number",
    from: (word) => (word.trim() && Number.isFinite(Number(word)) ? Number(word) : undefined),
  },
  boolean: {
    noun: "true or false",
    is: (v) => typeof v === "boolean",
    from: (word) =>
      ({ true: true, yes: true, on: true, 1: true, false: false, no: false, off: false, 0: false })[
        word.toLowerCase()
      ],
  },
  array: { noun: "an array", is: Array.isArray, from: (word) => fromJson(word, Array.isArray) ?? [word] },
  object: { noun: "an object", is: isObject, from: (word) => fromJson(word, isObject) },
  any: { noun: "a value", is: () => true, from: (word) => word },
};

function fromJson(word, is) {
  try {
    const value = JSON.parse(word);
    return is(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const wrong = (name, text) => new PluginError(code.params, `${name}: ${text}`);

function readField(name, given) {
  const field = typeof given === "string" ? { type: given } : { ...given };
  field.type ??= field.enum ? typeof field.enum[0] : "any";
  if (!Object.hasOwn(types, field.type))
    throw new TypeError(
      `field ${name}: no type ${shown(field.type)}; there are ${Object.keys(types).join(", ")}`,
    );
  field.name = name;
  field.required = !("default" in field) && !field.optional;
  return field;
}

function expected(field, value) {
  const noun = field.enum ? `one of ${field.enum.map(shown).join(", ")}` : types[field.type].noun;
  return wrong(field.name, `${noun} is expected, not ${shown(value)}`);
}

function checked(field, value) {
  if (!types[field.type].is(value)) throw expected(field, value);
  if (field.enum && !field.enum.includes(value)) throw expected(field, value);
  if (field.type === "integer" && !Number.isSafeInteger(value))
    throw wrong(field.name, `${value} is beyond 2^53, where JavaScript has no exact integers`);
  if (value < field.minimum) throw wrong(field.name, `at least ${field.minimum} is expected, not ${value}`);
  if (value > field.maximum) throw wrong(field.name, `at most ${field.maximum} is expected, not ${value}`);
  return value;
}

function missing(field) {
  if (field.required) throw wrong(field.name, "is missing");
  return typeof field.default === "object" ? structuredClone(field.default) : field.default;
}

/** The parameters of one function. */
export class Fields {
  /** @param table name → field, or nothing: then everything goes through as it was sent */
  constructor(table, strict) {
    this.open = table === undefined;
    this.strict = strict;
    this.list = Object.entries(table ?? {}).map(([name, given]) => readField(name, given));
  }

  find(name) {
    return this.list.find((field) => field.name === name);
  }

  /** By name, as JSON has them. Null counts as absent. */
  fromObject(given) {
    if (this.open) return given;
    if (Array.isArray(given)) return this.fromArray(given);
    const args = {};
    for (const field of this.list) {
      const value = given[field.name];
      const absent = value === undefined || (value === null && field.type !== "any");
      args[field.name] = absent ? missing(field) : checked(field, value);
    }
    if (this.strict) this.refuseUnknown(Object.keys(given));
    return args;
  }

  /** By position, as JSON has them. */
  fromArray(values) {
    if (values.length > this.list.length)
      throw new PluginError(
        code.params,
        `at most ${this.list.length} parameters are expected, not ${values.length}`,
      );
    return this.fromObject(Object.fromEntries(values.map((value, i) => [this.list[i].name, value])));
  }

  /** Words by position, the rest by name from flags. Texts are turned into the declared types. */
  fromWords(words, flags) {
    if (this.open) return { args: words, flags };
    const given = {};
    const positional = this.list.filter((field) => !Object.hasOwn(flags, field.name));
    words.forEach((word, i) => {
      if (!positional[i]) throw new PluginError(code.params, `${shown(word)}: one word too many`);
      given[positional[i].name] = this.fromText(positional[i], word);
    });
    for (const [name, value] of Object.entries(flags)) {
      const field = this.find(name);
      if (field) given[name] = this.fromText(field, value);
      else if (this.strict) throw wrong(name, "is unknown");
    }
    return this.fromObject(given);
  }

  /** The words of a chat message; the last parameter, if it is a text, takes the rest of the line. */
  fromLine(line) {
    if (this.open) return { text: line, words: splitWords(line).map((part) => part.word) };
    const parts = splitWords(line);
    const last = this.list.length - 1;
    if (this.list[last]?.type === "string" && !this.list[last].enum && parts.length > this.list.length) {
      const rest = line.slice(parts[last].at).trim();
      parts.splice(last, parts.length, { word: rest });
    }
    return this.fromWords(
      parts.map((part) => part.word),
      {},
    );
  }

  fromText(field, word) {
    if (typeof word !== "string") return word;
    const value = types[field.type].from(word);
    if (value === undefined) throw expected(field, word);
    return value;
  }

  refuseUnknown(names) {
    for (const name of names) if (!this.find(name)) throw wrong(name, "is unknown");
  }

  /** JSON schema of the parameters: properties and required. */
  schema() {
    const properties = {};
    for (const field of this.list) {
      const { name, required, optional, ...rest } = field;
      properties[name] = rest;
      if (rest.type === "any") delete rest.type;
    }
    return { properties, required: this.list.filter((field) => field.required).map((field) => field.name) };
  }
}

/** Words of a line, with quotes as in a shell: [{ word, at }]. A quote that is never closed is a character. */
export function splitWords(line) {
  const words = [];
  let word; // undefined between words
  let at = 0;
  const add = (text, from) => {
    if (word === undefined) at = from;
    word = (word ?? "") + text;
  };
  for (let i = 0; i < line.length; i++) {
    const mark = line[i];
    const close = mark === '"' || mark === "'" ? closing(line, i) : -1;
    if (close > 0) {
      const inside = line.slice(i + 1, close);
      add(mark === '"' ? inside.replace(/\\(["\\])/g, "$1") : inside, i);
      i = close;
    } else if (mark === "\\" && i + 1 < line.length) add(line[++i], i - 1);
    else if (/\s/.test(mark)) {
      if (word !== undefined) words.push({ word, at });
      word = undefined;
    } else add(mark, i);
  }
  if (word !== undefined) words.push({ word, at });
  return words;
}

function closing(line, from) {
  for (let i = from + 1; i < line.length; i++) {
    if (line[i] === line[from]) return i;
    if (line[i] === "\\" && line[from] === '"') i++;
  }
  return -1;
}

/**
 * A command line without a declaration: --key value, --key=value, --key, repeated ones as a list; -- ends
 * them. A field that is declared as boolean takes no word.
 */
export function splitFlags(words, fields) {
  const args = [];
  const flags = {};
  const add = (name, value) => {
    flags[name] = Object.hasOwn(flags, name) ? [flags[name], value].flat() : value;
  };
  for (let i = 0; i < words.length; i++) {
    const found = /^--([^=]+)(?:=([\s\S]*))?$/.exec(words[i]);
    if (words[i] === "--") {
      args.push(...words.slice(i + 1));
      break;
    }
    if (!found) args.push(words[i]);
    else if (found[2] !== undefined) add(found[1], found[2]);
    else if (fields.find(found[1])?.type === "boolean" || !(i + 1 in words) || words[i + 1].startsWith("-"))
      add(found[1], true);
    else add(found[1], words[++i]);
  }
  return { args, flags };
}
