#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// The same as same.c.
import { Plugin } from "tenon";

const plugin = new Plugin({ name: "the-same", version: "1.2.0", description: 'Is "the same"', author: "Ada" });
plugin.command("greet", "Says hello", () => "Hello");
plugin.extractor({ formats: ["text/x-a", "text/x-b"], extensions: [".a", ".b"] }, (source) => source.text());
plugin.run(import.meta);
