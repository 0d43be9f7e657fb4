#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Every file, and the functions that C sources define. mortise index X.kzip -- node kythe.mjs
import fs from "node:fs";
import { Plugin } from "tenon";

const plugin = new Plugin({ name: "outline", version: "1.0.0", description: "Files and C functions" });

plugin.analysis("/kythe/index/c++", async (unit, call) => {
  for (const path of unit.inputs) {
    const file = await call.vname(path);
    const text = fs.readFileSync(path, "utf8");
    call.fact(file, "/kythe/node/kind", "file");
    call.fact(file, "/kythe/text", text);
    for (const [, name] of text.matchAll(/^\w[\w\s*]*?(\w+)\([^;]*\)\n\{/gm)) {
      const node = { ...file, path: "", language: "c++", signature: `${path}#${name}` };
      call.fact(node, "/kythe/node/kind", "function");
      call.edge(node, "/kythe/edge/childof", file);
    }
  }
});

plugin.run(import.meta);
