// SPDX-License-Identifier: Apache-2.0
// yams: external plugins of the YAMS content store.
import fs from "node:fs/promises";
import { code, PluginError, shown } from "../errors.js";
import { isObject, MIB, notFound, runEntry, then } from "./common.js";

/** What is to be read: source.path, or source.bytes; read() and text() take either. */
class Source {
  constructor({ type, path, data }) {
    this.type = type;
    if (path !== undefined) this.path = path;
    if (data !== undefined) this.bytes = Buffer.from(data, "base64");
  }

  async read() {
    return this.bytes ?? fs.readFile(this.path);
  }

  async text() {
    return (await this.read()).toString("utf8");
  }
}

const wrong = (text) => new PluginError(code.params, text);

function readSource(given) {
  if (given === undefined || given === null) throw wrong("source: is missing");
  if (!isObject(given)) throw wrong("source: an object is expected");
  const wanted = { path: "path", bytes: "data" }[given.type];
  if (!wanted)
    throw wrong(`source.type: one of "path", "bytes" is expected, not ${JSON.stringify(given.type)}`);
  if (given[wanted] === undefined) throw wrong(`source.${wanted}: is missing`);
  if (typeof given[wanted] !== "string") throw wrong(`source.${wanted}: a string is expected`);
  if (wanted === "data" && !/^[A-Za-z0-9+/_-]*={0,2}$/.test(given.data))
    throw wrong("source.data: base64 is expected");
  return new Source(given);
}

function extracted(call, value) {
  const result = isObject(value) ? value : { content: value ?? "" };
  const content = call.withPieces(String(result.content ?? result.text ?? ""));
  return { success: true, metadata: {}, error: null, ...result, content, text: content };
}

const norm = (extension) => extension.toLowerCase().replace(/^\.?/, ".");

function supports({ formats = [], extensions = [] }, { mime_type, extension }) {
  if (mime_type === undefined && extension === undefined)
    throw new PluginError(code.params, "mime_type: is missing (or extension)");
  return (
    (typeof mime_type === "string" &&
      formats.some((format) => format.toLowerCase() === mime_type.toLowerCase())) ||
    (typeof extension === "string" && extension !== "" && extensions.map(norm).includes(norm(extension)))
  );
}

/** Rows that need plugin.init before. */
function needsInit(run) {
  return {
    run(session, request) {
      if (!session.started) throw new PluginError(code.notInitialized, "Not initialized");
      return run(session, request);
    },
  };
}

function extractorOf(session, request) {
  if (!session.plugin.extractors.length) throw notFound(request.method);
  const { params } = request;
  const { mime_type, extension } = { ...params.options, ...params };
  const fits = ({ options }) =>
    (mime_type ?? extension) !== undefined && supports(options, { mime_type, extension });
  return session.plugin.extractors.find(fits) ?? session.plugin.extractors[0];
}

export function handshake(plugin) {
  const { version, description, author } = plugin.options;
  const name = plugin.options.name.replace(/\W/g, "_"); // letters, digits and underscores are allowed
  const all = (key) => [...new Set(plugin.extractors.flatMap(({ options }) => options[key] ?? []))];
  const extracts = plugin.extractors.length > 0;
  return {
    name,
    version,
    description,
    ...(author === undefined ? {} : { author }),
    interfaces: plugin.options.interfaces ?? (extracts ? ["content_extractor_v1"] : []),
    capabilities: {
      ...(extracts ? { content_extraction: { formats: all("formats"), extensions: all("extensions") } } : {}),
      ...plugin.options.capabilities,
    },
  };
}

const methods = {
  "handshake.manifest": { now: true, run: (session) => handshake(session.plugin) },
  "plugin.init": {
    async run(session, { params }) {
      const config = isObject(params) ? (params.config === undefined ? params : (params.config ?? {})) : {};
      if (!isObject(config)) throw wrong(`config: an object is expected, not ${shown(config)}`);
      await session.close();
      const applied = await session.start(config);
      return { status: "initialized", config_applied: isObject(applied) ? applied : config };
    },
  },
  "plugin.health": { now: true, run: () => ({ status: "ok" }) },
  "plugin.shutdown": { stops: true, run: (session) => session.close().then(() => null) },
  "extractor.supports": needsInit((session, request) => {
    extractorOf(session, request);
    const { mime_type } = request.params;
    const declared = (params) => session.plugin.extractors.some(({ options }) => supports(options, params));
    const found = declared(request.params);
    return { supported: found, confidence: !found ? 0 : declared({ mime_type: mime_type ?? "" }) ? 1 : 0.8 };
  }),
  "extractor.extract": needsInit((session, request) => {
    const { options, fn } = extractorOf(session, request);
    const call = session.newCall(request);
    call.source = readSource(request.params.source);
    call.options = isObject(request.params.options) ? request.params.options : {};
    request.failure = options.failure ?? code.extraction;
    return then(session.run(call, fn, call.source), (value) => extracted(call, value));
  }),
};

const initialized = needsInit((session, request) =>
  runEntry(session, request, session.plugin.methods.get(request.method)),
);

export default {
  name: "yams",
  framing: "lines",
  limit: 256 * MIB,
  methods,
  own: {
    run(session, request) {
      const entry = session.plugin.methods.get(request.method);
      if (!entry) throw notFound(request.method);
      // The author's instead of the library's: it needs no init.
      if (!/^(handshake|plugin)\./.test(request.method)) return initialized.run(session, request);
      return entry.fn(entry.fields.fromObject(request.params), session.newCall(request));
    },
  },
};
