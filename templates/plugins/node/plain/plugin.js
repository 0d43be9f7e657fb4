#!/usr/bin/env node
import { Plugin } from "tenon";

export const plugin = new Plugin({ name: "@NAME@", version: "0.1.0", description: "Greets people" });

const fields = {
  name: { type: "string", description: "who is greeted" },
  greeting: { type: "string", default: "Hello", description: "how" },
};

plugin.method("greet", "Greets somebody", fields, ({ name, greeting }) => `${greeting}, ${name}!`);

plugin.run(import.meta);
