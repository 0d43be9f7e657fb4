// SPDX-License-Identifier: Apache-2.0
// sunscreen (lines; commands, run, hook) and sunscreen-json (Content-Length; one process per call).
import { code, PluginError, shown } from "../errors.js";
import { splitFlags } from "../fields.js";
import { isObject, MIB, own, then } from "./common.js";

/** The command that is meant: KIND:NAME, or its name alone. */
export function findCommand(plugin, wanted, kind, ownKind) {
  const [asked, name] = wanted.includes(":") ? wanted.split(/:(.*)/s) : [kind, wanted];
  const all = [...plugin.commands.values()].filter(
    (entry) => entry.name === name || entry.aliases.includes(name),
  );
  return asked ? all.find((entry) => (entry.kind ?? ownKind) === asked) : all[0];
}

function finished(call, value) {
  const result = isObject(value)
    ? value
    : { summary: value === undefined || value === null ? "" : String(value) };
  const summary =
    typeof (result.summary ?? "") === "string" ? call.withPieces(result.summary ?? "") : result.summary;
  return { files_written: [], ...result, summary };
}

const list = (name, value = []) => {
  if (Array.isArray(value)) return value.map(String);
  throw new PluginError(code.params, `${name}: an array is expected, not ${shown(value)}`);
};

function text(params, name) {
  if (params[name] === undefined) throw new PluginError(code.params, `${name}: is missing`);
  if (typeof params[name] === "string") return params[name];
  throw new PluginError(code.params, `${name}: a string is expected, not ${shown(params[name])}`);
}

function perform(session, request, fn, args, about) {
  const call = Object.assign(session.newCall(request), about);
  return session.whenStarted(() => then(session.run(call, fn, args), (value) => finished(call, value)));
}

function command(session, request, kind) {
  const wanted = text(request.params, "command");
  const { plugin, dialect } = session;
  const entry = findCommand(plugin, wanted, kind, dialect.kind) ?? (kind && findCommand(plugin, wanted));
  if (!entry) throw new PluginError(code.method, `Unknown command: ${wanted}`);
  return entry;
}

function hook(session, request, name) {
  const entry = session.plugin.hooks.get(name.replace(/^hook:/, ""));
  if (!entry) throw new PluginError(code.method, `Unknown hook: ${name}`);
  return entry;
}

export function listCommands(plugin, ownKind) {
  const all = {};
  for (const entry of plugin.commands.values())
    (all[entry.kind ?? ownKind] ??= {})[entry.name] = entry.description;
  if (plugin.hooks.size) all.hook = {};
  for (const entry of plugin.hooks.values()) all.hook[entry.name] = entry.description;
  return all;
}

const lineMethods = {
  commands: { now: true, run: ({ plugin, dialect }) => listCommands(plugin, dialect.kind) },
  run: {
    run(session, request) {
      const { params } = request;
      const entry = command(session, request);
      const words = list("args", params.args ?? undefined);
      const flags = isObject(params.flags) ? params.flags : {};
      const about = {
        workspace: params.workspace_root ?? "",
        config: params.config ?? {},
        flags,
        args: words,
      };
      return perform(session, request, entry.fn, entry.fields.fromWords(words, flags), about);
    },
  },
  hook: {
    run(session, request) {
      const entry = hook(session, request, text(request.params, "name"));
      const context = isObject(request.params.context) ? request.params.context : {};
      const about = {
        workspace: context.workspace_root ?? "",
        config: context.config ?? {},
        flags: {},
        args: [],
        context,
      };
      return perform(session, request, entry.fn, context, about);
    },
  },
};

/** What the words of one process say. */
function placeOf({ params }) {
  const { workspace = "", scratch = "" } = params;
  return { workspace, scratch, config: {} };
}

/** A command with the words as they were typed, flags among them. */
const typed = {
  run(session, request) {
    const entry = command(session, request, request.params.kind);
    const { args, flags } = splitFlags(list("args", request.params.args ?? undefined), entry.fields);
    return perform(session, request, entry.fn, entry.fields.fromWords(args, flags), {
      ...placeOf(request),
      flags,
      args,
    });
  },
};

const jsonMethods = {
  "sunscreen.command/run": typed,
  "sunscreen.hook/run": {
    run(session, request) {
      const entry = hook(session, request, text(request.params, "command"));
      const args = list("args", request.params.args ?? undefined);
      const place = placeOf(request);
      const context = { workspace_root: place.workspace, args };
      return perform(session, request, entry.fn, context, { ...place, flags: {}, args, context });
    },
  },
};

const common = { limit: 256 * MIB, own, failure: 1 };

export const sunscreen = {
  ...common,
  name: "sunscreen",
  framing: "lines",
  kind: "scaffold",
  methods: lineMethods,
  typed, // for gRPC
};
export const sunscreenJson = {
  ...common,
  name: "sunscreen-json",
  framing: "headers",
  kind: "app",
  methods: jsonMethods,
};
