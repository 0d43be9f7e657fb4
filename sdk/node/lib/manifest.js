// SPDX-License-Identifier: Apache-2.0
// The manifest file that goes beside a plugin, made from its declarations; and a word to people at a terminal.
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { listCommands } from "./dialects/sunscreen.js";
import { handshake } from "./dialects/yams.js";

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
const quoted = (text) => JSON.stringify(text); // TOML's basic strings are JSON's
const bare = (key) => (/^[A-Za-z0-9_-]+$/.test(key) ? key : quoted(key));
const toml = (table) =>
  Object.entries(table)
    .filter(([, members]) => Object.keys(members).length)
    .map(
      ([name, members]) =>
        `[${name}]\n${Object.entries(members)
          .map(([k, v]) => `${bare(k)} = ${quoted(v)}\n`)
          .join("")}`,
    )
    .join("\n");

const file = () => path.basename(process.argv[1] ?? "plugin.mjs");
const entry = () => `./${file()}`;

function executable() {
  try {
    accessSync(process.argv[1], constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function gassist(plugin) {
  const { name, version, description, persistent = true } = plugin.options;
  const functions = [...plugin.commands.values()].map((command) => ({
    name: command.name,
    description: command.description || command.name,
    ...command.fields.schema(),
  }));
  const about = { manifestVersion: 1, name, version, description, protocol_version: "2.0" };
  return json({ ...about, executable: file(), persistent, functions });
}

function yams(plugin) {
  const about = { ...handshake(plugin), transport: "external" };
  const place = "${plugin_dir}/" + file();
  const binary = executable() ? { binary: { linux: place } } : {};
  return json({ ...about, entry: { ...binary, cmd: ["node", place] } });
}

function sunscreen(plugin) {
  const { name, version, description, permissions = {} } = plugin.options;
  const { workspace_write = true, network = false, declared_paths = [] } = permissions;
  const kinds = listCommands(plugin, "scaffold");
  return toml({
    plugin: { name, version, description, entry: entry() },
    permissions: { workspace_write, network, declared_paths },
    ...Object.fromEntries(
      Object.entries(kinds).map(([kind, members]) => [`commands.${bare(kind)}`, members]),
    ),
  });
}

function sunscreenJson(plugin) {
  const { name, version, description, permissions = {} } = plugin.options;
  const commands = [...plugin.commands.values()].map((command) => ({
    name: command.name,
    kind: command.kind ?? "app",
    summary: command.description,
  }));
  const capabilities = { network: permissions.network ?? false, filesystem: ["workspace", "scratch"] };
  const about = { name, version, description, transport: "stdio-jsonrpc", entrypoint: ["node", entry()] };
  return json({ ...about, capabilities, commands, hooks: [...plugin.hooks.keys()] });
}

/** A section of the bot's file: Ayiou has no manifests. */
function ayiou({ options }) {
  const key = `external-plugin-bridge.plugins.${bare(options.name)}`;
  const command = executable() ? { command: entry() } : { command: "node", args: [entry()] };
  return `[external-plugin-bridge]\nenabled = true\n\n${toml({ [key]: command })}`;
}

const own =
  (dialect) =>
  ({ options: { name, version, description } }) =>
    toml({ plugin: { name, version, description, dialect, command: ["node", entry()] } });

const makers = {
  yams,
  gassist,
  sunscreen,
  "sunscreen-json": sunscreenJson,
  ayiou,
  kythe: own("kythe"),
  plain: own("plain"),
};

export function manifest(plugin, dialect) {
  if (Object.hasOwn(makers, dialect)) return makers[dialect](plugin);
  process.stderr.write(`no dialect "${dialect}"; there are ${Object.keys(makers).join(", ")}\n`);
  return process.exit(2);
}

const first = (map, other) => map.keys().next().value ?? other;

/** What to type to use this plugin. */
const uses = {
  yams: () => `mortise extract FILE --plugin ${entry()} --dialect yams`,
  gassist: (plugin) => `mortise run -d gassist ${first(plugin.commands, "NAME")}`,
  sunscreen: (plugin) => `mortise call -d sunscreen run command=${first(plugin.commands, "NAME")}`,
  "sunscreen-json": () => "mortise call -d sunscreen-json sunscreen.command/run",
  ayiou: () => "mortise call -d ayiou handle text=TEXT message_type=private user_id=1",
  kythe: () => "mortise index UNITS.kzip --analyzer",
  plain: (plugin) => `mortise call ${first(plugin.methods, first(plugin.commands, "METHOD"))}`,
};

export function hint(plugin, dialect) {
  const use = uses[dialect](plugin);
  const whole = dialect === "yams" ? use : `${use} -- node ${process.argv[1] ?? entry()}`;
  return `${plugin.options.name}: a plugin: it waits for a host on stdin. Start one: ${whole}\n`;
}

/** What `--help` prints. */
export function help(plugin, dialects) {
  const { name, version, description } = plugin.options;
  return `${name} ${version ?? ""}${description ? `: ${description}` : ""}
A plugin (${dialects.join(" or ")}): a host starts it, and they speak over its stdin and stdout.

  --manifest [DIALECT]  print its manifest
  --help                print this

Try: mortise info -- node ${process.argv[1] ?? entry()}
`;
}
