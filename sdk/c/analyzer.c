/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon_analyze(): the client's end of the Kythe analyzer protocol. Requests go out one at a time and their
 * answer is waited for; log and done go out without an id and are never answered. `done` is sent only after the
 * last byte of the output is in the file.
 */
#include <tenon/analyzer.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fd.h"
#include "wire/envelope.h"
#include "wire/framing.h"
#include "wire/json.h"

#include "analyzer_inside.h"
#include "private_wire.h"

#define MESSAGE_LIMIT ((size_t)256 << 20)
#define KEEP_BYTES    ((size_t)64 << 10) /* what a buffer may hold on to between messages */

static void complain(const tenon_analyzer *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void complain(const tenon_analyzer *a, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "%s: %s\n", a->opt->name ? a->opt->name : "analyzer", text);
}

/* ---- the wire ---- */

/* Behind what waits already. */
static int queue_message(tenon_analyzer *a)
{
	if (mor_buf_failed(&a->message) ||
	    mor_enframe(MOR_FRAMING_DECIMAL, mor_buf_view(&a->message), &a->frame) < 0)
		return -ENOMEM;
	return 0;
}

static int flush_messages(tenon_analyzer *a)
{
	int r = a->gone ? 0 : mor_fd_write_all(a->out, a->frame.data, a->frame.len);

	mor_buf_reset(&a->frame, KEEP_BYTES);
	a->gone = a->gone || r == -EPIPE;
	return r;
}

/* The next frame's body; valid until the next call. 1, 0: the driver closed our input, negative:
 * the wire broke. */
static int receive(tenon_analyzer *a, struct mor_slice *ret)
{
	bool at_eof = false;

	mor_buf_consume(&a->input, a->taken);
	a->taken = 0;
	for (;;) {
		struct mor_item item;
		enum mor_item_kind kind = mor_deframe(&a->deframer, a->input.data, a->input.len, at_eof, &item);
		ssize_t n;

		if (kind == MOR_ITEM_FRAME) {
			a->taken = item.used;
			*ret = item.body;
			return 1;
		}
		if (kind != MOR_ITEM_MORE)
			return -EBADMSG; /* a corrupt frame: we must exit */
		if (at_eof)
			return 0;
		do
			n = tn_read_some(a->in, &a->input);
		while (n == -EINTR);
		if (n < 0)
			return (int)n;
		at_eof = n == 0;
	}
}

/* Waits for the answer to the request that was sent last. 1: *ret is its result (free the document), 0: the
 * driver closed our input, negative: it refused, or the wire broke; both were said on stderr. */
static int await(tenon_analyzer *a, const char *method, struct mor_doc **ret)
{
	struct mor_slice body;
	struct mor_message message;
	mortise_error err = { 0 };
	int r;

	while ((r = receive(a, &body)) > 0) {
		if (mor_envelope_scan(body, MOR_ENV_ERROR_NULL_OK, 0, &message, &err) < 0) {
			complain(a, "%s: %s", method, err.text);
			return -EBADMSG;
		}
		if (message.kind == MOR_MSG_ERROR) {
			struct mor_rpc_error error;

			mor_envelope_error(message.error, &error);
			complain(a, "%s: %s (%lld)", method, error.text, (long long)error.code);
			return -EPROTO;
		}
		if (message.kind == MOR_MSG_RESULT && message.id_int == a->id)
			return mor_doc_parse(message.result, 0, 0, ret, &err) < 0 ? -ENOMEM : 1;
	}
	if (r < 0)
		complain(a, "%s: %s", method, r == -EBADMSG ? "the driver sent a corrupt frame" : strerror(-r));
	a->gone = true;
	return r;
}

static int request(tenon_analyzer *a, const char *method, struct mor_slice params, struct mor_doc **ret)
{
	mor_buf_reset(&a->message, KEEP_BYTES);
	mor_write_request(&a->message, ++a->id, mor_slice_of(method), params);
	if (a->gone || queue_message(a) < 0 || flush_messages(a) < 0)
		return 0;
	return await(a, method, ret);
}

/* `later`: it may leave together with the next message. */
static void note(tenon_analyzer *a, const char *method, struct mor_slice params, bool later)
{
	mor_buf_reset(&a->message, KEEP_BYTES);
	mor_write_note(&a->message, mor_slice_of(method), params);
	if (queue_message(a) == 0 && !later)
		flush_messages(a);
}

