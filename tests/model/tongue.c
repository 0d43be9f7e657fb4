/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to say in each dialect: enough that a session works, and a little that does not. */
#include <string.h>

#include "demo.h"
#include "model.h"

const struct tongue tongues[] = {
	{ .dialect = "plain",
	  .actions = { "one", "two", "three", "one", "four",
		       "a.method.with.a.name.too.long.for.the.short.place" },
	  .asks = { "ask", "tell", "$/own", "ask" } },
	{ .dialect = "yams",
	  .hello = "{\"name\":\"demo\",\"version\":\"1.0.0\",\"interfaces\":[\"content_extractor_v1\"]}",
	  .init = "{\"status\":\"initialized\"}",
	  .ping = "{\"status\":\"ok\"}",
	  .bye = "null",
	  .actions = { "extractor.extract", "extractor.supports", "own.method", "extractor.extract",
		       "ghidra.getEntities", "own.other" },
	  .asks = { "ask", "tell", "ask", "tell" } },
	{ .dialect = "gassist",
	  .hello = "{\"name\":\"my-plugin\",\"version\":\"1.0.0\",\"capabilities\":[\"streaming\"]}",
	  .ping = "{\"timestamp\":1}",
	  .bye = "null",
	  .actions = { "go", "fetch", "input", "go", "input", "other" },
	  .asks = { "stream", "log", "complete", "own" } },
	{ .dialect = "ayiou",
	  .hello = "{\"name\":\"weather\",\"description\":\"d\",\"version\":\"1.0.0\"}",
	  .init = "{\"ok\":true}",
	  .ping = "null",
	  .bye = "{\"ok\":true}",
	  .actions = { "matches", "handle", "bot_connect", "matches", "handle", "own" },
	  .asks = { "ask", "tell", "ask", "tell" } },
	{ .dialect = "sunscreen",
	  .hello = "{\"scaffold\":{\"indexer\":\"x\"}}",
	  .bye = "null",
	  .actions = { "scaffold:indexer", "hook:after_build", "scaffold:other", "scaffold:indexer", "run",
		       "unknown" },
	  .asks = { "ask", "tell", "ask", "tell" } },
	{ .dialect = "sunscreen-json",
	  .actions = { "app:go", "hook:h", "scaffold:go", "app:go", "app:go", "unknown" },
	  .asks = { "ask", "tell", "ask", "tell" } },
	{ .dialect = "kythe",
	  .greeting = "\"method\":\"init\",\"params\":{\"protocol\":\"kythe1\"}",
	  .actions = { "analyze", "x", "y", "z", "x", "y" },
	  .asks = { "analyze", "vname", "log", "done" } },
	{ .dialect = "demo",
	  .hello = "{\"name\":\"d\"}",
	  .init = "null",
	  .ping = "{}",
	  .bye = "null",
	  .actions = { "go", "input", "search", "index", "open", "say" },
	  .asks = { "alive", "log", "secret", "own" } },
	{ .dialect = "demo-client",
	  .greeting = "\"method\":\"hi\",\"params\":{}",
	  .actions = { "x", "y", "z", "x", "y", "z" },
	  .asks = { "job", "note", "own", "job" } },
	{ .dialect = "demo-call",
	  .actions = { "work", "slow", "work", "slow", "other", "work" },
	  .asks = { "ask", "tell", "ask", "tell" } },
	{ .dialect = "demo-run",
	  .hello = "{}",
	  .bye = "null",
	  .actions = { "work", "work", "other", "work", "other", "work" },
	  .asks = { "ask", "tell", "ask", "tell" } },
};
const unsigned tongue_count = sizeof(tongues) / sizeof(*tongues);

const struct mor_dialect *tongue_dialect(const char *name)
{
	return strncmp(name, "demo", 4) == 0 ? demo_find(name) : NULL;
}
