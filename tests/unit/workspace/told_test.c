/* SPDX-License-Identifier: Apache-2.0 */
/* What a command says while it runs, and what is told of its changes that were undone. */
#include "heard.h"

#include "base/alloc.h"
#include "base/text.h"
#include "workspace/workspace.h"

static struct mor_manifest manifest = { .name = "p" };
static struct mor_workspace_run run;
static struct mor_workspace_part part;

static int begin(void **state)
{
	run = (struct mor_workspace_run){ .console = &console };
	part = (struct mor_workspace_part){ .run = &run, .manifest = &manifest };
	return heard_begin(state);
}

static int end(void **state)
{
	mor_buf_fini(&part.printed);
	return heard_end(state);
}
#define TOLD_TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

static bool tell_note(const char *method, const char *params)
{
	mortise_event event = { .type = MORTISE_EVENT_NOTE, .note = { method, { params, strlen(params) } } };

	return mor_workspace_told(&part, &event, "");
}

static const char *tell_log(const char *level, const char *shown)
{
	mortise_event event = { .type = MORTISE_EVENT_LOG, .log = { .level = level } };

	assert_true(mor_workspace_told(&part, &event, shown));
	return heard_err();
}

static void test_logs(void **state)
{
	(void)state;
	assert_string_equal(tell_log("info", "hi"), "p| hi\n");
	assert_string_equal(tell_log("warning", "hm"), "p| warning: hm\n");
	assert_string_equal(tell_log("error", "no"), "p| error: no\n");
	assert_string_equal(tell_log("debug", "x"), "");
	console.verbose = true;
	assert_string_equal(tell_log("debug", "x"), "p| x\n");
}

static void test_pieces_are_lines_of_stdout(void **state)
{
	(void)state;
	assert_true(tell_note("piece", "{\"text\":\"a\\nb\"}"));
	assert_string_equal(heard_out(), "a\nb");
	assert_true(part.mid_line);
	assert_true(tell_note("piece", "{\"text\":\"c\\n\"}"));
	assert_string_equal(heard_out(), "c\n");
	assert_false(part.mid_line);
	mor_workspace_end_line(&part);
	assert_string_equal(heard_out(), "");
	assert_true(tell_note("piece", "{\"text\":\"d\"}"));
	mor_workspace_end_line(&part);
	assert_string_equal(heard_out(), "d\n");
	assert_true(tell_note("piece", "{}")); /* no text */
	assert_string_equal(heard_out(), "");
}

static void test_pieces_cannot_steer_the_terminal(void **state)
{
	const char *out;

	(void)state;
	tell_note("piece", "{\"text\":\"a\\u001b[2J\\u009b\\r\\u202e\\n\"}");
	out = heard_out();
	assert_false(mor_text_steers((struct mor_slice){ out, strlen(out) - 1 }));
}

/* One object at the end has all of them. */
static void test_pieces_are_kept_for_machines(void **state)
{
	(void)state;
	console.json = true;
	tell_note("piece", "{\"text\":\"a\\n\"}");
	tell_note("piece", "{\"text\":\"b\"}");
	assert_string_equal(heard_out(), "");
	assert_true(mor_slice_is(mor_buf_view(&part.printed), "a\nb"));
}

/* Any number, since it is the plugin's. */
static void test_progress_is_for_terminals(void **state)
{
	(void)state;
	assert_false(tell_note("progress", "{\"fraction\":0.5,\"text\":\"x\"}"));
	assert_string_equal(heard_err(), "");
	console.err_terminal = true;
	assert_true(tell_note("progress", "{\"fraction\":0.5,\"text\":\"x\\u001b\"}"));
	assert_string_equal(heard_err(), "\r\033[K[==========          ]  50% x\\x1b");
	assert_true(tell_note("progress", "{\"fraction\":1e300}"));
	assert_string_equal(heard_err(), "\r\033[K[====================] 100% ");
	assert_true(tell_note("progress", "{\"fraction\":-7,\"text\":\"y\"}"));
	assert_string_equal(heard_err(), "\r\033[Ky");
	assert_string_equal(tell_log("info", "hi"), "\r\033[Kp| hi\n\r\033[Ky"); /* the line comes back */
	mor_workspace_end_line(&part);
	assert_string_equal(heard_err(), "\r\033[K");
}

static void test_other_events_are_others(void **state)
{
	mortise_event event = { .type = MORTISE_EVENT_STDERR, .text = "x" };

	(void)state;
	assert_false(mor_workspace_told(&part, &event, "x"));
	assert_false(tell_note("other", "{}"));
	assert_false(tell_note("piece", "not json"));
	assert_string_equal(heard_err(), "");
}

/* ---- undone ---- */

static void test_undo_tells_after_the_error(void **state)
{
	struct mor_workspace_undoing undoing = { .console = &console };

	(void)state;
	mor_workspace_undoing_end(&undoing, true); /* nothing was begun */
	mor_workspace_undoing_add(&undoing, "not undone: %s", "a");
	mor_workspace_undoing_add(&undoing, "two");
	assert_string_equal(heard_err(), "");
	mor_workspace_undoing_tell(&undoing);
	assert_string_equal(heard_err(), "not undone: a\ntwo\n");
	mor_workspace_undoing_tell(&undoing);
	assert_string_equal(heard_err(), "");
	mor_workspace_undoing_fini(&undoing);
}

static void test_undo_for_machines(void **state)
{
	struct mor_workspace_undoing undoing = {
		.result = { .changed = 1, .created = 2, .removed = 3, .left = 4 }
	};
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	(void)state;
	mor_w_object(&w);
	mor_workspace_undoing_member(&undoing, &w); /* nothing was undone */
	undoing.done = true;
	mor_workspace_undoing_member(&undoing, &w);
	mor_w_end(&w);
	assert_true(mor_slice_is(mor_buf_view(&json),
				 "{\"undone\":{\"changed\":1,\"created\":2,\"removed\":3,\"left\":4}}"));
}

static void test_undo_has_nowhere_to_save(void **state)
{
	struct mor_workspace_undoing undoing = { .console = &console, .without = "use --keep" };
	mortise_error err = { 0 };

	(void)state;
	unsetenv("XDG_STATE_HOME");
	setenv("HOME", "relative", 1);
	assert_int_equal(mor_workspace_undoing_begin(&undoing, "/tmp", "p", &err), MORTISE_ESYSTEM);
	assert_string_equal(
		err.text,
		"nothing could be undone: neither XDG_STATE_HOME nor HOME is an absolute path; to run it "
		"anyway, use --keep");
	mor_workspace_undoing_fini(&undoing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TOLD_TEST(test_logs),
		TOLD_TEST(test_pieces_are_lines_of_stdout),
		TOLD_TEST(test_pieces_cannot_steer_the_terminal),
		TOLD_TEST(test_pieces_are_kept_for_machines),
		TOLD_TEST(test_progress_is_for_terminals),
		TOLD_TEST(test_other_events_are_others),
		TOLD_TEST(test_undo_tells_after_the_error),
		TOLD_TEST(test_undo_for_machines),
		TOLD_TEST(test_undo_has_nowhere_to_save),
	};

	return mor_run_group("workspace/told", tests);
}
