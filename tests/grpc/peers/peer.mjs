// SPDX-License-Identifier: Apache-2.0
// A Sunscreen plugin on @grpc/grpc-js and its loader of .proto files, without Tenon. It does what peer.py does.
// GRPC_JS names the node_modules with both, PROTO the directory of the .proto files.
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const require = createRequire(path.join(process.env.GRPC_JS, "x.js"));
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");
const load = (file) =>
  loader.loadSync(file, { includeDirs: [process.env.PROTO], keepCase: true, defaults: true, oneofs: true });
const plugin = load("sunscreen_plugin.proto")["sunscreen.plugin.v1.Plugin"];
const stream = load("sunscreen_stream.proto")["mortise.sunscreen.v1.Stream"];
const commands = ["hello", "fail", "broken", "crash", "wait"];

const server = new grpc.Server();
const answer = (work) => (call, done) => done(null, work(call.request));

function run({ name, args }) {
  if (name === "crash") process.exit(3);
  if (name === "hello") return { ok: true, json_result: JSON.stringify({ words: args }) };
  return name === "broken" ? { ok: true, json_result: "{no" } : { json_result: "it has failed" };
}

server.addService(plugin, {
  Initialize: answer(({ protocol_version }) => ({ protocol_version, accepted_capabilities: ["peer"] })),
  Capabilities: answer(() => ({
    commands: commands.map((name) => ({ kind: "app", name, summary: `${name} of a peer` })),
    hooks: ["post-build"],
    extensions: ["mortise.sunscreen.v1.Stream"],
  })),
  RunCommand: answer(run),
  RunHook: answer(({ json_context }) => ({
    ok: true,
    json_result: JSON.stringify({ context: JSON.parse(json_context) }),
  })),
  Shutdown: answer(() => {
    setImmediate(() => server.tryShutdown(() => process.exit(0)));
    return { ok: true };
  }),
});

server.addService(stream, {
  RunCommandStream(call) {
    const wait = () => {
      call.write({ result: { ok: true, json_result: '"cancelled"' } });
      call.end();
    };
    call.on("data", ({ message, run: asked }) => {
      if (message === "cancel") wait();
      else if (asked.name === "wait") call.write({ progress: { text: "waits" } });
      else {
        call.write({ progress: { fraction: 0.25, text: "a quarter" } });
        call.write({ log: { level: "warning", text: "a line of a peer" } });
        call.write({ piece: { text: "a piece " } });
        call.write({ result: run(asked) });
        call.end();
      }
    });
  },
});

const given = process.env.PEER_LINE ? "" : process.env.MORTISE_GRPC_SOCKET;
const place = given || path.join(os.tmpdir(), "peer.sock");
server.bindAsync(`unix:${place}`, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
  if (!given) console.log(`1|1|unix|${place}|grpc`);
});
