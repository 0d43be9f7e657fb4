// SPDX-License-Identifier: Apache-2.0
// What TypeScript infers from declarations: compiled, not run. A line after @ts-expect-error must be an error.
import { Done, Extraction, Plugin, PluginError, Reply, type Call, type Unit } from "tenon";
import { runInside, spawn } from "tenon/testing";

const plugin = new Plugin({ name: "typed", version: "1.0.0", dialect: ["gassist", "ayiou"], strict: true });

plugin.command(
  { name: "roll", aliases: ["r"] },
  "Rolls dice",
  {
    sides: { type: "integer", default: 6, minimum: 2 },
    colour: { enum: ["red", "blue"], default: "red" },
    who: "string",
    loud: { type: "boolean", optional: true },
    more: { type: "array", default: [] },
  },
  ({ sides, colour, who, loud, more }, call) => {
    const number: number = sides;
    const choice: "red" | "blue" = colour;
    const text: string = who;
    const maybe: boolean | undefined = loud;
    // @ts-expect-error: it is a number
    const wrong: string = sides;
    // @ts-expect-error: it may be undefined
    const sure: boolean = loud;
    // @ts-expect-error: there is no such choice
    if (colour === "green") return "";
    return `${number} ${choice} ${text} ${maybe} ${wrong} ${sure} ${more.length} ${call.id}`;
  },
);

plugin.command("trip", async function* (args, call) {
  const where: string = yield "Where to?";
  await call.stream(where);
  call.signal.throwIfAborted();
  return { where, args };
});

plugin.method("any", (params, call: Call) => params.whatever ?? call.dialect);
plugin.hook("after_build", (context, { workspace }) => new Done(`in ${workspace}`, [context.idl]));
plugin.extractor({ extensions: [".x"] }, async (source) => new Extraction(await source.text(), { a: 1 }));
plugin.handler(
  ({ group_id }) => group_id === 5n,
  ({ text }) => new Reply(text, { actions: [{ type: "image", url: text }] }),
);
plugin.analysis("/kythe/index/x", async (unit: Unit, call) => {
  const file = await call.vname(unit.inputs[0] ?? "");
  call.fact(file, "/kythe/node/kind", "file");
  call.edge(file, "/kythe/edge/childof", { corpus: file.corpus });
});
plugin.onStart(({ path }) => {
  if (!path) throw new PluginError(-32603, "no path", { config_key: "path" });
});
plugin.run(import.meta);

// @ts-expect-error: a function is missing
plugin.method("nothing");
// @ts-expect-error: there is no such type
plugin.method("wrong", { a: { type: "text" } }, () => 1);
// @ts-expect-error: there is no such dialect
new Plugin({ name: "a", version: "1", dialect: "mcp" });
// @ts-expect-error: a name is missing
new Plugin({ version: "1" });

const inside = runInside(plugin, { dialect: "gassist" });
const outside = spawn(["node", "x.mjs"], { dialect: "plain", framing: "headers" });
const answer: unknown = await inside.call("roll", { who: "Ada" });
console.log(answer, outside.stderr, await outside.close());
