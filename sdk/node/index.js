// SPDX-License-Identifier: Apache-2.0
// Tenon: the plugin author's side of Mortise, in Node. What is promised is in index.d.ts.
import { guard } from "./lib/wire.js";

guard();

export { PluginError } from "./lib/errors.js";
export { Plugin } from "./lib/plugin.js";
export { Done, Extraction, Reply } from "./lib/results.js";
