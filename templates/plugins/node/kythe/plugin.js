#!/usr/bin/env node
import fs from "node:fs";
import { Plugin } from "tenon";

export const plugin = new Plugin({
  name: "@NAME@",
  version: "0.1.0",
  description: "Indexes notes",
  dialect: "kythe",
});

// A node for each file, and one for each of its titles.
plugin.analysis("/kythe/index/note", async (unit, call) => {
  for (const path of unit.inputs) {
    const file = await call.vname(path);
    const text = fs.readFileSync(path, "utf8");
    call.fact(file, "/kythe/node/kind", "file");
    call.fact(file, "/kythe/text", text);
    for (const [, title] of text.matchAll(/^# (.*)/gm)) {
      const node = { ...file, signature: title, language: "note" };
      call.fact(node, "/kythe/node/kind", "doc");
      call.edge(node, "/kythe/edge/childof", file);
    }
  }
});

plugin.run(import.meta);
