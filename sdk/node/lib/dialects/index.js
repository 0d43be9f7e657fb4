// SPDX-License-Identifier: Apache-2.0
// The dialects, and which of them is spoken.
import { guessFraming } from "../frames.js";
import ayiou from "./ayiou.js";
import gassist from "./gassist.js";
import kythe from "./kythe.js";
import plain from "./plain.js";
import { sunscreen, sunscreenJson } from "./sunscreen.js";
import yams from "./yams.js";

export const dialects = { yams, ayiou, gassist, sunscreen, "sunscreen-json": sunscreenJson, kythe, plain };

/** Whether the plugin has something to say in a dialect. Methods are for every one that has calls. */
export function has(plugin, name) {
  const { methods, commands, hooks, handlers, extractors, analyses } = plugin;
  const parts = {
    yams: extractors.length + methods.size,
    ayiou: handlers.length + commands.size + methods.size,
    gassist: commands.size + methods.size,
    sunscreen: commands.size + hooks.size + methods.size,
    "sunscreen-json": commands.size + hooks.size + methods.size,
    kythe: analyses.length,
    plain: methods.size + commands.size,
  };
  return Object.hasOwn(parts, name) && parts[name] > 0;
}

/** The dialects that the declarations mean: one, or those among which the first bytes decide. */
export function meant(plugin) {
  const { dialect } = plugin.options;
  if (dialect !== undefined) return [dialect].flat();
  const strong = [
    ...(plugin.extractors.length ? ["yams"] : []),
    ...(plugin.handlers.length ? ["ayiou"] : []),
    ...(plugin.hooks.size ? ["sunscreen", "sunscreen-json"] : []),
    ...(plugin.analyses.length ? ["kythe"] : []),
  ];
  if (strong.length) return strong;
  return plugin.commands.size ? ["gassist", "ayiou", "sunscreen", "sunscreen-json", "plain"] : ["plain"];
}

const methodNames = {
  metadata: "ayiou",
  matches: "ayiou",
  lifecycle: "ayiou",
  commands: "sunscreen",
  run: "sunscreen",
  hook: "sunscreen",
};

function byMethod(line) {
  let method;
  try {
    const message = JSON.parse(line);
    ({ method } = Array.isArray(message) ? message[0] : message);
  } catch {
    return "plain";
  }
  if (typeof method !== "string") return "plain";
  if (method === "handshake.manifest" || method.startsWith("plugin.")) return "yams";
  return Object.hasOwn(methodNames, method) ? methodNames[method] : "plain";
}

/**
 * What the first bytes show: { dialect, framing }, or undefined while more of them are needed. `final`: none
 * will come.
 */
export function guess(names, bytes, final) {
  const framing = guessFraming(bytes) ?? (final ? "lines" : undefined);
  if (!framing) return undefined;
  let name = { be32: "gassist", headers: "sunscreen-json", decimal: "plain" }[framing];
  if (framing === "lines") {
    const left = names.filter((one) => dialects[one].framing === "lines");
    if (left.length === 1 && !names.includes("plain")) [name] = left;
    else {
      const end = bytes.indexOf(10);
      if (end < 0 && !final) return undefined;
      name = byMethod(bytes.toString("utf8", 0, end < 0 ? bytes.length : end));
    }
  }
  return { dialect: dialects[names.includes(name) && name !== "kythe" ? name : "plain"], framing };
}
