/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the .talk files given on the command line, or all below a directory: see tests/talk/README.md. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "demo.h"
#include "leak.h"
#include "script.h"
#include "talk_play.h"
#include "words.h"

#define GREETING "greeting.inc" /* beside the script */

static bool bytewise; /* what the plugin sends arrives byte by byte */
static bool played;   /* the script ran to its end, and everything was freed */

void die(const struct play *play, unsigned line, const char *format, ...)
{
	char text[2048];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	print_error("%s:%u: %s\n", play->path, line, text);
	for (int i = 0; i < play->event_count; i++)
		print_error("    event: %s: %s\n", mortise_event_name(play->events[i].type),
			    play->events[i].text);
	fail();
	abort();
}

/* ---- what the embedder sees ---- */

/* The keys of an event in a script. */
static void note_kind(const mortise_event *event, struct event_record *record)
{
	static const char *const steps[] = { "begins", "ends_soon", "over" };

	switch ((int)event->type) {
	case MORTISE_EVENT_NOTE:
		record->method = mor_strdup(event->note.method);
		record->params = talk_copy(event->note.params);
		break;
	case MORTISE_EVENT_LOG:
		record->level = mor_strdup(event->log.level);
		record->params = talk_copy(event->log.params);
		break;
	case MORTISE_EVENT_WARNING:
		record->method = mor_strdup(event->warning.health_method);
		break;
	case MORTISE_EVENT_HEALTH:
		record->method = mor_strdup(event->health.method);
		break;
	case MORTISE_EVENT_SESSION:
		record->method = mor_strdup(steps[event->session.step]);
		break;
	default:
		break;
	}
}

static void on_event(const mortise_event *event, void *arg)
{
	struct play *play = arg;
	struct event_record *record = &play->events[play->event_count];

	if (play->event_count == (int)(sizeof(play->events) / sizeof(play->events[0])))
		return;
	play->event_count++;
	record->type = event->type;
	record->text = mor_strdup(event->text);
	note_kind(event, record);
}

static void on_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct play *play = arg;
	struct asked_record *asked = &play->asked[play->asked_count++];

	assert_true(play->asked_count <= MANY);
	asked->request = request;
	asked->method = mor_strdup(method);
	asked->params = talk_copy(params);
}

/* ---- wire steps ---- */

void settle_loop(struct play *play)
{
	assert_true(mor_loop_advance(play->host->loop, 0) >= 0);
}

struct script_link *running(struct play *play, unsigned line)
{
	settle_loop(play);
	if (!script_now)
		die(play, line, "no process runs");
	return script_now;
}

static void nothing_unclaimed(struct play *play, unsigned line)
{
	struct mor_slice body;

	settle_loop(play);
	if (script_now && script_claim(script_now, &body))
		die(play, line, "the host also sent: %.*s", (int)body.len, body.ptr);
}

static void expect_sent(struct play *play, const struct mor_talk_step *step)
{
	struct script_link *script = running(play, step->line);
	struct mor_slice body;
	mortise_error error;

	if (!script_claim(script, &body))
		die(play, step->line, "the host sent nothing; expected %.*s", (int)step->text.len,
		    step->text.ptr);
	if (step->kind == MOR_TALK_SEND_RAW) {
		MOR_CLEAN(mor_buf) struct mor_buf framed = MOR_BUF_INIT;

		mor_enframe(script->opt->framing, body, &framed);
		if (!mor_slice_eq(mor_buf_view(&framed), step->text))
			die(play, step->line, "the host sent %.*s", (int)framed.len, framed.data);
		return;
	}
	if (mor_talk_match(step->text, body, &play->vars, &error) < 0)
		die(play, step->line, "%s; the host sent %.*s", error.text, (int)body.len, body.ptr);
}

static void deliver(struct play *play, const struct mor_talk_step *step)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT, framed = MOR_BUF_INIT;
	struct script_link *script = running(play, step->line);
	mortise_error error;

	nothing_unclaimed(play, step->line);
	if (step->kind == MOR_TALK_RECEIVE_RAW) {
		mor_buf_slice(&framed, step->text);
	} else {
		if (mor_talk_fill(step->text, &play->vars, &body, &error) < 0)
			die(play, step->line, "%s", error.text);
		mor_enframe(script->opt->framing, mor_buf_view(&body), &framed);
	}
	for (size_t at = 0, some = bytewise ? 1 : framed.len; at < framed.len && script_now == script;
	     at += some) {
		script_deliver(script, (struct mor_slice){ framed.data + at, some });
		settle_loop(play);
	}
}

/* Of all signals, a host sends only these two. */
static void expect_signal(struct play *play, const struct mor_talk_step *step)
{
	struct script_link *script = running(play, step->line);

	if (step->signal == SIGTERM && !script->terminated)
		die(play, step->line, "the host did not send SIGTERM");
	if (step->signal == SIGKILL && !script->killed)
		die(play, step->line, "the host did not send SIGKILL");
}

