/* SPDX-License-Identifier: Apache-2.0 */
/* tenon/testing.h: a small host, for a plugin on a thread of this process or for a program. */
#include <tenon/testing.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "dialect.h"
#include "private_wire.h"
#include "testing_inside.h"

#define USER_ID "1"

/* ---- Starting ---- */

static tenon_test *free_test(tenon_test *test)
{
	mor_fd_close(&test->in);
	mor_fd_close(&test->out);
	mor_buf_fini(&test->input);
	mor_buf_fini(&test->streamed);
	mor_buf_fini(&test->config);
	mor_doc_free(test->doc);
	mor_free(test);
	return NULL;
}

static tenon_test *new_test(const struct tn_dialect *dialect, int ends[4])
{
	tenon_test *test = dialect && dialect != &tn_kythe ? mor_zalloc(sizeof(*test)) : NULL;

	if (!test)
		return NULL;
	test->dialect = dialect;
	test->in = test->out = -1;
	for (int i = 0; i < 4; i++)
		ends[i] = -1;
	if (pipe2(ends, O_CLOEXEC) < 0 || pipe2(ends + 2, O_CLOEXEC) < 0)
		return free_test(test);
	test->out = ends[1];
	test->in = ends[2];
	mor_deframer_init(&test->deframer, dialect->framing, 0, 0);
	return test;
}

static void *serve_inside(void *arg)
{
	tenon_test *test = arg;

	test->status = tn_serve(&test->session);
	tn_session_fini(&test->session); /* the end of its stdout: a call that waits learns it */
	return NULL;
}

tenon_test *tenon_test_inside(const tenon_plugin *plugin, const char *dialect)
{
	const struct tn_dialect *chosen =
		dialect ? tn_dialect_by_name(dialect) : tn_dialect_choose(plugin, NULL);
	tenon_test *test;
	int ends[4];

	test = new_test(chosen || dialect ? chosen : &tn_plain, ends);
	if (!test)
		return NULL;
	if (tn_session_init(&test->session, plugin, test->dialect) < 0) {
		mor_fd_close(&ends[0]);
		mor_fd_close(&ends[3]);
		return free_test(test);
	}
	test->session.in = ends[0];
	test->session.out = ends[3];
	if (pthread_create(&test->thread, NULL, serve_inside, test) == 0)
		return test;
	tn_session_fini(&test->session);
	return free_test(test);
}

static int spawn_program(tenon_test *test, const char *const *argv, const int ends[4])
{
	posix_spawn_file_actions_t actions;
	char variable[64];
	int r;

	snprintf(variable, sizeof(variable), "%s", test->dialect->name);
	setenv("MORTISE_DIALECT", variable, 1);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, ends[3], STDOUT_FILENO);
	r = posix_spawnp(&test->child, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	unsetenv("MORTISE_DIALECT");
	return r;
}

tenon_test *tenon_test_spawn(const char *const *argv, const char *dialect)
{
	int ends[4], r;
	tenon_test *test = new_test(dialect ? tn_dialect_by_name(dialect) : &tn_plain, ends);

	if (!test)
		return NULL;
	r = spawn_program(test, argv, ends);
	mor_fd_close(&ends[0]);
	mor_fd_close(&ends[3]);
	return r == 0 ? test : free_test(test);
}

int tenon_test_config(tenon_test *test, const char *config_json)
{
	if (test->greeted || !mor_json_valid(mor_slice_of(config_json), 0, 0, NULL))
		return -1;
	mor_buf_reset(&test->config, 0);
	return mor_buf_text(&test->config, config_json);
}

/* ---- Messages ---- */

static int send_message(tenon_test *test, const struct mor_buf *body)
{
	MOR_CLEAN(mor_buf) struct mor_buf frame = MOR_BUF_INIT;

	if (mor_buf_failed(body) || mor_enframe(test->dialect->framing, mor_buf_view(body), &frame) < 0)
		return -1;
	return mor_fd_write_all(test->out, frame.data, frame.len) < 0 ? -1 : 0;
}

static int send_request(tenon_test *test, const char *method, struct mor_slice params)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	mor_write_request(&body, ++test->id, mor_slice_of(method), params);
	return send_message(test, &body);
}

/* The next frame, valid until the next call. 1, or 0 at the end. */
static int receive_frame(tenon_test *test, struct mor_slice *ret)
{
	mor_buf_consume(&test->input, test->taken);
	test->taken = 0;
	for (;;) {
		struct mor_item item;
		enum mor_item_kind kind =
			mor_deframe(&test->deframer, test->input.data, test->input.len, false, &item);
		ssize_t n;

		if (kind == MOR_ITEM_FRAME) {
			test->taken = item.used;
			*ret = item.body;
			return 1;
		}
		if (kind != MOR_ITEM_MORE)
			return 0; /* a plugin of ours never sends anything else */
		n = tn_read_some(test->in, &test->input);
		if (n <= 0 && n != -EINTR)
			return 0;
	}
}

/* ---- Answers ---- */

static const struct mor_value *answer_of(const tenon_test *test)
{
	return test->doc ? mor_doc_root(test->doc) : NULL;
}

