#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// mortise run -d gassist checksum path=/bin/true -- node gassist.mjs
import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { Plugin } from "tenon";

const plugin = new Plugin({ name: "checksum", version: "1.0.0", description: "Checksums of files" });
const fields = { path: "string", algorithm: { enum: ["sha256", "sha512", "md5"], default: "sha256" } };

plugin.command("checksum", "The checksum of a file", fields, async ({ path, algorithm }, call) => {
  const hash = createHash(algorithm);
  let read = 0;
  for await (const piece of createReadStream(path, { signal: call.signal })) {
    hash.update(piece);
    await call.progress((read += piece.length) / statSync(path).size);
  }
  call.stream(`${algorithm} of ${path}: `);
  return hash.digest("hex");
});

plugin.run(import.meta);
