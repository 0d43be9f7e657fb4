/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's part of a conversation with a Kythe analyzer. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/text.h"
#include "check/own.h"

#define HEARS_MS     500
#define BIG_BYTES    ((size_t)1 << 20)
#define OUTPUT_LIMIT ((size_t)64 << 20)
#define OUTPUT_NAME  "entries"
#define STEP         MOR_CHECK_STEP

/* An input for the language that the analyzer asks for. */
static const struct language {
	const char *part; /* of an analysis type */
	const char *file, *text, *compiler;
} languages[] = {
	{ "/c\"", "check.c", "int check(void) { return 1; }\n", "cc" },
	{ "c++", "check.cc", "int check() { return 1; }\n", "clang++" },
	{ "java", "Check.java", "class Check {}\n", "javac" },
	{ "python", "check.py", "check = 1\n", "python3" },
	{ "go", "check.go", "package check\n", "go" },
	{ "typescript", "check.ts", "const check = 1;\n", "tsc" },
	{ "", "check.txt", "let check\nuse check\n", "check" },
};

static const struct language *language_of(const struct mor_value *types)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	size_t i = 0;

	mor_json_write(types, false, &text);
	while (*languages[i].part && !memmem(text.data, text.len, languages[i].part, strlen(languages[i].part)))
		i++;
	return &languages[i];
}

/* What the record has that is not usual. */
struct kythe_record {
	const char *kind;   /* the word in a script */
	const char *prefix; /* of the input's name */
	const char *more;   /* members, with a comma before them */
	bool split, big;    /* the answer is sent in pieces; it has 1 MiB more */
	bool missing;       /* the input does not exist */
	bool empty;         /* there is no input */
	bool refuse_vname;
};
static const struct kythe_record records[] = {
	{ .kind = "" },
	{ .kind = "split", .split = true },
	{ .kind = "large", .big = true },
	{ .kind = "extra", .more = ",\"mortise\":[1,{}]" },
	{ .kind = "unicode", .prefix = "\xc3\xa9\xe4\xb8\xad-" },
	{ .kind = "missing", .missing = true },
	{ .kind = "empty", .empty = true },
	{ .kind = "vname-refused", .refuse_vname = true },
};

/* ---- answers ---- */

static void respond(struct mor_check_case *at, const struct mor_check_message *asked, const char *member,
		    struct mor_slice value, bool split)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };

	mor_w_object(&w);
	mor_w_pair(&w, "jsonrpc", "2.0");
	mor_w_key(&w, "id");
	if (asked->id)
		mor_w_value(&w, asked->id);
	else
		mor_w_null(&w);
	mor_w_pair_raw(&w, member, value);
	mor_w_end(&w);
	if (split)
		mor_check_send_split(at->s, mor_buf_view(&text));
	else
		mor_check_send(at->s, mor_buf_view(&text));
}

static void refuse_request(struct mor_check_case *at, const struct mor_check_message *asked,
			   struct mor_slice code)
{
	char text[96];

	snprintf(text, sizeof(text), "{\"code\":%.*s,\"message\":\"refused by mortise check\"}", (int)code.len,
		 code.ptr);
	respond(at, asked, "error", mor_slice_of(text), false);
}

static void put_input(struct mor_check_case *at, const struct language *language,
		      const struct kythe_record *record, char name[128])
{
	snprintf(name, 128, "%s%s", record->prefix ? record->prefix : "", language->file);
	if (record->missing)
		unlinkat(at->run->scratch.dir, name, 0);
	else
		mor_check_put_file(at->run, name, language->text);
	mor_check_put_file(at->run, OUTPUT_NAME, "");
}

static void write_record(struct mor_check_case *at, const struct language *language,
			 const struct kythe_record *record, const char *name, struct mor_buf *out)
{
	const char *dir = at->run->scratch.path;

	mor_buf_printf(out, "{\"workingDir\":\"%s\",\"output\":\"%s/" OUTPUT_NAME "\",", dir, dir);
	if (record->empty)
		mor_buf_text(out, "\"inputs\":[],\"arguments\":[]");
	else
		mor_buf_printf(out, "\"inputs\":[\"%s\"],\"input\":\"%s\",\"arguments\":[\"%s\",\"-c\",\"%s\"]",
			       name, name, language->compiler, name);
	mor_buf_text(out, ",\"environment\":[],\"details\":[");
	if (record->big && mor_buf_reserve(out, BIG_BYTES + 64) == 0) {
		mor_buf_text(out, "{\"@type\":\"mortise.check\",\"pad\":\"");
		memset(out->data + out->len, 'x', BIG_BYTES);
		out->len += BIG_BYTES;
		mor_buf_text(out, "\"}");
	}
	mor_buf_printf(out, "]%s}", record->more ? record->more : "");
}

