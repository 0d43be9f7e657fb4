// SPDX-License-Identifier: Apache-2.0
// The same echo without a package, as the listings of specifications have it: a readline loop.
import { createInterface } from "node:readline";

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, params } = JSON.parse(line);
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result: params }) + "\n");
});
