/* SPDX-License-Identifier: Apache-2.0 */
#include "tongue.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/envelope.h"
#include "wire/json.h"

/* clang-format off */
#define PLAIN(tongue_name, how) \
	{ \
		.name = tongue_name, .dialect = "plain", .framing = how, .action = "echo", .params = "%", \
		.method = "echo", .at = "", .head = "{\"token\":\"", .tail = "\"}", \
	}
/* clang-format on */

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
		.params = "{\"source\":{\"type\":\"bytes\",\"data\":%},\"options\":{}}",
		.form = AS_BASE64,
		.method = "extractor.extract",
		.at = "/source/data",
		.head = "{\"success\":true,\"content\":\"",
		.tail = "\"}",
		.greeting = { "handshake.manifest", "plugin.init" },
		.fixed = { { "handshake.manifest",
			     "{\"name\":\"kit\",\"version\":\"1.0.0\",\"interfaces\":[\"content_extractor_v1\"]}" },
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
		.params =
			"{\"message_type\":\"group\",\"user_id\":7,\"group_id\":8,\"raw_message\":\"x\",\"text\":%}",
		.form = AS_TEXT,
		.method = "handle",
		.at = "/text",
		.head = "{\"handled\":true,\"block\":false,\"reply\":\"",
		.tail = "\"}",
		.greeting = { "metadata", "lifecycle" },
		.fixed = { { "metadata",
			     "{\"name\":\"kit\",\"description\":\"d\",\"version\":\"1\",\"commands\":[]}" },
			   { "lifecycle", "{\"ok\":true}" },
			   { "matches", "{\"matches\":true}" } },
		.patient = true,
		.greets = true,
	},
	{
		.name = "gassist",
		.dialect = "gassist",
		.framing = MOR_FRAMING_BE32,
		.action = "echo",
		.params = "%",
		.method = "execute",
		.at = "/arguments",
		.head = "\"",
		.tail = "\"",
		.greeting = { "initialize" },
		.fixed = { { "initialize",
			     "{\"name\":\"kit\",\"version\":\"1.0.0\",\"protocol_version\":\"2.0\",\"commands\":[{\"name\":\"echo\"}]}" },
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
		.params = "{\"args\":[],\"flags\":{\"order\":%},\"workspace_root\":\"/tmp\",\"config\":{}}",
		.form = AS_TEXT,
		.method = "run",
		.at = "/flags/order",
		.head = "{\"files_written\":[],\"summary\":\"",
		.tail = "\"}",
		.greeting = { "commands" },
		.fixed = { { "commands", "{\"scaffold\":{\"echo\":\"e\"},\"hook\":{}}" } },
		.manifest = "plugin.toml",
		.manifest_text = "[plugin]\nname = \"kit\"\nversion = \"1.0.0\"\nentry = \"./plugin\"\n"
				 "[commands.scaffold]\necho = \"e\"\n",
		.one_shot = true,
		.greets = true,
	},
	{
		.name = "sunscreen-json",
		.dialect = "sunscreen-json",
		.framing = MOR_FRAMING_HEADERS,
		.action = "sunscreen.command/run",
		.params = "{\"args\":[%],\"workspace\":\"/tmp\"}",
		.form = AS_TEXT,
		.method = "sunscreen.command/run",
		.at = "/args/0",
		.head = "{\"token\":\"",
		.tail = "\"}",
		.manifest = "sunscreen-plugin.json",
		.manifest_text = "{\"name\":\"kit\",\"version\":\"1.0.0\",\"transport\":\"stdio-jsonrpc\","
				 "\"entrypoint\":[\"./plugin\"],"
				 "\"commands\":[{\"name\":\"echo\",\"kind\":\"app\",\"summary\":\"e\"}]}",
		.declared = "echo",
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
	fprintf(stderr, "nobody speaks \"%s\": add it to tongues[] in tests/kit/tongue.c\n", name);
	return NULL;
}

/* ---- orders and answers ---- */

int tongue_params(const struct tongue *tongue, struct mor_slice order, struct mor_buf *out)
{
	const char *place = strchr(tongue->params, '%');

	mor_buf_append(out, tongue->params, (size_t)(place - tongue->params));
	if (tongue->form == AS_OBJECT) {
		mor_buf_slice(out, order);
	} else if (tongue->form == AS_TEXT) {
		mor_buf_json_string(out, order);
	} else {
		mor_buf_byte(out, '"');
		mor_base64_encode(order, out);
		mor_buf_byte(out, '"');
	}
	return mor_buf_text(out, place + 1);
}

int tongue_order(const struct tongue *tongue, struct mor_slice params, struct mor_buf *out)
{
	struct mor_doc *doc = NULL;
	const struct mor_value *value;
	int r = mor_doc_parse(params, 0, 0, &doc, NULL);

	if (r < 0)
		return r;
	value = mor_json_at(mor_doc_root(doc), tongue->at);
	if (tongue->form == AS_OBJECT)
		r = mor_json_write(value, false, out);
	else if (tongue->form == AS_TEXT)
		r = mor_buf_slice(out, mor_json_string(value));
	else
		r = mor_base64_decode(mor_json_string(value), out);
	mor_doc_free(doc);
	return r;
}

int tongue_answer(const struct tongue *tongue, struct mor_slice id, const char *token, struct mor_buf *out)
{
	static const char by_note[] = "{\"jsonrpc\":\"2.0\",\"method\":\"complete\","
				      "\"params\":{\"request_id\":%.*s,\"success\":true,\"data\":%s%s%s}}";
	static const char by_reply[] = "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s%s%s}";

	return mor_buf_printf(out, tongue->by_note ? by_note : by_reply, (int)id.len, id.ptr, tongue->head,
			      token, tongue->tail);
}

bool tongue_fixed(const struct tongue *tongue, struct mor_slice method, const char **ret_result)
{
	for (size_t i = 0; i < sizeof(tongue->fixed) / sizeof(tongue->fixed[0]) && tongue->fixed[i].method;
	     i++) {
		if (!mor_slice_is(method, tongue->fixed[i].method))
			continue;
		*ret_result = tongue->fixed[i].result;
		return true;
	}
	return false;
}

/* ---- in ---- */

void tongue_take(struct mor_deframer *deframer, struct mor_buf *in, bool at_end, tongue_message_fn *take)
{
	struct mor_item item = { 0 };
	struct mor_message message;
	enum mor_item_kind kind;
	size_t used = 0;

	while ((kind = mor_deframe(deframer, in->data + used, in->len - used, at_end, &item)) !=
	       MOR_ITEM_MORE) {
		used += item.used;
		if (kind == MOR_ITEM_FRAME && mor_envelope_scan(item.body, 0, 0, &message, NULL) == 0)
			take(&message);
		item = (struct mor_item){ 0 };
	}
	mor_buf_consume(in, used);
}
