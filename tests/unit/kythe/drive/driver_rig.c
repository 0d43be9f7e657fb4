/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "top.h"

#define IDENTITY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

int group_setup(void **state)
{
	(void)state;
	return top_make("driver");
}

int group_teardown(void **state)
{
	return top_drop(state);
}

/* ---- what the driver tells ---- */

static void on_unit(const struct mor_unit_end *end, void *arg)
{
	struct rig *rig = arg;
	struct told *told = &rig->units[rig->unit_count++];

	assert_true(rig->unit_count <= MANY);
	*told = (struct told){ .unit = end->unit,
			       .code = end->code,
			       .attempts = end->attempts,
			       .records = end->records,
			       .failed = end->reason,
			       .empty = end->empty,
			       .earlier = end->earlier };
	snprintf(told->title, sizeof(told->title), "%s", end->title);
	snprintf(told->reason, sizeof(told->reason), "%s", end->reason ? end->reason : "");
}

static void on_log(const struct mor_unit_log *log, void *arg)
{
	struct rig *rig = arg;

	rig->log_count++;
	snprintf(rig->log, sizeof(rig->log), "%s|%s|%u|%u|%s", log->title, log->file, log->line, log->column,
		 log->text);
}

static void on_warning(const char *text, void *arg)
{
	struct rig *rig = arg;
	size_t len = strlen(rig->warnings);

	snprintf(rig->warnings + len, sizeof(rig->warnings) - len, "%s\n", text);
}

void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" lacks \"%s\"", text, part);
}

/* ---- a rig ---- */

/* Records of the sources u0.c, u1.c, ... in C. */
static void make_kzip(struct rig *rig, size_t count)
{
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
	mortise_error err = { 0 };

	assert_int_equal(mor_kzip_writer_new(at("in.kzip"), MOR_KZIP_JSON, &writer, &err), 0);
	for (size_t i = 0; i < count; i++) {
		char name[32];
		const char *source = name;
		struct mor_unit unit = { .vname = { "", "c", "", "", "c" },
					 .sources = &source,
					 .source_count = 1,
					 .output_key = "",
					 .working_directory = "/src",
					 .entry_context = "" };

		snprintf(name, sizeof(name), "u%zu.c", i);
		assert_int_equal(mor_kzip_writer_add_unit(writer, &unit, NULL, NULL, &err), 0);
	}
	assert_int_equal(mor_kzip_writer_finish(writer, &err), 0);
	assert_int_equal(mor_kzip_open(at("in.kzip"), NULL, &rig->kzip, &err), 0);
	for (size_t i = 0; i < count; i++)
		rig->records[i] = (struct mor_record_ref){ rig->kzip, i };
}

void open_result(struct rig *rig, size_t count, bool resume)
{
	struct mor_result_options opt = { .path = at("out"),
					  .check = &mor_driver_checks[MOR_DRIVER_ENTRIES],
					  .units = count,
					  .identity = IDENTITY,
					  .resume = resume,
					  .spool_dir = top };
	mortise_error err = { 0 };

	if (mor_result_open(&opt, &rig->result, &err) < 0)
		fail_msg("%s", err.text);
}

void turn(struct rig *rig, uint32_t ms)
{
	assert_true(mor_loop_advance(rig->host->loop, ms) >= 0);
	mor_driver_step(rig->driver);
	assert_true(mor_loop_advance(rig->host->loop, 0) >= 0);
}

void open_rig(struct rig *rig, size_t count, struct mor_driver_options given)
{
	static const char *const argv[] = { "analyzer", NULL };
	mortise_plugin_options analyzer = { .size = sizeof(analyzer), .argv = argv, .dialect = "kythe" };
	mortise_error err = { 0 };

	*rig = (struct rig){ 0 };
	script_reset();
	assert_int_equal(mor_host_new_with(NULL, MOR_LOOP_VIRTUAL, script_link_new, &rig->host, NULL), 0);
	make_kzip(rig, count);
	assert_int_equal(mor_stager_new(at("cache"), &rig->stager, &err), 0);
	given.host = rig->host;
	given.analyzer = &analyzer;
	given.records = rig->records;
	given.record_count = count;
	given.view = MOR_DRIVER_VIEW_DIRECTORY;
	given.stager = rig->stager;
	given.events = (struct mor_driver_events){
		.on_unit = on_unit, .on_log = on_log, .on_warning = on_warning, .arg = rig
	};
	assert_int_equal(mor_driver_new(&given, &rig->driver, &err), 0);
	rig->driver->opt.analyzer = NULL; /* it is needed to make workers only */
}