/* What a note means for the call that waits. 1: it has ended. */
static int take_note(tenon_test *test, const struct mor_value *message)
{
	const char *method = mor_json_text(mor_json_get(message, "method"), "");
	const struct mor_value *params = mor_json_get(message, "params");

	if (strcmp(method, "stream") == 0)
		mor_buf_slice(&test->streamed, mor_json_string(mor_json_get(params, "data")));
	if (strcmp(method, "complete") == 0)
		test->result = params;
	else if (strcmp(method, "error") == 0)
		test->error = params;
	test->asks = mor_json_bool(mor_json_get(test->result, "keep_session"), false);
	return test->result || test->error;
}

/* 1: this message ends the call. */
static int take_message(tenon_test *test, const struct mor_value *message, bool by_note)
{
	if (mor_json_get(message, "method"))
		return take_note(test, message);
	if (mor_json_int(mor_json_get(message, "id"), -1) != test->id && mor_json_get(message, "result"))
		return 0;
	test->error = mor_json_get(message, "error");
	if (!test->error && !by_note)
		test->result = mor_json_get(message, "result");
	return test->error || test->result;
}

static int await_answer(tenon_test *test, bool by_note)
{
	struct mor_slice body;

	mor_buf_reset(&test->streamed, 0);
	test->error = test->result = NULL;
	test->asks = 0;
	while (receive_frame(test, &body)) {
		test->doc = mor_doc_free(test->doc);
		if (mor_doc_parse(body, 0, 0, &test->doc, NULL) < 0)
			return -1;
		if (take_message(test, answer_of(test), by_note))
			return test->error ? 1 : 0;
	}
	return -1;
}

static int request(tenon_test *test, const char *method, struct mor_slice params, bool by_note)
{
	return send_request(test, method, params) < 0 ? -1 : await_answer(test, by_note);
}

/* ---- Calls, by dialect ---- */

static struct mor_slice or_empty(struct mor_slice params)
{
	return params.ptr ? params : MOR_SLICE("{}");
}

static int call_yams(tenon_test *test, const char *name, struct mor_slice params)
{
	return request(test, strcmp(name, "extract") == 0 ? "extractor.extract" : name, params, false);
}

static int call_plain(tenon_test *test, const char *name, struct mor_slice params)
{
	return request(test, name, params, false);
}

static int call_gassist(tenon_test *test, const char *name, struct mor_slice params)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	struct mor_writer w = { .out = &body };

	mor_w_object(&w);
	mor_w_pair(&w, "function", name);
	mor_w_pair_raw(&w, "arguments", or_empty(params));
	mor_w_end(&w);
	return request(test, "execute", mor_buf_view(&body), true);
}

static int say_ayiou(tenon_test *test, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	struct mor_writer w = { .out = &body };

	mor_w_object(&w);
	mor_w_pair(&w, "text", text);
	mor_w_pair(&w, "raw_message", text);
	mor_w_pair(&w, "message_type", "private");
	mor_w_pair_raw(&w, "user_id", MOR_SLICE(USER_ID));
	mor_w_pair_raw(&w, "group_id", MOR_SLICE("null"));
	mor_w_end(&w);
	return request(test, "handle", mor_buf_view(&body), false);
}

static int call_ayiou(tenon_test *test, const char *name, struct mor_slice params)
{
	return params.ptr ? request(test, name, params, false) : say_ayiou(test, name);
}

/* The directory of the test is the workspace. */
static void put_workspace(struct mor_writer *w, const char *key)
{
	char *here = getcwd(NULL, 0);

	mor_w_pair(w, key, here ? here : "/");
	free(here);
}

static int call_sunscreen(tenon_test *test, const char *name, struct mor_slice params)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	struct mor_writer w = { .out = &body };
	bool hook = strncmp(name, "hook:", 5) == 0, array = params.ptr && *params.ptr == '[';

	mor_w_object(&w);
	mor_w_pair(&w, hook ? "name" : "command", hook ? name + 5 : name);
	if (hook) {
		mor_w_pair_raw(&w, "context", or_empty(params));
	} else {
		mor_w_pair_raw(&w, "args", array ? params : MOR_SLICE("[]"));
		mor_w_pair_raw(&w, "flags", array ? MOR_SLICE("{}") : or_empty(params));
	}
	put_workspace(&w, "workspace_root");
	mor_w_end(&w);
	return request(test, hook ? "hook" : "run", mor_buf_view(&body), false);
}

/* Flags as words: there is no other way on that wire. */
static void put_words(struct mor_writer *w, struct mor_slice params)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_json_iter it;

	if (!params.ptr || mor_doc_parse(params, 0, 0, &doc, NULL) < 0)
		return;
	it = mor_json_iter(mor_doc_root(doc));
	while (mor_json_next(&it)) {
		MOR_CLEAN(mor_buf) struct mor_buf word = MOR_BUF_INIT;

		if (it.name.ptr) {
			mor_buf_text(&word, "--");
			mor_buf_slice(&word, it.name);
			mor_buf_byte(&word, '=');
		}
		if (mor_json_type(it.value) == MOR_JSON_STRING)
			mor_buf_slice(&word, mor_json_string(it.value));
		else
			mor_json_write(it.value, false, &word);
		mor_w_slice(w, word.len ? mor_buf_view(&word) : MOR_SLICE(""));
	}
}

