// SPDX-License-Identifier: Apache-2.0
// mcp.mjs MODULES SECONDS DEPTH:SIZE...: a client and a server (this file again) of the Model Context
// Protocol's TypeScript SDK, over stdin and stdout, for each point of bench/sweep.h. The echo is a tool.
// MODULES: where npm has put the SDK.
import { createRequire } from "node:module";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { sweep } from "./sweep.mjs";

const [modules, ...words] = process.argv.slice(2);
const resolve = createRequire(`${modules}/package.json`).resolve;
const sdk = (name) => import(pathToFileURL(resolve(`@modelcontextprotocol/sdk/${name}`)));
const about = { name: "mortise-bench", version: "1.0.0" };

async function serve() {
    const { Server } = await sdk("server/index.js");
    const { StdioServerTransport } = await sdk("server/stdio.js");
    const { CallToolRequestSchema } = await sdk("types.js");
    const server = new Server(about, { capabilities: { tools: {} } });
    server.setRequestHandler(CallToolRequestSchema, (request) => ({
        content: [{ type: "text", text: request.params.arguments.text }],
    }));
    process.stdin.on("end", () => process.exit(0));
    await server.connect(new StdioServerTransport());
}

async function host() {
    const { Client } = await sdk("client/index.js");
    const { StdioClientTransport } = await sdk("client/stdio.js");
    const client = new Client(about);
    const args = [process.argv[1], modules, "plugin"];
    await client.connect(new StdioClientTransport({ command: process.execPath, args }));
    await sweep(async (text) => {
        const reply = await client.callTool({ name: "echo", arguments: { text } });
        return reply.content[0].text;
    }, words);
    await client.close();
}

if (words[0] === "plugin")
    await serve();
else
    await host();
