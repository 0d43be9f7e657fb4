#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The same in Node. `request` is not there where its fault is told: every exception is the end.
const readline = require('readline');

const methods = {
  metadata: () => ({ name: 'template-js', description: '', version: '1.0.0', commands: [] }),
  matches: (params) => ({ matches: params.text.startsWith('/myjs') }),
  handle: (params) => ({ handled: true, block: true, reply: 'from Node, for ' + params.user_id }),
  lifecycle: (params) => {
    if (params.event.startup !== undefined) console.error('up');
    return { ok: true };
  },
};

readline.createInterface({ input: process.stdin, terminal: false }).on('line', (line) => {
  try {
    const request = JSON.parse(line);
    const result = methods[request.method](request.params || {});
    console.log(JSON.stringify({ jsonrpc: '2.0', result, id: request.id }));
  } catch (e) {
    const error = { code: -32603, message: e.message };
    console.log(JSON.stringify({ jsonrpc: '2.0', error, id: request.id || 0 }));
  }
});
