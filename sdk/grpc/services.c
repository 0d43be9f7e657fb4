/* SPDX-License-Identifier: Apache-2.0 */
/* The services of a plugin: what each call says to the session, and the answers as messages (sdk/proto). */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "bridge.h"
#include "dialect.h"
#include "pb/pb.h"
#include "wire/json.h"

#define SERVICE "sunscreen.plugin.v1.Plugin"
#define STREAM  "mortise.sunscreen.v1.Stream"
#define SERVING 1

/* The fields, by message. */
enum { INIT_WORKSPACE = 3, INITED_PROTOCOL = 1 };
enum { OFFERED_COMMAND = 1, OFFERED_HOOK = 2, OFFERED_EXTENSION = 1000 };
enum { COMMAND_KIND = 1, COMMAND_NAME = 2, COMMAND_SUMMARY = 3 };
enum { RUN_KIND = 1, RUN_NAME = 2, RUN_ARG = 3 };
enum { HOOK_NAME = 1, HOOK_CONTEXT = 2 };
enum { RESULT_OK = 1, RESULT_JSON = 2 };
enum { FROM_HOST_RUN = 1, FROM_HOST_CANCEL = 2 };
enum { PLUGIN_PROGRESS = 1, PLUGIN_LOG = 2, PLUGIN_PIECE = 3, PLUGIN_RESULT = 4 };

struct service_row {
	const char *method;
	void (*take)(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message);
	bool streams;
};

/* ---- reading ---- */

static void refuse_call(struct mor_grpc_inbound *call, const char *why)
{
	char text[200];

	snprintf(text, sizeof(text), "not such a message: %s", why);
	mor_grpc_close(call, MOR_GRPC_INVALID_ARGUMENT, text);
}

/* The next field; those of `texts` must be texts. 1, 0 at the end, -1: the call is refused. */
static int next_part(struct mor_pb *pb, uint32_t texts, struct mor_grpc_inbound *call)
{
	int r = mor_pb_next(pb);

	if (r < 0)
		refuse_call(call, "it is not a protocol buffer");
	else if (r > 0 && pb->field <= texts && pb->wire != MOR_PB_BYTES)
		refuse_call(call, "a field has another type");
	else if (r > 0 && pb->field <= texts && !mor_utf8_valid(pb->bytes))
		refuse_call(call, "a text that is not UTF-8");
	else
		return r;
	return -1;
}

/* ---- answered at once ---- */

static void reply_now(struct mor_grpc_inbound *call, struct mor_buf *message)
{
	if (mor_buf_failed(message)) {
		mor_grpc_close(call, MOR_GRPC_RESOURCE_EXHAUSTED, "no memory");
		return;
	}
	mor_grpc_reply(call, mor_buf_view(message));
	mor_grpc_close(call, MOR_GRPC_OK, "");
}

static void take_initialize(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_pb pb = { .left = message };
	int r;

	mor_buf_reset(&bridge->workspace, 0);
	while ((r = next_part(&pb, INIT_WORKSPACE, call)) > 0)
		if (pb.field == INIT_WORKSPACE)
			mor_buf_slice(&bridge->workspace, pb.bytes);
	if (r < 0)
		return;
	mor_pb_put_text(&out, INITED_PROTOCOL, "1");
	reply_now(call, &out);
}

static void put_command(struct mor_buf *out, const tenon_command *command, const char *usual)
{
	MOR_CLEAN(mor_buf) struct mor_buf one = MOR_BUF_INIT;

	mor_pb_put_bytes(&one, COMMAND_KIND, tn_sunscreen_kind(command->name, usual));
	mor_pb_put_text(&one, COMMAND_NAME, tn_sunscreen_bare(command->name));
	mor_pb_put_text(&one, COMMAND_SUMMARY, command->doc ? command->doc : "");
	if (mor_buf_failed(&one))
		out->status = one.status;
	mor_pb_put_bytes(out, OFFERED_COMMAND, mor_buf_view(&one));
}

static void take_capabilities(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)message;
	for (const tenon_command *row = bridge->plugin->commands; row && row->name; row++)
		put_command(&out, row, bridge->usual_kind);
	for (const tenon_command *row = bridge->plugin->hooks; row && row->name; row++)
		mor_pb_put_text(&out, OFFERED_HOOK, tn_sunscreen_bare(row->name));
	mor_pb_put_text(&out, OFFERED_EXTENSION, STREAM);
	reply_now(call, &out);
}

static void take_health(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_slice service = MOR_SLICE("");
	struct mor_pb pb = { .left = message };
	char text[100];
	int r;

	(void)bridge;
	while ((r = next_part(&pb, 1, call)) > 0)
		if (pb.field == 1)
			service = pb.bytes;
	if (r < 0)
		return;
	if (service.len && !mor_slice_is(service, "plugin") && !mor_slice_is(service, SERVICE)) {
		snprintf(text, sizeof(text), "there is no service %.*s",
			 (int)(service.len < 60 ? service.len : 60), service.ptr);
		mor_grpc_close(call, MOR_GRPC_NOT_FOUND, text);
		return;
	}
	mor_pb_put_number(&out, 1, SERVING);
	reply_now(call, &out);
}

