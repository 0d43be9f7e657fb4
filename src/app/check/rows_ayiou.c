/* SPDX-License-Identifier: Apache-2.0 */
/* ayiou: external plugins of the Ayiou chat bot. `handle` may act for a user, so it is called
 * only with --call. */
#include "check/own.h"

#define AYIOU              MOR_CHECK_AYIOU
#define METADATA           "metadata - 获取插件信息"
#define MATCHES            "matches - 检查匹配"
#define HANDLE             "handle - 处理事件"
#define LIFECYCLE          "lifecycle - 生命周期事件"
#define HELLO              "start\n" MOR_CHECK_REQ "1,\"method\":\"metadata\",\"params\":{}}\n"
#define EVENT(id, event)   MOR_CHECK_REQ id ",\"method\":\"lifecycle\",\"params\":{\"event\":" event "}}\n"
#define MATCH(id, members) MOR_CHECK_REQ id ",\"method\":\"matches\",\"params\":{" members "}}\n"

#define SAID(id, text) \
	MATCH(id, "\"text\":\"" text "\",\"message_type\":\"private\",\"user_id\":1") "valid " id " matches\n"
#define BIG_IDS \
	"\"text\":\"mortise check\",\"message_type\":\"group\",\"user_id\":9007199254740993," \
	"\"group_id\":9223372036854775807"