void begin(struct rig *rig)
{
	open_result(rig, rig->driver->opt.record_count, false);
	mor_driver_start(rig->driver, rig->result);
	turn(rig, 0);
}

void close_rig(struct rig *rig)
{
	mor_driver_free(rig->driver);
	mor_result_free(rig->result);
	mortise_host_free(rig->host);
	mor_stager_free(rig->stager);
	mor_kzip_free(rig->kzip);
	unlink(at("out.partial"));
	unlink(at("out.journal"));
}

/* ---- the analyzer's part ---- */

void says(struct rig *rig, const char *json)
{
	MOR_CLEAN(mor_buf) struct mor_buf framed = MOR_BUF_INIT;

	assert_non_null(script_now);
	mor_enframe(script_now->opt->framing, mor_slice_of(json), &framed);
	script_deliver(script_now, mor_buf_view(&framed));
	turn(rig, 0);
}

const char *hears(void)
{
	static char text[4000];
	struct mor_slice body = { "", 0 };

	if (script_now)
		script_claim(script_now, &body);
	snprintf(text, sizeof(text), "%.*s", (int)body.len, body.ptr);
	return text;
}

void greets(struct rig *rig)
{
	says(rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"init\",\"params\":{\"protocol\":\"kythe1\"}}");
	assert_says(hears(), "\"outputEncoding\":\"protobuf\"");
}

void asks(struct rig *rig)
{
	says(rig, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"analyze\",\"params\":{}}");
}

void gets(struct rig *rig, const char *title)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const char *reply = hears();

	assert_int_equal(mor_doc_parse(mor_slice_of(reply), 0, 0, &doc, NULL), 0);
	assert_string_equal(mor_json_text(mor_json_at(mor_doc_root(doc), "/result/input"), reply), title);
	snprintf(rig->output, sizeof(rig->output), "%s",
		 mor_json_text(mor_json_at(mor_doc_root(doc), "/result/output"), ""));
	assert_int_equal(access(rig->output, W_OK), 0);
}

void writes(const struct rig *rig, struct mor_slice bytes)
{
	int fd = open(rig->output, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.ptr, bytes.len), bytes.len);
	close(fd);
}

void is_done(struct rig *rig)
{
	says(rig, "{\"jsonrpc\":\"2.0\",\"method\":\"done\"}");
}

void ends(struct rig *rig, struct mor_link_end how)
{
	script_end(script_now, &how);
	turn(rig, 0);
}

void expect_unit(const struct rig *rig, size_t number, const char *title, unsigned attempts, const char *reason)
{
	const struct told *told = &rig->units[number];

	assert_true(number < rig->unit_count);
	assert_string_equal(told->title, title);
	assert_int_equal(told->attempts, attempts);
	assert_int_equal(told->failed, reason != NULL);
	if (reason)
		assert_says(told->reason, reason);
}

void expect_the_end(struct rig *rig)
{
	assert_true(script_now->input_closed);
	assert_string_equal(hears(), "");
	assert_false(mor_driver_finished(rig->driver));
	ends(rig, (struct mor_link_end)EXITED(0));
	assert_true(mor_driver_finished(rig->driver));
	assert_null(mor_driver_failure(rig->driver));
	assert_null(script_now); /* and nobody is started any more */
}

void begin_with_unit(struct rig *rig)
{
	begin(rig);
	greets(rig);
	asks(rig);
	gets(rig, "u0.c");
}
