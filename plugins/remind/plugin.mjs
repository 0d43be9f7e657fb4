#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// remind: an Ayiou plugin for a chat bot. /remind in 10 minutes tea; /reminders; /forget 1.
//
// The protocol has no message from the plugin to the chat on its own: a plugin speaks when it is spoken to. So
// a reminder whose time has come leaves with the next message that the bot shows us, from whomever and
// wherever, as an action `send` to the place that asked for it.
import { Plugin, Reply } from "tenon";
import { Store } from "./store.mjs";
import { parseWhen, shown } from "./when.mjs";

const HELP = 'Say when: "in 10 minutes", "at 18:30", "tomorrow at 9", "on friday", "every day at 8".';

const plugin = new Plugin({ name: "remind", version: "1.0.0", description: "Reminds people of things" });
let store;

/** Where the answer goes: the group, or the person. */
function placeOf({ group_id, user_id }) {
  const [target_type, target_id] = group_id === null ? ["private", user_id] : ["group", group_id];
  return { id: `${target_type}/${target_id}`, target_type, target_id };
}

const send = ({ place, text }) => {
  const { target_type, target_id } = place;
  const number = typeof target_id === "string" ? BigInt(target_id) : target_id;
  return { type: "send", target_type, target_id: number, message: `Reminder: ${text}` };
};

/** An answer takes along what is due. */
const reply = (text, more) => new Reply(text, { actions: store.take().map(send), ...more });

function remember(when, text, message) {
  const { at, every, days } = when;
  const { id } = store.add({ at, every, days, text, place: placeOf(message) });
  const again = every || days ? ", and again" : "";
  return reply(`Reminder ${id}: ${text}, ${shown(at)}${again}.`);
}

/** What is missing is asked for. */
async function* remind({ text }, { message }) {
  let when = parseWhen(text);
  let what = when ? when.rest : text;
  if (!what) what = yield reply("Of what?");
  while (!when) {
    const answer = yield reply(`When? ${HELP}`);
    if (/^(no|never|cancel|stop)\b/i.test(answer)) return reply("Nothing is remembered.");
    when = parseWhen(answer);
  }
  return remember(when, what, message);
}

const later = { name: "remind", aliases: ["remindme", "提醒"] };
plugin.command(
  later,
  "Reminds you: /remind in 10 minutes tea",
  { text: { type: "string", default: "" } },
  remind,
);

plugin.command("reminders", "Lists what you will be reminded of here", (_, { message }) => {
  const lines = store.of(placeOf(message)).map(({ id, at, text }) => `${id}: ${text}, ${shown(at)}`);
  return reply(lines.join("\n") || "There are no reminders.");
});

plugin.command("forget", "Removes a reminder: /forget 1", { id: "integer" }, ({ id }, { message }) => {
  const found = store.of(placeOf(message)).find((reminder) => reminder.id === id);
  if (!found) return reply(`There is no reminder ${id} here: /reminders lists them.`);
  store.remove(id);
  return reply(`Forgotten: ${found.text}`);
});

/** Any message takes along what is due; it is not ours, so other plugins get it, too. */
plugin.handler(
  () => store?.due.length > 0,
  () => reply(null, { block: false }),
);

plugin.onStart(() => {
  store = new Store(({ id, text }) => process.stderr.write(`due: ${id}: ${text}\n`));
});
plugin.onStop(() => store.close());
plugin.run(import.meta);