static const struct mor_check_row rows[] = {
	{ .name = "metadata.answer",
	  .title = "answers metadata with an object",
	  .spec = METADATA,
	  .must = AYIOU,
	  .script = HELLO "result 1 {...}",
	  .advice = "answer with {\"name\",\"description\",\"version\",\"commands\"}" },
	{ .name = "metadata.letter",
	  .title = "answers metadata with all members of the specification",
	  .spec = "PluginMetadata - 插件元数据",
	  .should = AYIOU,
	  .script = HELLO "letter 1 metadata",
	  .advice = "name, description and version are required" },
	{ .name = "metadata.absent",
	  .title = "answers metadata without params",
	  .spec = METADATA,
	  .should = AYIOU,
	  .script = "start\n" MOR_CHECK_REQ "1,\"method\":\"metadata\"}\nresult 1",
	  .advice = "accept absent and empty params alike" },
	{ .name = "startup.answer",
	  .title = "answers the event startup, and starts",
	  .spec = LIFECYCLE,
	  .must = AYIOU,
	  .script = HELLO
	  "answered 1\n" EVENT("2", "{\"startup\":null}") "implemented 2 lifecycle\nsucceeds 2 lifecycle",
	  .advice = "answer {\"ok\":true}; {\"ok\":false} refuses the start" },
	{ .name = "startup.letter",
	  .title = "answers the event startup with {\"ok\":true}",
	  .spec = "LifecycleParams/Event - 生命周期",
	  .should = AYIOU,
	  .script = HELLO "answered 1\n" EVENT("2", "{\"startup\":null}") "implemented 2 lifecycle\n"
									  "result 2 {\"ok\":true,...}",
	  .advice = "answer {\"ok\":true}" },
	{ .name = "startup.string",
	  .title = "accepts the event startup as a string",
	  .spec = LIFECYCLE,
	  .should = AYIOU,
	  .script = HELLO "answered 1\n" EVENT("2", "\"startup\"") "answered 2\nalive",
	  .advice = "the real bridge sends \"startup\" and not {\"startup\":null}: accept both" },
	{ .name = "connect.answer",
	  .title = "answers the event bot_connect",
	  .spec = "LifecycleParams/Event - 生命周期",
	  .must = AYIOU,
	  .script = EVENT("51", "{\"bot_connect\":{\"self_id\":10001}}") "answered 51\nalive",
	  .advice = "answer {\"ok\":true}, also if the event does not matter to you" },
	{ .name = "lifecycle.unknown",
	  .title = "goes on after an event that it does not know",
	  .spec = LIFECYCLE,
	  .should = AYIOU,
	  .script = EVENT("52", "{\"mortise_check\":null}") "answered 52\nalive",
	  .advice = "later versions have more events: answer {\"ok\":true}" },
	{ .name = "lifecycle.no-event",
	  .title = "goes on after lifecycle without an event",
	  .spec = LIFECYCLE,
	  .should = AYIOU,
	  .script = MOR_CHECK_REQ "53,\"method\":\"lifecycle\",\"params\":{}}\nanswered 53\nalive",
	  .advice = "answer -32602" },

	{ .name = "matches.private",
	  .title = "answers matches for a private message",
	  .spec = MATCHES,
	  .must = AYIOU,
	  .script =
		  MATCH("61", "\"text\":\"mortise "
			      "check\",\"message_type\":\"private\",\"user_id\":1,\"group_id\":null") "valid "
												      "61 "
												      "matches",
	  .advice = "answer {\"matches\":true} or {\"matches\":false}" },
	{ .name = "matches.group",
	  .title = "answers matches for a message in a group",
	  .spec = MATCHES,
	  .must = AYIOU,
	  .script = MATCH("62", "\"text\":\"mortise "
				"check\",\"message_type\":\"group\",\"user_id\":1,\"group_id\":2") "valid "
												   "62 "
												   "matches",
	  .advice = "answer {\"matches\":true} or {\"matches\":false}" },
	{ .name = "matches.optional",
	  .title = "answers matches without user_id and group_id",
	  .spec = "MatchesParams/Result - 匹配检查",
	  .must = AYIOU,
	  .script = MATCH("63", "\"text\":\"mortise check\",\"message_type\":\"private\"") "valid 63 matches",
	  .advice = "both are optional" },
	{ .name = "matches.text",
	  .title = "answers matches for Chinese text and an empty one",
	  .spec = MATCHES,
	  .must = AYIOU,
	  .script = SAID("64", "天气 \\u5317\\u4eac") SAID("65", ""),
	  .advice = "text is any Unicode text, also an empty one" },
	{ .name = "matches.ids",
	  .title = "answers matches for an id of 19 digits",
	  .spec = MATCHES,
	  .should = AYIOU,
	  .script = MATCH("66", BIG_IDS) "valid 66 matches",
	  .advice = "ids are 64-bit integers" },
	{ .name = "matches.no-text",
	  .title = "refuses matches without text",
	  .spec = MATCHES,
	  .should = AYIOU,
	  .script = MATCH("67", "\"message_type\":\"private\"") "error 67 -32602\nalive",
	  .advice = "answer -32602" },
	{ .name = "handle.named",
	  .title = "answers handle for the messages given by --call",
	  .spec = HANDLE,
	  .must = AYIOU,
	  .fn = mor_check_calls,
	  .advice = "answer {\"handled\":true} with reply, actions and block as needed" },

	{ .name = "shutdown.answer",
	  .title = "answers the event shutdown, or exits",
	  .spec = LIFECYCLE,
	  .must = AYIOU,
	  .script = EVENT("81", "{\"shutdown\":null}") "leaves 81",
	  .advice = "answer {\"ok\":true}, then clean up" },
	{ .name = "shutdown.exit",
	  .title = "exits after the event shutdown and the end of stdin",
	  .spec = LIFECYCLE,
	  .must = AYIOU,
	  .script = "bye\nend\nexits",
	  .advice = "leave the loop; the host sends SIGTERM 6 s after shutdown" },
	{ 0 },
};

const struct mor_check_tongue mor_check_tongue_ayiou = {
	.dialect = AYIOU,
	.name = "ayiou",
	.wire = "通信方式",
	.stop = "生命周期管理",
	.greet = MOR_CHECK_REQ
	"1,\"method\":\"metadata\",\"params\":{}}\nhello 1\n" EVENT("2", "{\"startup\":null}") "answered 2",
	.greet_id = "metadata.answer",
	.probe = "\"method\":\"metadata\",\"params\":{}",
	.call = "\"method\":\"handle\",\"params\":{\"message_type\":\"private\",\"user_id\":1,"
		"\"group_id\":null,\"self_id\":10001,\"raw_message\":\"mortise "
		"check\",\"text\":%s}",
	.call_method = "handle",
	.bye = EVENT("99", "{\"shutdown\":null}") "leaves 99",
	.rows = rows,
};