static int init(tenon_analyzer *a)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = request(a, "init", MOR_SLICE("{\"protocol\":\"kythe1\",\"outputEncoding\":\"protobuf\"}"),
			&doc);

	if (r == 1 && strcmp(mor_json_text(mor_json_get(mor_doc_root(doc), "protocol"), ""), "kythe1") != 0) {
		complain(a, "init: the driver speaks another protocol");
		return -EPROTO;
	}
	return r;
}

/* ---- vnames ---- */

static size_t slot_of(const char *key, size_t len)
{
	size_t hash = 5381;

	for (size_t i = 0; i < len; i++)
		hash = hash * 33 ^ (unsigned char)key[i];
	return hash % NAME_SLOTS;
}

static void forget_names(tenon_analyzer *a)
{
	for (size_t i = 0; i < NAME_SLOTS; i++)
		while (a->names[i]) {
			struct name *name = a->names[i];

			a->names[i] = name->next;
			mor_doc_free(name->doc);
			mor_free(name);
		}
}

/* Both forms are served: {"vname":{...}} and a VName as it is. */
static tenon_vname read_vname(const struct mor_value *result)
{
	const struct mor_value *v = mor_json_get(result, "vname");

	v = v ? v : result;
	return (tenon_vname){ mor_json_text(mor_json_get(v, "signature"), ""),
			      mor_json_text(mor_json_get(v, "corpus"), ""),
			      mor_json_text(mor_json_get(v, "root"), ""),
			      mor_json_text(mor_json_get(v, "path"), ""),
			      mor_json_text(mor_json_get(v, "language"), "") };
}

static void put_vname_params(const char *path, const char *signature, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair(&w, "path", path);
	mor_w_pair(&w, "signature", signature);
	mor_w_end(&w);
}

static int ask_vname(tenon_analyzer *a, const char *path, const char *signature, struct mor_doc **ret)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;

	put_vname_params(path, signature, &params);
	return request(a, "vname", mor_buf_view(&params), ret);
}

/* A name without its answer yet; NULL: out of memory. */
static struct name *new_name(const char *path, const char *signature, size_t *ret_slot)
{
	size_t path_len = strlen(path) + 1, len = path_len + strlen(signature) + 1;
	struct name *name = mor_zalloc(sizeof(*name) + len);

	if (!name)
		return NULL;
	memcpy(name->key, path, path_len);
	memcpy(name->key + path_len, signature, len - path_len);
	*ret_slot = slot_of(name->key, len);
	return name;
}

static const struct name *find_name(const tenon_analyzer *a, size_t slot, const char *path,
				    const char *signature)
{
	for (const struct name *known = a->names[slot]; known; known = known->next)
		if (strcmp(known->key, path) == 0 && strcmp(known->key + strlen(path) + 1, signature) == 0)
			return known;
	return NULL;
}

static void keep_name(tenon_analyzer *a, struct name *name, size_t slot, struct mor_doc *doc)
{
	name->doc = doc;
	name->vname = read_vname(mor_doc_root(doc));
	name->next = a->names[slot];
	a->names[slot] = name;
}

int tenon_vname_of(tenon_analyzer *a, const char *path, const char *signature, tenon_vname *ret)
{
	struct mor_doc *doc = NULL;
	const struct name *known;
	struct name *name;
	size_t slot;

	*ret = (tenon_vname){ signature, "", "", path, "" };
	name = new_name(path, signature, &slot);
	if (!name)
		return -ENOMEM;
	known = find_name(a, slot, path, signature);
	if (known) {
		mor_free(name);
		*ret = known->vname;
		return 0;
	}
	if (ask_vname(a, path, signature, &doc) != 1) {
		mor_free(name);
		return -EPROTO;
	}
	keep_name(a, name, slot, doc);
	*ret = name->vname;
	return 0;
}

/* The answers of a batch come in any order; the ids are counted up from `first`. */
static void keep_batch(tenon_analyzer *a, struct mor_slice frame, int64_t first, const char *const *paths,
		       size_t count)
{
	struct mor_message message;
	struct mor_slice element;
	size_t at = 0, slot;

	while (mor_batch_next(frame, &at, &element)) {
		struct mor_doc *doc = NULL;
		struct name *name;

		if (mor_envelope_scan(element, MOR_ENV_ERROR_NULL_OK, 0, &message, NULL) < 0 ||
		    message.kind != MOR_MSG_RESULT || message.id_int < first ||
		    (uint64_t)(message.id_int - first) >= count)
			continue;
		name = new_name(paths[message.id_int - first], "", &slot);
		if (name && mor_doc_parse(message.result, 0, 0, &doc, NULL) == 0)
			keep_name(a, name, slot, doc);
		else
			mor_free(name);
	}
}