/* ---- asked of the session ---- */

static void put_result(struct mor_buf *out, bool ok, struct mor_slice json)
{
	if (ok)
		mor_pb_put_number(out, RESULT_OK, 1);
	mor_pb_put_bytes(out, RESULT_JSON, json);
}

static void answer_result(struct mor_grpc_inbound *call, bool ok, struct mor_slice json)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	put_result(&out, ok, json);
	reply_now(call, &out);
}

static void answer_stream(struct mor_grpc_inbound *call, bool ok, struct mor_slice json)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	put_result(&result, ok, json);
	mor_pb_put_bytes(&out, PLUGIN_RESULT, mor_buf_view(&result));
	if (mor_buf_failed(&result))
		out.status = result.status;
	reply_now(call, &out);
}

static void answer_shutdown(struct mor_grpc_inbound *call, bool ok, struct mor_slice json)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)ok;
	(void)json;
	mor_pb_put_number(&out, 1, 1); /* HashiCorp's has no field: it is skipped there */
	reply_now(call, &out);
}

static void ask_session(struct tn_bridge *bridge, struct mor_grpc_inbound *call, const char *method,
			const struct mor_buf *params,
			void (*answer)(struct mor_grpc_inbound *, bool, struct mor_slice))
{
	struct tn_asked *asked = tn_bridge_ask(bridge, method, params);

	if (!asked) {
		mor_grpc_close(call, MOR_GRPC_UNAVAILABLE, bridge->over ? "the plugin ends" : "no memory");
		return;
	}
	asked->call = call;
	asked->streams = answer == answer_stream;
	asked->answer = answer;
	call->owner = asked;
}

/* RunCommandRequest as params; false: the call is refused. */
static bool write_run(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message,
		      bool streams, struct mor_buf *params)
{
	MOR_CLEAN(mor_buf) struct mor_buf words = MOR_BUF_INIT;
	struct mor_writer w = { .out = params }, list = { .out = &words };
	struct mor_slice kind = MOR_SLICE(""), name = MOR_SLICE("");
	struct mor_pb pb = { .left = message };
	int r;

	mor_w_array(&list);
	while ((r = next_part(&pb, RUN_ARG, call)) > 0) {
		if (pb.field == RUN_KIND)
			kind = pb.bytes;
		if (pb.field == RUN_NAME)
			name = pb.bytes;
		if (pb.field == RUN_ARG)
			mor_w_slice(&list, pb.bytes);
	}
	mor_w_end(&list);
	mor_w_object(&w);
	if (kind.len) {
		mor_w_key(&w, "kind");
		mor_w_slice(&w, kind);
	}
	mor_w_key(&w, "command");
	mor_w_slice(&w, name);
	mor_w_pair_raw(&w, "args", mor_buf_view(&words));
	mor_w_key(&w, "workspace");
	mor_w_slice(&w, mor_buf_view(&bridge->workspace));
	mor_w_pair_bool(&w, "stream", streams);
	mor_w_end(&w);
	if (mor_buf_failed(&words))
		params->status = words.status;
	return r == 0;
}

static void take_run(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;

	if (write_run(bridge, call, message, false, &params))
		ask_session(bridge, call, "run", &params, answer_result);
}

/* The context must be one JSON text: it goes into another. */
static void take_hook(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf compact = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_writer w = { .out = &params };
	struct mor_slice name = MOR_SLICE(""), context = MOR_SLICE("{}");
	struct mor_pb pb = { .left = message };
	mortise_error err;
	char text[400];
	int r;

	while ((r = next_part(&pb, HOOK_CONTEXT, call)) > 0) {
		if (pb.field == HOOK_NAME)
			name = pb.bytes;
		if (pb.field == HOOK_CONTEXT && pb.bytes.len)
			context = pb.bytes;
	}
	if (r < 0)
		return;
	if (mor_doc_parse(context, 0, 0, &doc, &err) < 0) {
		snprintf(text, sizeof(text), "json_context is not JSON: %.300s", err.text);
		mor_grpc_close(call, MOR_GRPC_INVALID_ARGUMENT, text);
		return;
	}
	mor_json_write(mor_doc_root(doc), false, &compact); /* no line ends in it */
	mor_w_object(&w);
	mor_w_key(&w, "name");
	mor_w_slice(&w, name);
	mor_w_pair_raw(&w, "context", mor_buf_view(&compact));
	mor_w_key(&w, "workspace");
	mor_w_slice(&w, mor_buf_view(&bridge->workspace));
	mor_w_end(&w);
	ask_session(bridge, call, "hook", &params, answer_result);
}

