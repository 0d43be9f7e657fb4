/* SPDX-License-Identifier: Apache-2.0 */
#include "fault.h"

#include <string.h>

const char *const phase_names[PHASES] = { "start", "call", "idle", "stop" };

#define PLAIN(tongue_name, how) { .name = tongue_name, .dialect = "plain", .framing = how, .action = "work", .params = "{\"n\":1}", .method = "work", .result = "{\"done\":true}" }

const struct tongue tongues[] = {
	PLAIN("plain", MOR_FRAMING_LINES),
	PLAIN("plain-decimal", MOR_FRAMING_DECIMAL),
	PLAIN("plain-be32", MOR_FRAMING_BE32),
	PLAIN("plain-headers", MOR_FRAMING_HEADERS),
	{
		.name = "yams",
		.dialect = "yams",
		.framing = MOR_FRAMING_LINES,
		.action = "extractor.extract",
		.params = "{\"source\":{\"type\":\"bytes\",\"data\":\"eA==\"}}",
		.method = "extractor.extract",
		.result = "{\"text\":\"done\",\"metadata\":{}}",
		.greeting = { "handshake.manifest", "plugin.init" },
		.fixed = { { "handshake.manifest", "{\"name\":\"fault\",\"version\":\"1.0.0\",\"interfaces\":[\"content_extractor_v1\"]}" },
			   { "plugin.init", "{\"status\":\"initialized\"}" },
			   { "plugin.health", "{\"status\":\"ok\"}" },
			   { "plugin.shutdown", "null" } },
		.patient = true,
		.greets = true,
	},
	{
		.name = "ayiou",
		.dialect = "ayiou",
		.framing = MOR_FRAMING_LINES,
		.action = "handle",
		.params = "{\"message_type\":\"private\",\"user_id\":1,\"group_id\":null,\"text\":\"x\",\"raw_message\":\"x\",\"self_id\":2}",
		.method = "handle",
		.result = "{\"handled\":true,\"block\":false,\"reply\":\"done\"}",
		.greeting = { "metadata", "lifecycle" },
		.fixed = { { "metadata", "{\"name\":\"fault\",\"description\":\"d\",\"version\":\"1\",\"commands\":[]}" },
			   { "lifecycle", "{\"ok\":true}" } },
		.patient = true,
		.greets = true,
	},
	{
		.name = "gassist",
		.dialect = "gassist",
		.framing = MOR_FRAMING_BE32,
		.action = "work",
		.params = "{\"n\":1}",
		.method = "execute",
		.result = "\"done\"",
		.greeting = { "initialize" },
		.fixed = { { "initialize", "{\"name\":\"fault\",\"version\":\"1.0.0\",\"protocol_version\":\"2.0\",\"commands\":[{\"name\":\"work\"}]}" },
			   { "ping", "{}" },
			   { "shutdown", NULL } },
		.by_note = true,
		.greets = true,
	},
	{
		.name = "sunscreen",
		.dialect = "sunscreen",
		.framing = MOR_FRAMING_LINES,
		.action = "scaffold:echo",
		.params = "{\"args\":[],\"flags\":{}}",
		.method = "run",
		.result = "{\"files_written\":[],\"summary\":\"done\"}",
		.greeting = { "commands" },
		.fixed = { { "commands", "{\"scaffold\":{\"echo\":\"e\"},\"hook\":{}}" } },
		.one_shot = true,
		.greets = true,
	},
	{
		.name = "sunscreen-json",
		.dialect = "sunscreen-json",
		.framing = MOR_FRAMING_HEADERS,
		.action = "sunscreen.command/run",
		.params = "{\"args\":[]}",
		.method = "sunscreen.command/run",
		.result = "{\"done\":true}",
		.one_shot = true,
	},
	{
		.name = "kythe",
		.dialect = "kythe",
		.framing = MOR_FRAMING_DECIMAL,
		.asks = true,
		.greets = true,
	},
};
const size_t tongue_count = sizeof(tongues) / sizeof(tongues[0]);

const struct tongue *tongue_find(const char *name)
{
	for (size_t i = 0; i < tongue_count; i++)
		if (strcmp(tongues[i].name, name) == 0)
			return &tongues[i];
	return NULL;
}
