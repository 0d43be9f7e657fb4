/* SPDX-License-Identifier: Apache-2.0 */
/* Sunscreen's gRPC service. The field numbers are those of its public plugin.proto. */
#include "service/service.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "service/inside.h"

#define SERVICE        "/sunscreen.plugin.v1.Plugin/"
#define STREAM         "mortise.sunscreen.v1.Stream"
#define VERSION_SPOKEN "1"

/* The fields, by message. */
enum { INIT_PROTOCOL = 1, INIT_VERSION = 2, INIT_WORKSPACE = 3 };
enum { INITED_PROTOCOL = 1, INITED_ACCEPTED = 2 };
enum { OFFERED_COMMAND = 1, OFFERED_HOOK = 2, OFFERED_EXTENSION = 1000 };
enum { COMMAND_KIND = 1, COMMAND_NAME = 2, COMMAND_SUMMARY = 3 };
enum { RUN_KIND = 1, RUN_NAME = 2, RUN_ARG = 3 };
enum { HOOK_NAME = 1, HOOK_CONTEXT = 2 };
enum { RESULT_OK = 1, RESULT_JSON = 2 };

/* ---- asking ---- */

static int put_string(struct mor_buf *out, uint32_t field, const char *what, struct mor_slice text,
		      mortise_error *err)
{
	if (text.len && memchr(text.ptr, '\0', text.len))
		return mor_fail(err, MORTISE_EINPUT, "%s holds a NUL character", what);
	return mor_pb_put_bytes(out, field, text) < 0 ? mor_fail_memory(err) : 0;
}

/* A member that must be a string. */
static int need_string(const struct mor_value *params, const char *name, struct mor_slice *ret,
		       mortise_error *err)
{
	*ret = mor_json_string(mor_json_get(params, name));
	return ret->ptr ? 0 : mor_fail(err, MORTISE_EINPUT, "params: /%s must be a string", name);
}

static int ask_initialize(const struct mor_value *params, struct mor_buf *out, mortise_error *err)
{
	struct mor_slice workspace;
	int r = need_string(params, "workspace_root", &workspace, err);

	if (r < 0)
		return r;
	mor_pb_put_text(out, INIT_PROTOCOL, VERSION_SPOKEN);
	mor_pb_put_text(out, INIT_VERSION, MORTISE_VERSION);
	return put_string(out, INIT_WORKSPACE, "the workspace", workspace, err);
}

static int ask_nothing(const struct mor_value *params, struct mor_buf *out, mortise_error *err)
{
	(void)params;
	(void)out;
	(void)err;
	return 0;
}

static int put_args(const struct mor_value *args, struct mor_buf *out, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(args);
	int r = 0;

	if (args && mor_json_type(args) != MOR_JSON_ARRAY)
		return mor_fail(err, MORTISE_EINPUT, "params: /args must be an array of strings");
	while (r == 0 && args && mor_json_next(&it)) {
		struct mor_slice text = mor_json_string(it.value);

		r = text.ptr ? put_string(out, RUN_ARG, "an argument", text, err) :
			       mor_fail(err, MORTISE_EINPUT, "params: /args must be an array of strings");
	}
	return r;
}

/* The words as they were typed, if the caller has them; else the arguments that are left of them. */
static int ask_run(const struct mor_value *params, struct mor_buf *out, mortise_error *err)
{
	const struct mor_value *words = mor_json_get(params, "words");
	struct mor_slice command;
	const char *colon;
	int r = need_string(params, "command", &command, err);

	if (r < 0)
		return r;
	colon = command.len ? memchr(command.ptr, ':', command.len) : NULL;
	if (!colon)
		return mor_fail(err, MORTISE_EINPUT, "params: /command must be KIND:NAME");
	r = put_string(out, RUN_KIND, "the command",
		       (struct mor_slice){ command.ptr, (size_t)(colon - command.ptr) }, err);
	if (r == 0)
		r = put_string(out, RUN_NAME, "the command",
			       (struct mor_slice){ colon + 1, (size_t)(command.ptr + command.len - colon - 1) },
			       err);
	return r < 0 ? r : put_args(words ? words : mor_json_get(params, "args"), out, err);
}

