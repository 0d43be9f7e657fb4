#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// lookout: a G-Assist plugin. What its functions take is here; what they do is in the files beside it.
// Everything is asynchronous, so pings are answered while a function runs.
import fs from "node:fs";
import { Plugin } from "tenon";
import { disk } from "./disk.mjs";
import { explore } from "./explore.mjs";
import { memory, overview, ports, processor } from "./machine.mjs";

// The build writes the version there.
const { name, version, description } = JSON.parse(fs.readFileSync(new URL("manifest.json", import.meta.url)));
const plugin = new Plugin({ name, version, description, dialect: "gassist" });

const place = (text) => ({
  type: "string",
  default: "~",
  description: `${text}; default: the home directory`,
});
const top = { type: "integer", default: 10, minimum: 1, maximum: 1000, description: "How many to list" };
const seconds = { type: "number", default: 2, minimum: 0.1, maximum: 60, description: "How long to measure" };

plugin.command("overview", "One look at the machine: load, memory, file systems, uptime.", {}, overview);
plugin.command(
  "disk",
  "What takes the space below a directory: its largest directories and files.",
  { path: place("Directory to look through"), top },
  disk,
);
plugin.command(
  "memory",
  "Which programs hold the memory, processes of the same name taken together.",
  { top },
  memory,
);
plugin.command(
  "processor",
  "Which processes use the processor, measured for some seconds.",
  { seconds, top },
  processor,
);
plugin.command("ports", "Which ports are listened on, and by whom.", {}, ports);
plugin.command(
  "explore",
  "Walk through a directory by size, in a conversation: numbers go in, 'up' goes back, 'exit' ends it.",
  { path: place("Where to begin") },
  explore,
);

plugin.run(import.meta);
