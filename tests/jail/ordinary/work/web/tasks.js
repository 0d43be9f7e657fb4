// SPDX-License-Identifier: Apache-2.0
const { Worker, isMainThread, parentPort } = require("worker_threads");
const { execFileSync } = require("child_process"), fs = require("fs");
if (isMainThread) {
  new Worker(__filename).on("message", (m) => {
    fs.writeFileSync("out.txt", m + execFileSync("echo", ["child"]));
    console.log(fs.readFileSync("out.txt", "utf8"));
  });
} else {
  parentPort.postMessage("thread\n");
}