static int ask_hook(const struct mor_value *params, struct mor_buf *out, mortise_error *err)
{
	const struct mor_value *context = mor_json_get(params, "context");
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_slice name;
	int r = need_string(params, "name", &name, err);

	if (r < 0 || (r = put_string(out, HOOK_NAME, "the hook", name, err)) < 0)
		return r;
	if ((context ? mor_json_write(context, false, &json) : mor_buf_text(&json, "{}")) < 0)
		return mor_fail_memory(err);
	return put_string(out, HOOK_CONTEXT, "the context", mor_buf_view(&json), err);
}

/* ---- answers ---- */

int mor_service_refuse(const char *why, mortise_error *err)
{
	return mor_fail(err, MORTISE_EPROTO, "its answer is not a message of sunscreen.plugin.v1: %s", why);
}

int mor_service_next(struct mor_pb *pb, mortise_error *err)
{
	int r = mor_pb_next(pb);

	return r < 0 ? mor_service_refuse("it is not a protocol buffer", err) : r;
}

int mor_service_text(const struct mor_pb *pb, uint32_t field, struct mor_slice *ret, mortise_error *err)
{
	if (pb->field != field)
		return 0;
	if (pb->wire != MOR_PB_BYTES)
		return mor_service_refuse("a text has another type", err);
	if (!mor_utf8_valid(pb->bytes))
		return mor_service_refuse("a text is not UTF-8", err);
	*ret = pb->bytes;
	return 0;
}

static int finish_json(const struct mor_buf *out, mortise_error *err)
{
	return mor_buf_failed(out) ? mor_fail_memory(err) : 0;
}

static int answer_initialize(struct mor_slice message, struct mor_buf *ret_result, struct mor_buf *ret_data,
			     mortise_error *err)
{
	struct mor_pb pb = { .left = message };
	struct mor_slice protocol = MOR_SLICE("");
	MOR_CLEAN(mor_buf) struct mor_buf list = MOR_BUF_INIT;
	struct mor_writer w = { .out = ret_result }, accepted = { .out = &list };
	int r;

	(void)ret_data;
	mor_w_array(&accepted);
	while ((r = mor_service_next(&pb, err)) > 0) {
		struct mor_slice one = { 0 };

		if ((r = mor_service_text(&pb, INITED_PROTOCOL, &protocol, err)) < 0 ||
		    (r = mor_service_text(&pb, INITED_ACCEPTED, &one, err)) < 0)
			return r;
		if (one.ptr)
			mor_w_slice(&accepted, one);
	}
	if (r < 0)
		return r;
	mor_w_end(&accepted);
	if (mor_buf_failed(&list))
		return mor_fail_memory(err);
	mor_w_object(&w);
	mor_w_pair_slice(&w, "protocol_version", protocol);
	mor_w_pair_raw(&w, "accepted_capabilities", mor_buf_view(&list));
	mor_w_end(&w);
	return finish_json(ret_result, err);
}

struct command {
	struct mor_slice kind, name, summary;
};
struct offered {
	struct command list[MOR_SERVICE_COMMANDS];
	size_t count;
};

static int take_command(const struct mor_pb *pb, struct command *ret, mortise_error *err)
{
	struct mor_pb inner = { .left = pb->bytes };
	int r;

	*ret = (struct command){ MOR_SLICE(""), MOR_SLICE(""), MOR_SLICE("") };
	if (pb->field == OFFERED_HOOK) {
		ret->kind = MOR_SLICE("hook");
		return mor_service_text(pb, OFFERED_HOOK, &ret->name, err);
	}
	if (pb->wire != MOR_PB_BYTES)
		return mor_service_refuse("a command has another type", err);
	while ((r = mor_service_next(&inner, err)) > 0)
		if ((r = mor_service_text(&inner, COMMAND_KIND, &ret->kind, err)) < 0 ||
		    (r = mor_service_text(&inner, COMMAND_NAME, &ret->name, err)) < 0 ||
		    (r = mor_service_text(&inner, COMMAND_SUMMARY, &ret->summary, err)) < 0)
			return r;
	return r;
}

