// SPDX-License-Identifier: Apache-2.0
// A session without a wire: texts of messages in, texts of messages out.
import "../../../sdk/node/testing.js";
import { dialects } from "../../../sdk/node/lib/dialects/index.js";
import { Session } from "../../../sdk/node/lib/session.js";

/** Sends lines to a plugin, ends its input, and gives what it has sent, as texts. */
export function talk(plugin, dialect, lines) {
  return new Promise((resolve) => {
    const sent = [];
    const output = {
      send: (text) => sent.push(text),
      room: () => Promise.resolve(),
      finish: () => Promise.resolve(),
    };
    const session = new Session(plugin, dialects[dialect], output, { exit: () => resolve(sent) });
    for (const line of lines) session.receive(typeof line === "string" ? line : JSON.stringify(line));
    session.inputEnd();
  });
}