static int call_sunscreen_json(tenon_test *test, const char *name, struct mor_slice params)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	struct mor_writer w = { .out = &body };
	const char *colon = strchr(name, ':');
	bool hook = strncmp(name, "hook:", 5) == 0;

	mor_w_object(&w);
	mor_w_key(&w, "args");
	mor_w_array(&w);
	put_words(&w, params);
	mor_w_end(&w);
	mor_w_pair(&w, "command", colon ? colon + 1 : name);
	mor_w_key(&w, "kind");
	mor_w_slice(&w, colon ? (struct mor_slice){ name, (size_t)(colon - name) } : MOR_SLICE("app"));
	mor_w_pair(&w, "plugin", "test");
	put_workspace(&w, "scratch");
	put_workspace(&w, "workspace");
	mor_w_end(&w);
	return request(test, hook ? "sunscreen.hook/run" : "sunscreen.command/run", mor_buf_view(&body), false);
}

/* ---- Greetings ---- */

static int greet_yams(tenon_test *test)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	mor_buf_text(&body, "{\"config\":");
	mor_buf_slice(&body, test->config.len ? mor_buf_view(&test->config) : MOR_SLICE("{}"));
	mor_buf_byte(&body, '}');
	return request(test, "plugin.init", mor_buf_view(&body), false);
}

static int greet_gassist(tenon_test *test)
{
	return request(test, "initialize",
		       test->config.len ? mor_buf_view(&test->config) :
					  MOR_SLICE("{\"protocol_version\":\"2.0\"}"),
		       false);
}

static int greet_ayiou(tenon_test *test)
{
	return request(test, "lifecycle", MOR_SLICE("{\"event\":{\"startup\":null}}"), false);
}

static const struct way {
	const struct tn_dialect *dialect;
	int (*greet)(tenon_test *test);
	int (*call)(tenon_test *test, const char *name, struct mor_slice params);
	const char *text; /* where the result's text is */
} ways[] = {
	{ &tn_plain, NULL, call_plain, "" },
	{ &tn_yams, greet_yams, call_yams, "/content" },
	{ &tn_gassist, greet_gassist, call_gassist, "/data" },
	{ &tn_ayiou, greet_ayiou, call_ayiou, "/reply" },
	{ &tn_sunscreen, NULL, call_sunscreen, "/summary" },
	{ &tn_sunscreen_json, NULL, call_sunscreen_json, "/summary" },
};

static const struct way *way_of(const tenon_test *test)
{
	const struct way *way = ways;

	while (way->dialect != test->dialect)
		way++;
	return way;
}

/* What the greeting fails with is the answer to the call. */
static int greet_once(tenon_test *test)
{
	int r = 0;

	if (!test->greeted && way_of(test)->greet)
		r = way_of(test)->greet(test);
	test->greeted = r == 0;
	return r;
}

int tenon_test_call(tenon_test *test, const char *name, const char *params_json)
{
	int r = greet_once(test);

	return r != 0 ? r : way_of(test)->call(test, name, mor_slice_of(params_json));
}

int tenon_test_say(tenon_test *test, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	struct mor_writer w = { .out = &body };
	int r = greet_once(test);

	if (r != 0 || test->dialect == &tn_ayiou)
		return r != 0 ? r : say_ayiou(test, text);
	mor_w_object(&w);
	mor_w_pair(&w, "content", text);
	mor_w_end(&w);
	return request(test, "input", mor_buf_view(&body), true);
}

const tenon_value *tenon_test_result(const tenon_test *test)
{
	return tn_outer(test->result);
}

const char *tenon_test_text(const tenon_test *test)
{
	const char *text = mor_json_text(mor_json_at(test->result, way_of(test)->text), NULL);

	return text ? text : mor_json_text(test->result, "");
}

const char *tenon_test_streamed(const tenon_test *test)
{
	tenon_test *ending = (tenon_test *)(uintptr_t)test;

	/* A NUL behind it that is no part of it. */
	if (mor_buf_byte(&ending->streamed, '\0') < 0)
		return "";
	ending->streamed.len--;
	return ending->streamed.data;
}

int tenon_test_asks(const tenon_test *test)
{
	return test->asks;
}

int64_t tenon_test_code(const tenon_test *test)
{
	return mor_json_int(mor_json_get(test->error, "code"), 0);
}

const char *tenon_test_error(const tenon_test *test)
{
	return mor_json_text(mor_json_get(test->error, "message"), "");
}

const tenon_value *tenon_test_data(const tenon_test *test)
{
	return tn_outer(mor_json_get(test->error, "data"));
}

int tenon_test_end(tenon_test *test)
{
	int status = 0;

	mor_fd_close(&test->out);
	if (test->child) {
		while (waitpid(test->child, &status, 0) < 0 && errno == EINTR)
			continue;
		status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	} else {
		pthread_join(test->thread, NULL);
		status = test->status;
	}
	free_test(test);
	return status;
}