static void take_shutdown(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;

	(void)message;
	mor_buf_text(&params, "{}");
	ask_session(bridge, call, "shutdown", &params, answer_shutdown);
}

/* ---- the stream ---- */

/* The part of FromHost that is set, as its field; 0: none that we know. -1: the call is refused. */
static int stream_part(struct mor_grpc_inbound *call, struct mor_slice message, struct mor_slice *ret)
{
	struct mor_pb pb = { .left = message };
	int r, found = 0;

	while ((r = next_part(&pb, 0, call)) > 0)
		if ((pb.field == FROM_HOST_RUN || pb.field == FROM_HOST_CANCEL) && pb.wire == MOR_PB_BYTES) {
			found = (int)pb.field;
			*ret = pb.bytes;
		}
	return r < 0 ? -1 : found;
}

static void take_stream(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_slice part = { 0 };
	int which = stream_part(call, message, &part);

	if (which < 0)
		return;
	if (call->owner && which == FROM_HOST_CANCEL)
		tn_bridge_cancel(bridge, call->owner);
	if (call->owner)
		return;
	if (which != FROM_HOST_RUN)
		mor_grpc_close(call, MOR_GRPC_INVALID_ARGUMENT, "the first message must be `run`");
	else if (write_run(bridge, call, part, true, &params))
		ask_session(bridge, call, "run", &params, answer_stream);
}

static void put_double(struct mor_buf *out, uint32_t field, double number)
{
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	bits = htole64(bits);
	mor_pb_put_varint(out, field << 3 | MOR_PB_FIXED64);
	mor_buf_append(out, &bits, sizeof(bits));
}

static uint32_t write_note(struct mor_slice method, const struct mor_value *params, struct mor_buf *out)
{
	const struct mor_value *fraction = mor_json_get(params, "fraction");
	const char *text = mor_json_text(mor_json_get(params, "text"), "");

	if (mor_slice_is(method, "progress")) {
		if (fraction)
			put_double(out, 1, mor_json_double(fraction, 0));
		mor_pb_put_text(out, 2, text);
		return PLUGIN_PROGRESS;
	}
	if (mor_slice_is(method, "log")) {
		mor_pb_put_text(out, 1, mor_json_text(mor_json_get(params, "level"), "info"));
		mor_pb_put_text(out, 2, text);
		return PLUGIN_LOG;
	}
	mor_pb_put_text(out, 1, text);
	return PLUGIN_PIECE;
}

void tn_services_note(struct mor_grpc_inbound *call, struct mor_slice method, struct mor_slice params)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf note = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	uint32_t field;

	if (mor_doc_parse(params, 0, 0, &doc, NULL) < 0)
		return;
	field = write_note(method, mor_doc_root(doc), &note);
	mor_pb_put_bytes(&out, field, mor_buf_view(&note));
	if (!mor_buf_failed(&note) && !mor_buf_failed(&out))
		mor_grpc_reply(call, mor_buf_view(&out));
}

/* ---- the table ---- */

static const struct service_row service_rows[] = {
	{ "/" SERVICE "/Initialize", take_initialize, false },
	{ "/" SERVICE "/Capabilities", take_capabilities, false },
	{ "/" SERVICE "/RunCommand", take_run, false },
	{ "/" SERVICE "/RunHook", take_hook, false },
	{ "/" SERVICE "/Shutdown", take_shutdown, false },
	{ "/" STREAM "/RunCommandStream", take_stream, true },
	{ "/grpc.health.v1.Health/Check", take_health, false },
	{ "/plugin.GRPCController/Shutdown", take_shutdown, false },
};

static const struct service_row *find_service(const char *method)
{
	for (size_t i = 0; i < sizeof(service_rows) / sizeof(service_rows[0]); i++)
		if (strcmp(service_rows[i].method, method) == 0)
			return &service_rows[i];
	return NULL;
}

void tn_services_call(struct tn_bridge *bridge, struct mor_grpc_inbound *call)
{
	char text[MOR_GRPC_METHOD + 40];

	(void)bridge;
	if (find_service(call->method))
		return;
	snprintf(text, sizeof(text), "there is no method %s", call->method);
	mor_grpc_close(call, MOR_GRPC_UNIMPLEMENTED, text);
}

void tn_services_message(struct tn_bridge *bridge, struct mor_grpc_inbound *call, struct mor_slice message)
{
	const struct service_row *row = find_service(call->method);

	if (call->owner && !row->streams)
		refuse_call(call, "one is expected");
	else
		row->take(bridge, call, message);
}

void tn_services_finish(struct mor_grpc_inbound *call)
{
	if (!call->owner)
		mor_grpc_close(call, MOR_GRPC_INVALID_ARGUMENT, "no message");
}