/* One object per kind, in the order in which the kinds come. */
static void write_kinds(struct offered *offered, struct mor_writer *w)
{
	struct command *list = offered->list;

	mor_w_object(w);
	for (size_t i = 0; i < offered->count; i++) {
		struct mor_slice kind = list[i].kind;

		if (!kind.ptr)
			continue;
		mor_w_key_slice(w, kind);
		mor_w_object(w);
		for (size_t j = i; j < offered->count; j++) {
			if (!list[j].kind.ptr || !mor_slice_eq(list[j].kind, kind))
				continue;
			mor_w_key_slice(w, list[j].name);
			mor_w_slice(w, list[j].summary);
			list[j].kind.ptr = NULL; /* it is written */
		}
		mor_w_end(w);
	}
	mor_w_end(w);
}

static int answer_capabilities(struct mor_slice message, struct mor_buf *ret_result, struct mor_buf *ret_data,
			       mortise_error *err)
{
	struct mor_pb pb = { .left = message };
	struct offered *offered = mor_zalloc(sizeof(*offered));
	struct mor_writer w = { .out = ret_result };
	int r = offered ? 1 : mor_fail_memory(err);

	(void)ret_data;
	while (r > 0 && (r = mor_service_next(&pb, err)) > 0) {
		if (pb.field != OFFERED_COMMAND && pb.field != OFFERED_HOOK)
			continue;
		if (offered->count == MOR_SERVICE_COMMANDS)
			r = mor_service_refuse("it offers more than 1000 commands", err);
		else if (take_command(&pb, &offered->list[offered->count++], err) < 0)
			r = MORTISE_EPROTO;
	}
	if (r == 0) {
		write_kinds(offered, &w);
		r = finish_json(ret_result, err);
	}
	mor_free(offered);
	return r;
}

/* What a failed answer says, for people. */
static struct mor_slice failure_text(const struct mor_value *root, struct mor_slice json)
{
	static const char *const members[] = { "message", "error" };
	struct mor_slice text = mor_json_string(root);

	for (size_t i = 0; i < 2 && !text.ptr; i++)
		text = mor_json_string(mor_json_get(root, members[i]));
	if (!text.ptr)
		text = json;
	return text.len ? text : MOR_SLICE("says that it has failed");
}

/* An error of JSON-RPC has its own code and data. All else is one of the runtime, and its data is all of it. */
static int tell_failure(const struct mor_value *root, struct mor_slice json, struct mor_buf *ret_data,
			mortise_error *err)
{
	const struct mor_value *code = mor_json_get(root, "code"), *data = mor_json_get(root, "data");
	bool whole = mor_json_is_int(code) && mor_json_string(mor_json_get(root, "message")).ptr;
	char shown[300];
	int r = 0;

	if (whole && data)
		r = mor_json_write(data, false, ret_data);
	else if (!whole && root)
		r = mor_json_one_line(json, ret_data);
	if (r < 0)
		return mor_fail_memory(err);
	mor_fail(err, MORTISE_EREMOTE, "%s", mor_printable(failure_text(root, json), shown, sizeof(shown)));
	if (err)
		err->rpc_code = whole ? mor_json_int(code, MOR_SERVICE_FAILED) : MOR_SERVICE_FAILED;
	return MORTISE_EREMOTE;
}

static int answer_result(struct mor_slice message, struct mor_buf *ret_result, struct mor_buf *ret_data,
			 mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_pb pb = { .left = message };
	struct mor_slice json = MOR_SLICE("");
	mortise_error why;
	bool ok = false; /* as protobuf has it: false is not written */
	int r, parsed = 0;

	while ((r = mor_service_next(&pb, err)) > 0) {
		if (pb.field == RESULT_OK && pb.wire != MOR_PB_VARINT)
			return mor_service_refuse("ok has another type", err);
		if (pb.field == RESULT_OK)
			ok = pb.number != 0;
		if ((r = mor_service_text(&pb, RESULT_JSON, &json, err)) < 0)
			return r;
	}
	if (r < 0)
		return r;
	if (json.len)
		parsed = mor_doc_parse(json, 0, 0, &doc, &why);
	if (parsed == MORTISE_ENOMEM)
		return mor_fail_memory(err);
	if (ok && parsed < 0)
		return mor_fail(err, MORTISE_EPROTO, "json_result is not JSON: %.300s", why.text);
	if (!ok) /* a failure may be told in plain words */
		return tell_failure(doc ? mor_doc_root(doc) : NULL, json, ret_data, err);
	if (json.len)
		mor_json_one_line(json, ret_result);
	else
		mor_buf_text(ret_result, "null");
	return finish_json(ret_result, err);
}