static int send_batch(tenon_analyzer *a, const char *const *paths, size_t count)
{
	mor_buf_reset(&a->message, KEEP_BYTES);
	for (size_t i = 0; i < count; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;

		put_vname_params(paths[i], "", &params);
		mor_buf_byte(&a->message, i ? ',' : '[');
		mor_write_request(&a->message, ++a->id, MOR_SLICE("vname"), mor_buf_view(&params));
	}
	mor_buf_byte(&a->message, ']');
	return queue_message(a) < 0 ? -ENOMEM : flush_messages(a);
}

void tenon_vnames_ahead(tenon_analyzer *a, const char *const *paths)
{
	int64_t first = a->id + 1;
	struct mor_slice body;
	size_t count = 0;

	while (paths[count])
		count++;
	if (!count || a->gone || send_batch(a, paths, count) < 0)
		return;
	if (receive(a, &body) > 0)
		keep_batch(a, body, first, paths, count);
	else
		a->gone = true;
}

/* ---- diagnostics ---- */

/* kythe.proto.common.Diagnostic. It has no place for a file but its URL of context. */
static void put_diagnostic(struct mor_writer *w, const char *path, uint32_t line, uint32_t column,
			   const char *text)
{
	mor_w_object(w);
	mor_w_key(w, "message");
	mor_w_object(w);
	mor_w_pair(w, "message", text);
	if (path)
		mor_w_pair(w, "contextUrl", path);
	if (line) {
		mor_w_key(w, "span");
		mor_w_object(w);
		mor_w_key(w, "start");
		mor_w_object(w);
		mor_w_pair_int(w, "lineNumber", line);
		if (column)
			mor_w_pair_int(w, "columnOffset", column - 1);
		mor_w_end(w);
		mor_w_end(w);
	}
	mor_w_end(w);
	mor_w_end(w);
}

void tenon_diagnose(tenon_analyzer *a, const char *path, uint32_t line, uint32_t column, const char *format,
		    ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put_diagnostic(&w, path, line, column, text);
	if (!mor_buf_failed(&params))
		note(a, "log", mor_buf_view(&params), false);
}

/* ---- an analysis ---- */

/* Texts of an array into a NULL-terminated list; NULL: out of memory. */
static const char **read_list(const struct mor_value *array, size_t *ret_count)
{
	const char **list = mor_zalloc((mor_json_size(array) + 2) * sizeof(char *));
	struct mor_json_iter it = mor_json_iter(array);
	size_t count = 0;

	while (list && mor_json_type(array) == MOR_JSON_ARRAY && mor_json_next(&it))
		if (mor_json_text(it.value, NULL))
			list[count++] = mor_json_text(it.value, NULL);
	*ret_count = count;
	return list;
}

/* [{"name","value"}] or {"NAME":"value"} -> NAME=VALUE; each text is to be freed. */
static char **read_environment(const struct mor_value *value)
{
	char **list = mor_zalloc((mor_json_size(value) + 1) * sizeof(char *));
	struct mor_json_iter it = mor_json_iter(value);
	size_t count = 0;

	while (list && mor_json_size(value) && mor_json_next(&it)) {
		struct mor_buf pair = MOR_BUF_INIT;
		bool map = it.name.ptr != NULL;

		mor_buf_slice(&pair,
			      map ? it.name : mor_slice_of(mor_json_text(mor_json_get(it.value, "name"), "")));
		mor_buf_byte(&pair, '=');
		mor_buf_text(&pair, mor_json_text(map ? it.value : mor_json_get(it.value, "value"), ""));
		list[count] = mor_buf_detach(&pair);
		count += list[count] != NULL;
	}
	return list;
}

