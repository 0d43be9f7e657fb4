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

#define ROW(id, text, section, level, how, cure) MOR_CHECK_ROW(id, text, section, level, AYIOU, how, cure)

static const struct mor_check_row rows[] = {
	ROW("metadata.answer", "answers metadata with an object", METADATA, must,
	    .script = HELLO "result 1 {...}",
	    "answer with {\"name\",\"description\",\"version\",\"commands\"}"),
	ROW("metadata.letter", "answers metadata with all members of the specification",
	    "PluginMetadata - 插件元数据", should, .script = HELLO "letter 1 metadata",
	    "name, description and version are required"),
	ROW("metadata.absent", "answers metadata without params", METADATA, should,
	    .script = "start\n" MOR_CHECK_REQ "1,\"method\":\"metadata\"}\nresult 1",
	    "accept absent and empty params alike"),
	ROW("startup.answer", "answers the event startup, and starts", LIFECYCLE, must,
	    .script = HELLO
	    "answered 1\n" EVENT("2", "{\"startup\":null}") "implemented 2 lifecycle\nsucceeds 2 lifecycle",
	    "answer {\"ok\":true}; {\"ok\":false} refuses the start"),
	ROW("startup.letter", "answers the event startup with {\"ok\":true}",
	    "LifecycleParams/Event - 生命周期", should,
	    .script = HELLO "answered 1\n" EVENT("2", "{\"startup\":null}") "implemented 2 lifecycle\n"
									    "result 2 {\"ok\":true,...}",
	    "answer {\"ok\":true}"),
	ROW("startup.string", "accepts the event startup as a string", LIFECYCLE, should,
	    .script = HELLO "answered 1\n" EVENT("2", "\"startup\"") "answered 2\nalive",
	    "the real bridge sends \"startup\" and not {\"startup\":null}: accept both"),
	ROW("connect.answer", "answers the event bot_connect", "LifecycleParams/Event - 生命周期", must,
	    .script = EVENT("51", "{\"bot_connect\":{\"self_id\":10001}}") "answered 51\nalive",
	    "answer {\"ok\":true}, also if the event does not matter to you"),
	ROW("lifecycle.unknown", "goes on after an event that it does not know", LIFECYCLE, should,
	    .script = EVENT("52", "{\"mortise_check\":null}") "answered 52\nalive",
	    "later versions have more events: answer {\"ok\":true}"),
	ROW("lifecycle.no-event", "goes on after lifecycle without an event", LIFECYCLE, should,
	    .script = MOR_CHECK_REQ "53,\"method\":\"lifecycle\",\"params\":{}}\nanswered 53\nalive",
	    "answer -32602"),

	ROW("matches.private", "answers matches for a private message", MATCHES, must,
	    .script = MATCH("61",
			    "\"text\":\"mortise "
			    "check\",\"message_type\":\"private\",\"user_id\":1,\"group_id\":null") "valid "
												    "61 "
												    "matches",
	    "answer {\"matches\":true} or {\"matches\":false}"),
	ROW("matches.group", "answers matches for a message in a group", MATCHES, must,
	    .script = MATCH("62", "\"text\":\"mortise "
				  "check\",\"message_type\":\"group\",\"user_id\":1,\"group_id\":2") "valid "
												     "62 "
												     "matches",
	    "answer {\"matches\":true} or {\"matches\":false}"),
	ROW("matches.optional", "answers matches without user_id and group_id",
	    "MatchesParams/Result - 匹配检查", must,
	    .script = MATCH("63", "\"text\":\"mortise check\",\"message_type\":\"private\"") "valid 63 matches",
	    "both are optional"),
	ROW("matches.text", "answers matches for Chinese text and an empty one", MATCHES, must,
	    .script = SAID("64", "天气 \\u5317\\u4eac") SAID("65", ""),
	    "text is any Unicode text, also an empty one"),
	ROW("matches.ids", "answers matches for an id of 19 digits", MATCHES, should,
	    .script = MATCH("66", BIG_IDS) "valid 66 matches", "ids are 64-bit integers"),
	ROW("matches.no-text", "refuses matches without text", MATCHES, should,
	    .script = MATCH("67", "\"message_type\":\"private\"") "error 67 -32602\nalive", "answer -32602"),
	ROW("handle.named", "answers handle for the messages given by --call", HANDLE, must,
	    .fn = mor_check_calls, "answer {\"handled\":true} with reply, actions and block as needed"),

	ROW("shutdown.answer", "answers the event shutdown, or exits", LIFECYCLE, must,
	    .script = EVENT("81", "{\"shutdown\":null}") "leaves 81", "answer {\"ok\":true}, then clean up"),
	ROW("shutdown.exit", "exits after the event shutdown and the end of stdin", LIFECYCLE, must,
	    .script = "bye\nend\nexits", "leave the loop; the host sends SIGTERM 6 s after shutdown"),
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
