// SPDX-License-Identifier: Apache-2.0
// plain: any JSON-RPC 2.0, in any of four framings. Methods and commands by their names.
import { stringify } from "../json.js";
import { MIB, notFound, runEntry } from "./common.js";

function about(session, call, method, members) {
  const { id } = call.request;
  if (id === undefined) return;
  session.output.send(
    `{"jsonrpc":"2.0","method":"${method}","params":{"request_id":${id},${members}}}`,
    true,
  );
}

export default {
  name: "plain",
  framing: undefined, // as the host speaks
  limit: 256 * MIB,
  methods: {},
  own: {
    run(session, request) {
      const { methods, commands } = session.plugin;
      const entry = methods.get(request.method) ?? commands.get(request.method);
      if (!entry) throw notFound(request.method);
      return runEntry(session, request, entry);
    },
  },
  stream: (session, call, data) => about(session, call, "stream", `"data":${stringify(data)}`),
  progress: (session, call, fraction, text) =>
    about(session, call, "progress", `"fraction":${stringify(fraction)},"text":${stringify(text)}`),
};
