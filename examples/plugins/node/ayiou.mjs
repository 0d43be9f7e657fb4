#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// A shopping list for each chat: /buy milk, /list, /done.
import { Plugin } from "tenon";

const plugin = new Plugin({ name: "shopping", version: "1.0.0", description: "Keeps a shopping list" });
const lists = new Map();
const place = ({ message }) => message.group_id ?? message.user_id;
const listOf = (call) => lists.get(place(call)) ?? [];

plugin.command("buy", "Puts something on the list", { what: "string" }, ({ what }, call) => {
  lists.set(place(call), [...listOf(call), what]);
  return `On the list: ${listOf(call).join(", ")}`;
});
plugin.command("list", "Shows the list", (_, call) => listOf(call).join("\n") || "Nothing to buy.");
plugin.command("done", "Empties the list", async function* (_, call) {
  const answer = yield `Forget ${listOf(call).length} things? (yes/no)`;
  if (!/^y/i.test(answer)) return "Kept.";
  return lists.delete(place(call)) ? "Forgotten." : "It was empty.";
});

plugin.run(import.meta);