/* The plugin is going; whether it likes that does not matter. */
static int answer_shutdown(struct mor_slice message, struct mor_buf *ret_result, struct mor_buf *ret_data,
			   mortise_error *err)
{
	(void)message;
	(void)ret_data;
	mor_buf_text(ret_result, "null");
	return finish_json(ret_result, err);
}

/* ---- the first call ---- */

static int hello_params(const char *const *env, struct mor_buf *out)
{
	static const char name[] = "SUNSCREEN_WORKSPACE_ROOT=";
	struct mor_writer w = { .out = out };
	const char *root = "";

	for (; env && *env; env++)
		if (strncmp(*env, name, sizeof(name) - 1) == 0)
			root = *env + sizeof(name) - 1;
	mor_w_object(&w);
	mor_w_pair(&w, "workspace_root", root);
	mor_w_end(&w);
	return mor_buf_failed(out) ? MORTISE_ENOMEM : 0;
}

static int helloed(const struct mor_value *result, mortise_error *err)
{
	struct mor_slice version = mor_json_string(mor_json_get(result, "protocol_version"));
	char shown[40];

	if (!version.len || mor_slice_is(version, VERSION_SPOKEN))
		return 0;
	return mor_fail(err, MORTISE_ETRANSPORT,
			"speaks version \"%s\" of sunscreen.plugin.v1: only \"" VERSION_SPOKEN
			"\" is spoken here",
			mor_excerpt(version, shown, sizeof(shown)));
}

static bool offers_streams(const struct mor_service_row *row, struct mor_slice message)
{
	struct mor_pb pb = { .left = message };

	while (row->answer == answer_capabilities && mor_pb_next(&pb) > 0)
		if (pb.field == OFFERED_EXTENSION && pb.wire == MOR_PB_BYTES && mor_slice_is(pb.bytes, STREAM))
			return true;
	return false;
}

/* ---- the table ---- */

static const struct mor_service_row rows[] = {
	{ "initialize", SERVICE "Initialize", ask_initialize, answer_initialize, NULL },
	{ "commands", SERVICE "Capabilities", ask_nothing, answer_capabilities, NULL },
	{ "run", SERVICE "RunCommand", ask_run, answer_result, &mor_service_run_stream },
	{ "hook", SERVICE "RunHook", ask_hook, answer_result, NULL },
	{ "shutdown", SERVICE "Shutdown", ask_nothing, answer_shutdown, NULL },
};

const struct mor_service_row *mor_service_find(struct mor_slice method)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (mor_slice_is(method, rows[i].method))
			return &rows[i];
	return NULL;
}

static const struct mor_service sunscreen = {
	.dialect = "sunscreen",
	.health = "",
	.hello = "initialize",
	.bye = "shutdown",
	.hello_params = hello_params,
	.helloed = helloed,
	.find = mor_service_find,
	.offers_streams = offers_streams,
};

/* ---- go-plugin: everything that is not its own is described ---- */

static const struct mor_service_row go_plugin_rows[] = {
	{ "shutdown", "/plugin.GRPCController/Shutdown", ask_nothing, answer_shutdown, NULL },
};

static const struct mor_service_row *find_go_plugin(struct mor_slice method)
{
	return mor_slice_is(method, go_plugin_rows[0].method) ? &go_plugin_rows[0] : NULL;
}

static bool offers_no_streams(const struct mor_service_row *row, struct mor_slice message)
{
	(void)row;
	(void)message;
	return false;
}

static const struct mor_service go_plugin = {
	.dialect = "go-plugin",
	.health = "plugin",
	.bye = "shutdown",
	.described = true,
	.find = find_go_plugin,
	.offers_streams = offers_no_streams,
};

const struct mor_service *mor_service_of(const char *dialect)
{
	static const struct mor_service *const services[] = { &sunscreen, &go_plugin };

	for (size_t i = 0; i < sizeof(services) / sizeof(*services); i++)
		if (strcmp(dialect, services[i]->dialect) == 0)
			return services[i];
	return NULL;
}
