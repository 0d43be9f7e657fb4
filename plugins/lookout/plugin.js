#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
'use strict';
// lookout: a G-Assist plugin (protocol V2) written from the specification alone. This file is the protocol;
// what the functions do is in the files beside it. Everything is asynchronous, so pings are answered while
// a function runs.
const { disk } = require('./disk.js');
const { explore, turn } = require('./explore.js');
const { memory, overview, ports, processor } = require('./machine.js');
const { version } = require('./manifest.json');

const functions = { overview, disk, memory, processor, ports, explore };

/** An error of the user's making: told with its code instead of a stack. */
class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// ---- messages

function send(message) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message }));
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  process.stdout.write(Buffer.concat([head, body]));
}

/** What a function gets: ways to speak while it runs. */
function voice(id) {
  return {
    stream: (data) => send({ method: 'stream', params: { request_id: id, data } }),
    log: (level, message) => send({ method: 'log', params: { level, message } }),
    refuse: (message) => { throw new Refusal(-32602, message); },
  };
}

/** Runs one request to its end. A function returns its last text, or { text, keep } to hold a conversation. */
async function run(id, work) {
  try {
    const result = await work(voice(id));
    const { text, keep } = typeof result === 'string' ? { text: result, keep: false } : result;
    send({ method: 'complete', params: { request_id: id, success: true, data: text, keep_session: keep } });
  } catch (error) {
    const code = error instanceof Refusal ? error.code : -1;
    send({ method: 'error', params: { request_id: id, code, message: error.message } });
  }
}

function execute(id, { function: name, arguments: given = {} }) {
  if (!Object.hasOwn(functions, name)) {
    const known = Object.keys(functions).join(', ');
    send({ id, error: { code: -32601, message: `Unknown function: ${name} (there are ${known})` } });
    return;
  }
  run(id, (say) => functions[name](given, say));
}

const methods = {
  initialize(id) {
    send({ id, result: { name: 'lookout', version, capabilities: ['streaming', 'passthrough'] } });
  },
  ping: (id, params) => send({ id, result: { timestamp: params.timestamp } }),
  execute,
  input(id, params) {
    send({ id, result: { acknowledged: true } });
    run(id, (say) => turn(String(params.content ?? ''), say));
  },
  shutdown: () => process.exit(0),
};

function receive(text) {
  let message;
  try {
    message = JSON.parse(text);
  } catch {
    send({ id: null, error: { code: -32700, message: 'Parse error' } });
    return;
  }
  const { id, method, params = {} } = message;
  if (Object.hasOwn(methods, method)) methods[method](id, params);
  else if (id !== undefined) send({ id, error: { code: -32601, message: `Method not found: ${method}` } });
}

// ---- frames

let pending = Buffer.alloc(0);

process.stdin.on('data', (bytes) => {
  pending = Buffer.concat([pending, bytes]);
  while (pending.length >= 4 && pending.length >= 4 + pending.readUInt32BE()) {
    const end = 4 + pending.readUInt32BE();
    receive(pending.toString('utf8', 4, end));
    pending = pending.subarray(end);
  }
});
process.stdin.on('end', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