static void end_process(struct play *play, const struct mor_talk_step *step)
{
	struct script_link *script = running(play, step->line);
	struct mor_link_end end = { .known = true };

	nothing_unclaimed(play, step->line);
	end.by_signal = step->signal > 0;
	end.status = end.by_signal ? step->signal : step->exit_code;
	end.clean = !end.by_signal && end.status == 0;
	expect_signal(play, step);
	if (end.by_signal)
		snprintf(end.text, sizeof(end.text), "killed by SIG%s", sigabbrev_np(step->signal));
	else
		snprintf(end.text, sizeof(end.text), "exited with status %d", end.status);
	snprintf(end.last_stderr, sizeof(end.last_stderr), "%s", script->stderr_line);
	script_end(script, &end);
	settle_loop(play);
}

struct event_record *find_event(struct play *play, struct mor_slice rest, unsigned line)
{
	struct mor_slice name = next_word(&rest), key, value;

	settle_loop(play);
	for (int i = 0; i < play->event_count; i++) {
		struct event_record *event = &play->events[i];
		struct mor_slice pairs = rest;
		bool fits = !event->claimed && mor_slice_is(name, mortise_event_name(event->type));

		while (fits && next_pair(&pairs, &key, &value)) {
			if (mor_slice_is(key, "text"))
				fits = contains(event->text, value);
			else if (mor_slice_is(key, "level"))
				fits = contains(event->level, value);
			else if (mor_slice_is(key, "method"))
				fits = event->method && mor_slice_is(value, event->method);
			else if (mor_slice_is(key, "params"))
				fits = event->params && mor_talk_match(value, mor_slice_of(event->params),
								       &play->vars, NULL) == 0;
			else
				die(play, line, "unknown key %.*s", (int)key.len, key.ptr);
		}
		if (fits)
			return event;
	}
	return NULL;
}

static void expect_event(struct play *play, const struct mor_talk_step *step)
{
	struct event_record *event = find_event(play, step->text, step->line);

	if (!event)
		die(play, step->line, "no such event: %.*s", (int)step->text.len, step->text.ptr);
	event->claimed = true;
}

/* ---- steps ---- */

static void do_step(struct play *play, const struct mor_talk_step *step)
{
	switch (step->kind) {
	case MOR_TALK_SEND:
	case MOR_TALK_SEND_RAW:
		expect_sent(play, step);
		break;
	case MOR_TALK_RECEIVE:
	case MOR_TALK_RECEIVE_RAW:
		deliver(play, step);
		break;
	case MOR_TALK_STDERR:
		script_stderr(running(play, step->line), step->text);
		settle_loop(play);
		break;
	case MOR_TALK_WAIT:
		nothing_unclaimed(play, step->line);
		assert_true(mor_loop_advance(play->host->loop, step->ms) >= 0);
		break;
	case MOR_TALK_EVENT:
		expect_event(play, step);
		break;
	case MOR_TALK_ACT:
		do_act(play, step);
		break;
	case MOR_TALK_SEND_END:
		if (!running(play, step->line)->input_closed)
			die(play, step->line, "the host has not closed stdin");
		break;
	case MOR_TALK_RECEIVE_END:
		script_close_stdout(running(play, step->line));
		settle_loop(play);
		break;
	case MOR_TALK_SIGNAL:
		expect_signal(play, step);
		break;
	case MOR_TALK_EXIT:
		end_process(play, step);
		break;
	}
}

/* ---- one file ---- */

/* `* manifest JSON`: as if it had been beside the program. */
static void give_manifest(struct play *play)
{
	for (size_t i = 0; i < play->talk.count; i++) {
		struct mor_slice rest = play->talk.steps[i].text;

		if (play->talk.steps[i].kind != MOR_TALK_ACT || !mor_slice_is(next_word(&rest), "manifest"))
			continue;
		if (mor_doc_parse(rest, 0, 0, &play->plugin->guarded.manifest->doc, NULL) < 0)
			die(play, play->talk.steps[i].line, "the manifest is not JSON");
		play->plugin->peer.manifest = mor_doc_root(play->plugin->guarded.manifest->doc);
		return;
	}
}