/* ---- serving ---- */

struct service {
	struct mor_check_case *at;
	const struct kythe_record *record;
	size_t from; /* messages before it are old */
};

static void answer_vname(struct service *service, struct mor_check_message *m)
{
	m->taken = true;
	service->at->vnames++;
	if (service->record->refuse_vname)
		refuse_request(service->at, m, MOR_SLICE("-32603"));
	else
		respond(service->at, m, "result",
			MOR_SLICE(
				"{\"vname\":{\"corpus\":\"check\",\"path\":\"check\"},\"corpus\":\"check\",\"path\":\"check\",\"root\":\"\",\"signature\":\"\",\"language\":\"\"}"),
			false);
}

static bool has_ended(struct mor_check_session *s, void *arg)
{
	struct service *service = arg;

	for (size_t i = service->from; i < s->messages; i++) {
		struct mor_check_message *m = &s->message[i];
		const char *method = mor_json_text(m->method, "");

		if (!m->taken && strcmp(method, "vname") == 0)
			answer_vname(service, m);
		if (mor_text_in(mor_slice_of(method), "done|analyze|analysis"))
			return true;
	}
	return false;
}

/* ---- the steps of a conversation ---- */

static void step_init(STEP)
{
	at->asked = mor_check_from_plugin(at, "init");
}

static void step_accept(STEP)
{
	respond(at, at->asked, "result", rest.len ? rest : MOR_SLICE("{\"protocol\":\"kythe1\"}"), false);
}

static void step_refuse(STEP)
{
	refuse_request(at, at->asked, rest);
}

static void step_asks(STEP)
{
	at->asked = mor_check_from_plugin(at, "analyze|analysis");
}

/* A record, and vnames, until the analysis ends in any way. */
static void step_give(STEP)
{
	const struct language *language = language_of(mor_json_at(at->asked->root, "/params"));
	const struct kythe_record *record = records;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct service service;
	char name[128];

	while (!mor_slice_is(rest, record->kind))
		record++;
	service = (struct service){ at, record, at->s->messages };
	put_input(at, language, record, name);
	write_record(at, language, record, name, &text);
	respond(at, at->asked, "result", mor_buf_view(&text), record->split);
	mor_check_wait(at->s, mor_check_call_ms(at->run), has_ended, &service);
}

static void step_done(STEP)
{
	mor_check_from_plugin(at, "done");
}

/* All of it, from the greeting to done. */
static void step_work(STEP)
{
	if (at->run->no_work)
		mor_check_unseen(at, "an analysis does not end: see kythe.analyze.done");
	mor_check_script(at, "init\naccept\nasks");
	if (!mor_check_goes_on(at))
		return;
	step_give(at, rest);
	step_done(at, rest);
}

/* "REQUEST": that of the last step can be answered. */
static void step_with_id(STEP)
{
	if (!at->asked->id)
		mor_check_failed(at, "%.*s has no id, so it cannot be answered", (int)rest.len, rest.ptr);
}

/* "MEMBER a|b": a param of the last request has one of these values. */
static void step_says(STEP)
{
	struct mor_slice name = mor_slice_cut(&rest, ' ');
	const char *said = mor_json_text(mor_json_get_slice(mor_json_get(at->asked->root, "params"), name), "");
	char list[64];

	snprintf(list, sizeof(list), "%.*s", (int)rest.len, rest.ptr);
	if (!mor_text_in(mor_slice_of(said), list))
		mor_check_failed(at, "%.*s is \"%s\"", (int)name.len, name.ptr, said);
}

/* The analyzer has asked for a vname. */
static void step_vname(STEP)
{
	if (!at->vnames)
		mor_check_unseen(at, "the analyzer asked for no vname");
}

