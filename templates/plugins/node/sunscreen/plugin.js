#!/usr/bin/env node
import fs from "node:fs";
import path from "node:path";
import { Done, Plugin } from "tenon";

export const plugin = new Plugin({
  name: "@NAME@",
  version: "0.1.0",
  description: "Greets in files",
  dialect: "sunscreen",
});

const fields = { name: { type: "string", description: "who is greeted" } };

plugin.command("scaffold:hello", "Writes a greeting", fields, ({ name }, { workspace }) => {
  const file = `hello-${name.toLowerCase()}.txt`;
  fs.writeFileSync(path.join(workspace, file), `Hello, ${name}!\n`);
  return new Done(`greeted ${name}`, [file]);
});

plugin.run(import.meta);