static void open_plugin(struct play *play)
{
	static const char *const argv[] = { "script", NULL };
	const char *set[MANY] = { 0 };
	char *owned[MANY] = { 0 };
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = argv,
				       .dialect = play->talk.dialect,
				       .set = set,
				       .on_event = on_event,
				       .on_request = on_request,
				       .arg = play };
	mortise_error error;
	int count = 0;
	char framing[64];

	if (play->talk.framing) {
		snprintf(framing, sizeof(framing), "plugin.framing=%s", play->talk.framing);
		set[count++] = framing;
	}
	for (size_t i = 0; i < play->talk.count && count < MANY - 1; i++) {
		struct mor_slice rest = play->talk.steps[i].text, name;

		if (play->talk.steps[i].kind != MOR_TALK_ACT)
			continue;
		name = next_word(&rest);
		if (mor_slice_is(name, "set"))
			set[count] = owned[count] = mor_strndup(rest.ptr, rest.len), count++;
		if (mor_slice_is(name, "config"))
			opt.config = (mortise_json){ rest.ptr, rest.len };
		if (mor_slice_is(name, "strict"))
			opt.flags |= MORTISE_STRICT;
	}
	if (mortise_plugin_new(play->host, &opt, &play->plugin, &error) < 0)
		die(play, 1, "%s", error.text);
	for (int i = 0; i < count; i++)
		mor_free(owned[i]);
	give_manifest(play);
}

static void forget(struct play *play)
{
	for (int i = 0; i < play->call_count; i++) {
		struct call_record *call = &play->calls[i];

		mor_free(call->result);
		mor_free(call->data);
		mor_free(call->error);
		for (int p = 0; p < call->piece_count; p++)
			mor_free(call->pieces[p]);
	}
	for (int i = 0; i < play->event_count; i++) {
		mor_free(play->events[i].text);
		mor_free(play->events[i].level);
		mor_free(play->events[i].method);
		mor_free(play->events[i].params);
	}
	for (int i = 0; i < play->asked_count; i++) {
		mor_free(play->asked[i].method);
		mor_free(play->asked[i].params);
	}
	mor_talk_vars_fini(&play->vars);
	mor_talk_fini(&play->talk);
	mor_talk_fini(&play->greeting);
	mor_free(play);
}

static void read_talk(struct play *play, const char *path, struct mor_talk *ret)
{
	char *text = NULL;
	size_t len = 0;
	mortise_error error;

	if (mor_fd_read_file(path, 1 << 22, &text, &len) < 0)
		die(play, mor_talk_greeted_at(&play->talk), "%s cannot be read", path);
	if (mor_talk_parse((struct mor_slice){ text, len }, ret, &error) < 0)
		die(play, 0, "%s: %s", path, error.text);
	mor_free(text);
}

/* The script, with its folder's greeting in the place of `* greeted`. */
static void read_script(struct play *play)
{
	const char *slash = strrchr(play->path, '/');
	char path[4096];
	mortise_error error;

	read_talk(play, play->path, &play->talk);
	if (!mor_talk_greeted_at(&play->talk))
		return;
	snprintf(path, sizeof(path), "%.*s" GREETING, slash ? (int)(slash + 1 - play->path) : 0, play->path);
	read_talk(play, path, &play->greeting);
	if (mor_talk_greet(&play->talk, &play->greeting, &error) < 0)
		die(play, mor_talk_greeted_at(&play->talk), "%s: %s", path, error.text);
}

static void play_file(void **state)
{
	struct play *play = mor_zalloc(sizeof(*play));
	mortise_error error;

	assert_non_null(play);
	play->path = *state;
	played = false;
	script_reset();
	read_script(play);
	assert_int_equal(mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &play->host, &error), 0);
	play->host->dialect = demo_find(play->talk.dialect);
	open_plugin(play);
	for (size_t i = 0; i < play->talk.count; i++)
		do_step(play, &play->talk.steps[i]);
	nothing_unclaimed(play, 0);
	mortise_host_free(play->host);
	assert_int_equal(mortise_plugin_start(play->plugin, NULL), MORTISE_ECLOSED); /* a shell, still ours */
	mortise_plugin_unref(play->plugin);
	forget(play);
	played = true;
}

/* A script that failed was left in the middle: its host is still there, and that is not one more fault. */
static int teardown(void **state)
{
	return played ? leak_teardown(state) : 0;
}

/* ---- all files ---- */

static struct CMUnitTest tests[1024];
static size_t test_count;

static void add(const char *path)
{
	struct stat info;
	size_t len = strlen(path);

	if (stat(path, &info) < 0)
		return;
	if (S_ISDIR(info.st_mode)) {
		struct dirent **names;
		int count = scandir(path, &names, NULL, alphasort);

		for (int i = 0; i < count; i++) {
			char child[4096];

			snprintf(child, sizeof(child), "%s/%s", path, names[i]->d_name);
			if (names[i]->d_name[0] != '.')
				add(child);
			free(names[i]);
		}
		free(names);
		return;
	}
	if (len > 5 && !strcmp(path + len - 5, ".talk") && test_count < sizeof(tests) / sizeof(tests[0])) {
		char *name = strdup(path);

		tests[test_count++] = (struct CMUnitTest){ name, play_file, leak_setup, teardown, name };
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--bytewise") == 0)
			bytewise = true;
		else
			add(argv[i]);
	}
	if (!test_count) {
		fprintf(stderr, "no scripts there\n");
		return 1;
	}
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return _cmocka_run_group_tests("talk", tests, test_count, NULL, NULL);
}