static bool hears_one(struct mor_check_session *s, void *methods)
{
	for (size_t i = 0; i < s->messages; i++)
		if (!s->message[i].taken && mor_text_in(mor_json_string(s->message[i].method), methods))
			return true;
	return false;
}

/* "a|b TEXT": TEXT is the failure if one of these comes within half a second. */
static void step_silent(STEP)
{
	struct mor_slice word = mor_slice_cut(&rest, ' ');
	char methods[64];

	snprintf(methods, sizeof(methods), "%.*s", (int)word.len, word.ptr);
	if (mor_check_wait(at->s, HEARS_MS, hears_one, methods))
		mor_check_failed(at, "%.*s", (int)rest.len, rest.ptr);
}

/* An analyzer may say that it failed in any way but a crash. */
static void step_survives(STEP)
{
	char methods[] = "done|analyze|analysis";

	if (mor_check_wait(at->s, at->run->answer_ms, hears_one, methods) ||
	    (at->s->ended && !at->s->how.how.by_signal))
		return;
	mor_check_failed(at, at->s->ended ? "it %s" : "neither done, nor a new analyze, nor an exit%s",
			 at->s->ended ? at->s->how.text : "");
}

const struct mor_check_step mor_check_kythe_steps[] = {
	{ "init", step_init },
	{ "accept", step_accept },
	{ "refuse", step_refuse },
	{ "asks", step_asks },
	{ "give", step_give },
	{ "done", step_done },
	{ "work", step_work },
	{ "with-id", step_with_id },
	{ "says", step_says },
	{ "silent", step_silent },
	{ "vname", step_vname },
	{ "survives", step_survives },
	{ 0 },
};

/* ---- output ---- */

static char *read_output(struct mor_check_case *at, size_t *ret_len)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/" OUTPUT_NAME, at->run->scratch.path);
	char *text = NULL;

	if (path && mor_fd_read_file(path, OUTPUT_LIMIT, &text, ret_len) < 0)
		text = NULL;
	return text;
}

/* A varint length, then so many bytes, up to the very end. */
static bool is_delimited(const unsigned char *p, size_t len)
{
	while (len) {
		uint64_t size = 0;
		unsigned shift = 0;

		do {
			if (!len || shift > 28)
				return false;
			size |= (uint64_t)(*p & 0x7f) << shift;
			shift += 7;
			len--;
		} while (*p++ & 0x80);
		if (size > len)
			return false;
		p += size;
		len -= (size_t)size;
	}
	return true;
}

static bool is_json_lines(struct mor_slice text)
{
	while (text.len) {
		struct mor_slice line = mor_slice_cut(&text, '\n');
		MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

		if (line.len && (mor_doc_parse(line, 0, 0, &doc, NULL) < 0 ||
				 mor_json_type(mor_doc_root(doc)) != MOR_JSON_OBJECT))
			return false;
	}
	return true;
}

static bool wants_json(const struct mor_check_session *s)
{
	for (size_t i = 0; i < s->messages; i++)
		if (strcmp(mor_json_text(s->message[i].method, ""), "init") == 0)
			return strcmp(mor_json_text(mor_json_at(s->message[i].root, "/params/outputEncoding"),
						    ""),
				      "json") == 0;
	return false;
}

/* What an analysis wrote, or NULL if it wrote nothing. */
static char *work_output(struct mor_check_case *at, size_t *ret_len)
{
	*ret_len = 0;
	mor_check_script(at, "start\nwork");
	return mor_check_goes_on(at) ? read_output(at, ret_len) : NULL;
}

void mor_check_kythe_output(struct mor_check_case *at)
{
	size_t len;
	MOR_CLEAN_TEXT char *text = work_output(at, &len);

	if (!text || !len)
		mor_check_unseen(at, "the analyzer wrote nothing");
	else if (wants_json(at->s) ? !is_json_lines((struct mor_slice){ text, len }) :
				     !is_delimited((const unsigned char *)text, len))
		mor_check_failed(at, "the %zu bytes of its output are not whole records", len);
}

void mor_check_kythe_written(struct mor_check_case *at)
{
	size_t len;
	MOR_CLEAN_TEXT char *text = work_output(at, &len);

	if (!text || !len)
		mor_check_failed(at, "its output is empty");
}
