#!/usr/bin/env node
import { Plugin } from "tenon";

export const plugin = new Plugin({
  name: "@NAME@",
  version: "0.1.0",
  description: "Says hello",
  dialect: "gassist",
});

const fields = { name: { type: "string", description: "To whom" } };

plugin.command("hello", "Says hello and asks back", fields, async function* ({ name }, call) {
  await call.stream("Hello, ");
  const answer = yield `${name}! How are you?`;
  return `So you are ${answer}.`;
});

plugin.run(import.meta);
