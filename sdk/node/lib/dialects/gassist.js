// SPDX-License-Identifier: Apache-2.0
// gassist: plugins of G-Assist, protocol V2. A function's end is told by notifications alone, as
// its own SDKs do.
import { percent } from "../call.js";
import { code, PluginError, shown } from "../errors.js";
import { stringify } from "../json.js";
import { NOTHING } from "../session.js";
import { isObject, isQuestion, MIB, own, remember, takeUp } from "./common.js";

function tell(session, { id }, method, members) {
  if (id === undefined) return;
  session.output.send(
    `{"jsonrpc":"2.0","method":"${method}","params":{"request_id":${id},${members}}}`,
    true,
  );
}

function complete(session, request, data, keep) {
  tell(session, request, "complete", `"success":true,"data":${stringify(data ?? "")},"keep_session":${keep}`);
}

function failed(session, request, error) {
  const known = error instanceof PluginError;
  if (!known) console.error(error);
  const data = error?.data === undefined ? "" : `,"data":${stringify(error.data)}`;
  const message = stringify(String(error?.message ?? error));
  tell(session, request, "error", `"code":${known ? error.code : -1},"message":${message}${data}`);
}

/** Ends one turn: of a function, or of its conversation. */
async function turn(session, request, working) {
  try {
    const value = await working();
    if (isQuestion(value)) {
      remember(session, "talk", value);
      complete(session, request, value.question, true);
    } else complete(session, request, value, false);
  } catch (error) {
    failed(session, request, error);
  }
  return NOTHING;
}

function execute(session, request) {
  const { function: name, arguments: given = {}, context, system_info } = request.params;
  if (typeof name !== "string") throw new PluginError(code.params, "function: is missing");
  const entry = session.plugin.commands.get(name);
  if (!entry) throw new PluginError(code.method, `Unknown function: ${name}`);
  if (given !== null && !isObject(given))
    throw new PluginError(code.params, `arguments: an object is expected, not ${shown(given)}`);
  const args = entry.fields.fromObject(given ?? {});
  const call = session.newCall(request);
  Object.assign(call, { context: context ?? [], system_info: system_info ?? "" });
  return turn(session, request, async () => {
    await session.talks.get("talk")?.end();
    session.talks.delete("talk");
    await session.start();
    return session.run(call, entry.fn, args);
  });
}

/** Acknowledged when it comes; answered when its turn comes. */
const answered = {
  run(session, request) {
    const { params, original } = request;
    const talk = takeUp(session, "talk", original);
    return turn(session, original, () => {
      if (!talk) throw new PluginError(-1, "nobody has asked: there is no conversation");
      request.call = talk.call;
      return session.converse(talk, String(params.content ?? ""));
    });
  },
};

const methods = {
  initialize: {
    async run(session, { params }) {
      const { name, version, description } = session.plugin.options;
      await session.start(isObject(params.config) ? params.config : {});
      const commands = [...session.plugin.commands.values()].map((entry) => ({
        name: entry.name,
        description: entry.description,
      }));
      const capabilities = ["streaming", "passthrough"];
      return { name, version, description, protocol_version: "2.0", capabilities, commands };
    },
  },
  ping: { now: true, run: (session, { params }) => ({ timestamp: params.timestamp ?? null }) },
  execute: { run: execute },
  input: {
    now: true,
    run(session, request) {
      session.answer(request, "result", { acknowledged: true });
      const done = { ...request, batch: undefined }; // answered: what follows are notifications
      session.enqueue({ ...done, id: undefined, original: done }, answered);
      request.batch = undefined;
      return NOTHING;
    },
  },
  shutdown: {
    stops: true,
    async run(session) {
      await session.close();
      setImmediate(() => session.leave());
      return { success: true };
    },
  },
};

const log = (session, level, message) => session.notify("log", { level, message });

export default {
  name: "gassist",
  framing: "be32",
  limit: 10 * MIB,
  methods,
  own,
  ask: true,
  stream: (session, call, data) => tell(session, call.request, "stream", `"data":${stringify(data)}`),
  progress: (session, call, fraction, text) => log(session, "info", `${percent(fraction)} ${text}`.trim()),
  log,
};