static int begin_analysis(tenon_analyzer *a, const tenon_unit *unit)
{
	a->entry_count = 0;
	a->output_errno = 0;
	mor_buf_reset(&a->entries, TN_ENTRIES_KEPT);
	a->output = open(unit->output, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (a->output < 0)
		return complain(a, "%s: %s", unit->output, strerror(errno)), -errno;
	if (*unit->working_dir && chdir(unit->working_dir) < 0) {
		complain(a, "%s: %s", unit->working_dir, strerror(errno));
		return -errno;
	}
	return 0;
}

static int end_analysis(tenon_analyzer *a, const tenon_unit *unit)
{
	tn_flush_entries(a);
	if (close(a->output) < 0 && !a->output_errno)
		a->output_errno = errno;
	a->output = -1;
	forget_names(a);
	if (a->output_errno)
		complain(a, "%s: %s", unit->output, strerror(a->output_errno));
	return -a->output_errno;
}

static int analyze_unit(tenon_analyzer *a, const tenon_unit *unit)
{
	int r = begin_analysis(a, unit);

	if (r == 0)
		r = a->opt->analyze(a, unit, a->opt->arg);
	if (a->output >= 0) {
		int end = end_analysis(a, unit);

		r = r ? r : end;
	}
	/* Nothing of the unit's view may keep it busy once it is taken away. */
	if (chdir("/") < 0)
		complain(a, "/: %s", strerror(errno));
	return r;
}

static int analyze_reply(tenon_analyzer *a, const struct mor_value *reply)
{
	const struct mor_value *inputs = mor_json_get(reply, "inputs");
	MOR_CLEAN(mor_buf) struct mor_buf details = MOR_BUF_INIT;
	tenon_unit unit = { 0 };
	const char **input_list = read_list(inputs, &unit.input_count);
	const char **argument_list = read_list(mor_json_get(reply, "arguments"), &unit.argument_count);
	char **environment = read_environment(mor_json_get(reply, "environment"));
	int r = -ENOMEM;

	if (mor_json_get(reply, "details"))
		mor_json_write(mor_json_get(reply, "details"), false, &details);
	else
		mor_buf_text(&details, "[]");
	mor_buf_byte(&details, '\0');
	if (input_list && argument_list && environment && !mor_buf_failed(&details)) {
		if (!inputs && mor_json_text(mor_json_get(reply, "input"), NULL))
			input_list[unit.input_count++] = mor_json_text(mor_json_get(reply, "input"), NULL);
		unit.inputs = input_list;
		unit.arguments = argument_list;
		unit.environment = (const char *const *)environment;
		unit.working_dir = mor_json_text(mor_json_get(reply, "workingDir"), "");
		unit.output = mor_json_text(mor_json_get(reply, "output"), "");
		unit.entry_context = mor_json_text(mor_json_get(reply, "entryContext"), "");
		unit.output_key = mor_json_text(mor_json_get(reply, "outputKey"), "");
		unit.details = details.data;
		unit.type = mor_json_text(mor_json_get(reply, "type"), "");
		r = analyze_unit(a, &unit);
	}
	for (char **item = environment; item && *item; item++)
		mor_free(*item);
	mor_free(environment);
	mor_free(argument_list);
	mor_free(input_list);
	return r;
}

static void put_types(const tenon_analyzer *a, struct mor_buf *params)
{
	struct mor_writer w = { .out = params };

	mor_w_object(&w);
	mor_w_key(&w, "types");
	mor_w_array(&w);
	for (const char *const *type = a->opt->types; type && *type; type++)
		mor_w_string(&w, *type);
	mor_w_end(&w);
	mor_w_end(&w);
}

/* 1: one more was done; 0: there is no more work; negative: it failed. */
static int next_analysis(tenon_analyzer *a)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r;

	put_types(a, &params);
	r = request(a, "analyze", mor_buf_view(&params), &doc);
	if (r != 1)
		return r;
	r = analyze_reply(a, mor_doc_root(doc));
	if (r != 0)
		return r < 0 ? r : -EIO;
	/* In one breath with the next analyze: the driver then replaces one view by the other. */
	note(a, "done", (struct mor_slice){ 0 }, true);
	return 1;
}

static int run(tenon_analyzer *a)
{
	int r = init(a);

	for (uint32_t count = 0; r == 1 && (!a->opt->max_analyses || count < a->opt->max_analyses); count++)
		r = next_analysis(a);
	flush_messages(a);
	return r < 0;
}

int tenon_analyze(const tenon_analyzer_options *options)
{
	tenon_analyzer a = { .opt = options, .in = -1, .out = -1, .output = -1 };
	int r = 1, moved = tn_private_wire(&a.in, &a.out);

	mor_deframer_init(&a.deframer, MOR_FRAMING_DECIMAL, MESSAGE_LIMIT, MOR_DEFRAME_STRICT);
	if (moved < 0)
		complain(&a, "stdin and stdout: %s", strerror(-moved));
	else
		r = run(&a);
	forget_names(&a);
	mor_buf_fini(&a.input);
	mor_buf_fini(&a.frame);
	mor_buf_fini(&a.message);
	mor_buf_fini(&a.entries);
	mor_fd_close(&a.in);
	mor_fd_close(&a.out);
	return r;
}
