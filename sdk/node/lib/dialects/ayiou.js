// SPDX-License-Identifier: Apache-2.0
// ayiou: external plugins of the Ayiou chat bot.
import { code, PluginError, shown } from "../errors.js";
import { rawMember } from "../json.js";
import { Reply } from "../results.js";
import { isObject, isQuestion, MIB, own, remember, takeUp, then } from "./common.js";

/** An account's number. Those beyond 2^53 are BigInts, digit by digit. */
function number(request, name) {
  const value = request.params[name];
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value ?? null;
  const raw = rawMember(rawMember(request.text, "params"), name);
  return /^-?\d+$/.test(raw) ? BigInt(raw) : value;
}

function readMessage(request) {
  const { text, message_type = "private", raw_message } = request.params;
  if (text === undefined) throw new PluginError(code.params, "text: is missing");
  if (typeof text !== "string")
    throw new PluginError(code.params, `text: a string is expected, not ${shown(text)}`);
  const ids = Object.fromEntries(
    ["user_id", "group_id", "self_id"].map((name) => [name, number(request, name)]),
  );
  return { text, message_type, raw_message: raw_message ?? text, ...ids };
}

/** Who speaks, and where: a conversation belongs to both. */
const placeOf = ({ user_id, group_id }) => `${group_id ?? ""}/${user_id}`;

/** The command that a message names, with the rest of its line. */
function commandOf(plugin, text) {
  const found = /^\s*\/(\S+)\s*/.exec(text);
  if (!found) return undefined;
  const entry =
    plugin.commands.get(found[1]) ?? [...plugin.commands.values()].find((e) => e.aliases.includes(found[1]));
  return entry && { entry, line: text.slice(found[0].length).trimEnd() };
}

function matches(match, message) {
  if (match === undefined) return true;
  if (typeof match === "function") return Boolean(match(message));
  return match instanceof RegExp ? message.text.search(match) >= 0 : message.text.includes(match);
}

const handlerOf = (plugin, message) => plugin.handlers.find(({ match }) => matches(match, message));

const plainResult = { handled: false, block: false, reply: null, actions: [] };

/** HandleResult of what a function returned. `quiet`: nothing said means nothing done. */
function handled(call, value, quiet) {
  if (value === undefined || value === null) {
    if (call.pieces) return handled(call, "", quiet);
    return quiet ? plainResult : { ...plainResult, handled: true, block: true };
  }
  if (value instanceof Reply) {
    const { text, actions, block = true, handled: done = true } = value;
    const reply = text === undefined && !call.pieces ? null : call.withPieces(text ?? "");
    return { handled: done, block, reply, actions };
  }
  if (isObject(value)) return { ...plainResult, handled: true, ...value };
  return { handled: true, block: true, reply: call.withPieces(String(value)), actions: [] };
}

function answerTo(session, call, quiet) {
  return (value) => {
    if (!isQuestion(value)) return handled(call, value, quiet);
    remember(session, placeOf(call.message), value);
    return handled(call, value.question, false);
  };
}

function handle(session, request) {
  const message = readMessage(request);
  const talk = takeUp(session, placeOf(message), request);
  if (talk) {
    talk.call.message = message;
    return session.converse(talk, message.text).then(answerTo(session, talk.call, false));
  }
  const call = session.newCall(request);
  call.message = message;
  const command = commandOf(session.plugin, message.text);
  if (command) {
    const args = command.entry.fields.fromLine(command.line);
    return then(session.run(call, command.entry.fn, args), answerTo(session, call, false));
  }
  const handler = handlerOf(session.plugin, message);
  if (!handler) return plainResult;
  return then(session.run(call, handler.fn, message), answerTo(session, call, true));
}

/** All forms that hosts write: "startup", { startup: null }, { bot_connect: { self_id } }. */
function eventName({ event }) {
  const name = typeof event === "string" ? event : isObject(event) ? Object.keys(event)[0] : undefined;
  return name?.toLowerCase();
}

/** An error would count as a start: only `ok` refuses it. */
async function startup(session) {
  try {
    await session.start();
    return { ok: true };
  } catch (error) {
    console.error(error);
    return { ok: false, error: String(error?.message ?? error) };
  }
}

async function shutdown(session) {
  await session.close();
  setImmediate(() => session.leave());
  return { ok: true };
}

const lifecycle = {
  startup: { run: startup },
  shutdown: { stops: true, run: shutdown },
  other: {
    run(session, { params }) {
      if (eventName(params) === undefined) throw new PluginError(code.params, "event: is missing");
      return { ok: true };
    },
  },
};

const methods = {
  metadata: {
    now: true,
    run({ plugin }) {
      const { name, version, description, author } = plugin.options;
      const commands = [...plugin.commands.values()].map((entry) => ({
        name: entry.name,
        description: entry.description,
        aliases: entry.aliases,
      }));
      return { name, description, version, ...(author === undefined ? {} : { author }), commands };
    },
  },
  matches: {
    run(session, request) {
      const message = readMessage(request);
      const { plugin, talks } = session;
      return {
        matches:
          talks.has(placeOf(message)) ||
          Boolean(commandOf(plugin, message.text) ?? handlerOf(plugin, message)),
      };
    },
  },
  handle: { run: (session, request) => session.whenStarted(() => handle(session, request)) },
  lifecycle: ({ params }) => lifecycle[eventName(params)] ?? lifecycle.other,
};

export default { name: "ayiou", framing: "lines", limit: 256 * MIB, methods, own, ask: true };
