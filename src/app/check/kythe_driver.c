/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's part of a conversation with a Kythe analyzer. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "check/rows_kythe_own.h"

#define HEARS_MS     500
#define BIG_BYTES    ((size_t)1 << 20)
#define OUTPUT_LIMIT ((size_t)64 << 20)
#define OUTPUT_NAME  "entries"

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

void mor_check_kythe_reply(struct mor_check_case *at, const struct mor_check_message *asked, const char *result)
{
	respond(at, asked, "result", mor_slice_of(result), false);
}

void mor_check_kythe_error(struct mor_check_case *at, const struct mor_check_message *asked, int code)
{
	char text[96];

	snprintf(text, sizeof(text), "{\"code\":%d,\"message\":\"refused by mortise check\"}", code);
	respond(at, asked, "error", mor_slice_of(text), false);
}

static void put_input(struct mor_check_case *at, const struct language *language,
		      const struct mor_check_kythe_record *record, char name[128])
{
	snprintf(name, 128, "%s%s", record->prefix ? record->prefix : "", language->file);
	if (record->missing)
		unlinkat(at->run->scratch.dir, name, 0);
	else
		mor_check_put_file(at->run, name, language->text);
	mor_check_put_file(at->run, OUTPUT_NAME, "");
}

static void write_record(struct mor_check_case *at, const struct language *language,
			 const struct mor_check_kythe_record *record, const char *name, struct mor_buf *out)
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
	const struct mor_check_kythe_record *record;
	size_t from; /* messages before it are old */
};

static void answer_vname(struct service *service, struct mor_check_message *m)
{
	m->taken = true;
	service->at->vnames++;
	if (service->record->refuse_vname)
		mor_check_kythe_error(service->at, m, -32603);
	else
		mor_check_kythe_reply(
			service->at, m,
			"{\"vname\":{\"corpus\":\"check\",\"path\":\"check\"},\"corpus\":\"check\",\"path\":\"check\",\"root\":\"\",\"signature\":\"\",\"language\":\"\"}");
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

void mor_check_kythe_give(struct mor_check_case *at, const struct mor_check_message *asked,
			  const struct mor_check_kythe_record *record)
{
	const struct language *language = language_of(mor_json_at(asked->root, "/params"));
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct service service = { at, record, at->s->messages };
	char name[128];

	put_input(at, language, record, name);
	write_record(at, language, record, name, &text);
	respond(at, asked, "result", mor_buf_view(&text), record->split);
	mor_check_wait(at->s, mor_check_call_ms(at->run), has_ended, &service);
}

/* ---- the conversation ---- */

bool mor_check_kythe_begin(struct mor_check_case *at)
{
	return mor_check_begin(at, true);
}

const struct mor_check_message *mor_check_kythe_init(struct mor_check_case *at)
{
	return mor_check_goes_on(at) ? mor_check_from_plugin(at, "init") : NULL;
}

bool mor_check_kythe_greet(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_begin(at) ? mor_check_kythe_init(at) : NULL;

	if (m)
		mor_check_kythe_reply(at, m, "{\"protocol\":\"kythe1\"}");
	return m;
}

const struct mor_check_message *mor_check_kythe_asks(struct mor_check_case *at)
{
	return mor_check_goes_on(at) ? mor_check_from_plugin(at, "analyze|analysis") : NULL;
}

bool mor_check_kythe_done(struct mor_check_case *at)
{
	return mor_check_goes_on(at) && mor_check_from_plugin(at, "done");
}

bool mor_check_kythe_work(struct mor_check_case *at, const struct mor_check_kythe_record *record)
{
	const struct mor_check_message *m;

	if (at->run->no_work)
		mor_check_unseen(at, "an analysis does not end: see kythe.analyze.done");
	m = mor_check_goes_on(at) && mor_check_kythe_greet(at) ? mor_check_kythe_asks(at) : NULL;
	if (!m)
		return false;
	mor_check_kythe_give(at, m, record);
	return mor_check_kythe_done(at);
}

struct ear {
	const char *methods;
};

static bool hears_one(struct mor_check_session *s, void *arg)
{
	const struct ear *ear = arg;

	for (size_t i = 0; i < s->messages; i++)
		if (!s->message[i].taken && mor_text_in(mor_json_string(s->message[i].method), ear->methods))
			return true;
	return false;
}

bool mor_check_kythe_hears(struct mor_check_case *at, const char *methods)
{
	struct ear ear = { methods };

	return mor_check_wait(at->s, HEARS_MS, hears_one, &ear);
}

bool mor_check_kythe_goes_on(struct mor_check_case *at)
{
	struct ear ear = { "done|analyze|analysis" };

	mor_check_wait(at->s, at->run->answer_ms, hears_one, &ear);
	return hears_one(at->s, &ear) || (at->s->ended && !at->s->how.how.by_signal);
}

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

static bool is_json_lines(const char *text, size_t len)
{
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len;
		MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

		if (line && (mor_doc_parse((struct mor_slice){ text, line }, 0, 0, &doc, NULL) < 0 ||
			     mor_json_type(mor_doc_root(doc)) != MOR_JSON_OBJECT))
			return false;
		line += end != NULL;
		text += line;
		len -= line;
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
	return mor_check_kythe_work(at, &(struct mor_check_kythe_record){ 0 }) ? read_output(at, ret_len) :
										 NULL;
}

void mor_check_kythe_check_output(struct mor_check_case *at)
{
	size_t len;
	MOR_CLEAN_TEXT char *text = work_output(at, &len);

	if (!text || !len)
		mor_check_unseen(at, "the analyzer wrote nothing");
	else if (wants_json(at->s) ? !is_json_lines(text, len) :
				     !is_delimited((const unsigned char *)text, len))
		mor_check_failed(at, "the %zu bytes of its output are not whole records", len);
}

void mor_check_kythe_check_written(struct mor_check_case *at)
{
	size_t len;
	MOR_CLEAN_TEXT char *text = work_output(at, &len);

	if (!text || !len)
		mor_check_failed(at, "its output is empty");
}
