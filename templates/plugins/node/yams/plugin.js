#!/usr/bin/env node
import { Extraction, Plugin } from "tenon";

export const plugin = new Plugin({ name: "@NAME@", version: "0.1.0", description: "The text of notes" });

// The first line of a note is its title.
plugin.extractor({ formats: ["text/x-note"], extensions: [".note"] }, async (source) => {
  const [title, ...lines] = (await source.text()).split("\n");
  return new Extraction(lines.join("\n"), { title });
});

plugin.run(import.meta);
