// SPDX-License-Identifier: Apache-2.0
// vscode-jsonrpc.mjs MODULES SECONDS DEPTH:SIZE...: a host and a plugin (this file again) on vscode-jsonrpc,
// over stdin and stdout with Content-Length, for each point of bench/sweep.h. MODULES: where npm has put it.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import process from "node:process";
import { sweep } from "./sweep.mjs";

const [modules, ...words] = process.argv.slice(2);
const rpc = createRequire(`${modules}/package.json`)("vscode-jsonrpc/node");

function connect(input, output) {
    return rpc.createMessageConnection(new rpc.StreamMessageReader(input), new rpc.StreamMessageWriter(output));
}

function serve() {
    const connection = connect(process.stdin, process.stdout);
    connection.onRequest("echo", (params) => params);
    connection.onClose(() => process.exit(0));
    connection.listen();
}

async function host() {
    const args = [process.argv[1], modules, "plugin"];
    const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
    const connection = connect(child.stdout, child.stdin);
    connection.listen();
    await sweep(async (text) => (await connection.sendRequest("echo", { text })).text, words);
    connection.dispose();
    child.stdin.end();
}

if (words[0] === "plugin")
    serve();
else
    await host();
