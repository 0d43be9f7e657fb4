#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// node sunscreen-json.mjs --manifest >sunscreen-plugin.json; mortise run . todo --workspace DIR
import fs from "node:fs";
import { Plugin } from "tenon";

const about = { name: "todo", version: "1.0.0", description: "Finds what is to do" };
const plugin = new Plugin({ ...about, dialect: "sunscreen-json" });
const fields = { word: { type: "string", default: "TODO", description: "What marks a line" } };

plugin.command("todo", "Lists marked lines of the programs", fields, ({ word }, { workspace }) => {
  const found = [];
  for (const name of fs.readdirSync(workspace, { recursive: true })) {
    if (!name.endsWith(".rs")) continue;
    const lines = fs.readFileSync(`${workspace}/${name}`, "utf8").split("\n");
    lines.forEach((line, i) => line.includes(word) && found.push(`${name}:${i + 1}: ${line.trim()}`));
  }
  return found.join("\n") || "nothing to do";
});

plugin.run(import.meta);
