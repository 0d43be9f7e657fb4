#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// node sunscreen.mjs --manifest sunscreen >plugin.toml; mortise run . scaffold:error TooLate --workspace DIR
import fs from "node:fs";
import { Done, Plugin, PluginError } from "tenon";

const plugin = new Plugin({ name: "errors", version: "1.0.0", description: "Error codes of a program" });
const fields = { name: "string", program: { type: "string", default: "app" } };

plugin.command("error", "Adds an error code", fields, ({ name, program }, { workspace }) => {
  const file = `programs/${program}/src/errors.rs`;
  const old = fs.existsSync(`${workspace}/${file}`) ? fs.readFileSync(`${workspace}/${file}`, "utf8") : "";
  const codes = /\{([^]*)\}/.exec(old)?.[1] ?? "\n";
  if (codes.includes(`    ${name},`))
    throw new PluginError(4, `${name} exists`, { next_step: "pick another name" });
  const head = "use anchor_lang::prelude::*;\n\n#[error_code]\npub enum Errors {";
  fs.writeFileSync(`${workspace}/${file}`, `${head}${codes}    #[msg("${name}")]\n    ${name},\n}\n`);
  return new Done(`added the error ${name}`, [file]);
});

plugin.run(import.meta);
