#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The words of subtitles, without their times. mortise extract film.srt --plugin ./yams.mjs
import { Extraction, Plugin } from "tenon";

const plugin = new Plugin({
  name: "subtitles",
  version: "1.0.0",
  description: "The text of SubRip subtitles",
});

plugin.extractor({ formats: ["application/x-subrip"], extensions: [".srt"] }, async (source) => {
  const blocks = (await source.text()).replace(/\r/g, "").trim().split(/\n\n+/);
  const lines = blocks.flatMap((block) => block.split("\n").filter((line) => !/^\d+$| --> /.test(line)));
  if (!lines.length) throw new Error("no subtitles in it");
  return new Extraction(lines.join("\n").replace(/<[^>]*>/g, ""), { subtitles: blocks.length });
});

plugin.run(import.meta);
