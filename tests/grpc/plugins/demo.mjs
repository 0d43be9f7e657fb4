// SPDX-License-Identifier: Apache-2.0
// The plugin of test_tenon.py, in Node. demo.py and demo.c do the same.
import { Done, Plugin, PluginError } from "tenon";

const plugin = new Plugin({
  name: "demo",
  version: "1.0.0",
  description: "Shows what Tenon does over gRPC",
  dialect: "sunscreen",
});
let cancelled = 0;

const index = { name: "string", program: { type: "string", default: "app" } };
plugin.command("index", "Indexes a name.", index, ({ name, program }, call) => {
  call.progress(0.5, "half of it");
  call.log("warning", "a line");
  call.stream("piece ");
  return new Done(`indexed ${name} of ${program} in ${call.workspace}`, ["a.rs"]);
});

plugin.command("app:wait", "Waits until it is cancelled.", {}, async (_, call) => {
  call.progress(-1, "waits");
  if (!call.cancelled) await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
  cancelled++;
  return "was cancelled";
});

plugin.command("app:count", "How often `wait` was cancelled.", {}, () => String(cancelled));

plugin.command("fail", "Fails.", {}, () => {
  throw new PluginError(4, "it exists already", { next_step: "pass --force" });
});

plugin.hook("after_build", ({ idl = "" }, call) => `built ${idl} in ${call.workspace}`);

plugin.onStop(() => console.error("stopped"));

plugin.run(import.meta);
