#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Counts words. mortise call count text='to be or not to be' -- node plain.mjs
import { Plugin } from "tenon";

const plugin = new Plugin({ name: "words", version: "1.0.0", description: "Counts words" });

const fields = {
  text: { type: "string", description: "What is read" },
  top: { type: "integer", default: 3, minimum: 1, description: "How many of the most frequent words" },
};

plugin.method("count", "The number of words, and the most frequent ones", fields, ({ text, top }) => {
  const counts = new Map();
  const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const frequent = [...counts].sort(([, a], [, b]) => b - a).slice(0, top);
  return { words: words.length, different: counts.size, frequent: Object.fromEntries(frequent) };
});

plugin.run(import.meta);
