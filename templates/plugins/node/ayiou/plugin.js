#!/usr/bin/env node
import { Plugin } from "tenon";

export const plugin = new Plugin({
  name: "@NAME@",
  version: "0.1.0",
  description: "Greets people in a chat",
  dialect: "ayiou",
});

const fields = { name: { type: "string", default: "world", description: "who is greeted" } };

plugin.command("hello", "Greets somebody", fields, ({ name }) => `Hello, ${name}!`);

plugin.run(import.meta);
