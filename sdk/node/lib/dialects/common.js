// SPDX-License-Identifier: Apache-2.0
// What several dialects do in the same way.
import { code, PluginError } from "../errors.js";
import { Talk } from "../talk.js";

export const MIB = 1048576;

/** What was streamed goes in front of a text; beside anything else it goes to stderr. */
export function withPieces(call, value) {
  if (!call.pieces) return value;
  if (typeof value === "string") return call.withPieces(value);
  process.stderr.write(call.withPieces("\n"));
  return value;
}

/** Goes on with a value, now or when it is there. */
export function then(value, work) {
  return typeof value?.then === "function" ? value.then(work) : work(value);
}

/** Runs a declared function with parameters by name. */
export function runEntry(session, request, entry) {
  const call = session.newCall(request);
  const args = entry.fields.fromObject(request.params);
  return session.whenStarted(() =>
    then(session.run(call, entry.fn, args), (value) => withPieces(call, value)),
  );
}

export const notFound = (method) => new PluginError(code.method, `Method not found: ${method}`);

/** The author's own methods, by their names on the wire. */
export const own = {
  run(session, request) {
    const entry = session.plugin.methods.get(request.method);
    if (!entry) throw notFound(request.method);
    return runEntry(session, request, entry);
  },
};

/** Puts a conversation aside until its next answer. */
export function remember(session, key, talk) {
  session.talks.set(key, talk);
  // People leave without an answer: the oldest conversation ends.
  if (session.talks.size > 1024) {
    const [oldest, forgotten] = session.talks.entries().next().value;
    session.talks.delete(oldest);
    forgotten.end();
  }
}

/** Takes it up again, with the request that brought the answer. */
export function takeUp(session, key, request) {
  const talk = session.talks.get(key);
  if (!talk) return undefined;
  session.talks.delete(key);
  talk.call.request = request;
  request.call = talk.call;
  return talk;
}

export const isQuestion = (value) => value instanceof Talk;

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
