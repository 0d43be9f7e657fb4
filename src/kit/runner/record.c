/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/record.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "runner/runner.h"
#include "runner/show.h"
#include "scribe/scribe.h"

struct mor_runner_record {
	struct mor_console *console;
	struct mor_scribe scribe;
	char *path;
	int fd; /* until it begins: then it is the scribe's */
	bool begun, show_wire;
	bool told_failure, told_others;
	mortise_plugin *plugin; /* whose conversation it is; only compared */
};

int mor_runner_record_open(struct mor_console *console, const char *path, bool show_wire,
			   struct mor_runner_record **ret, mortise_error *err)
{
	struct mor_runner_record *record = mor_zalloc(sizeof(*record));
	int r = MORTISE_ENOMEM;

	if (record)
		record->path = mor_scribe_path(path);
	if (record && record->path) {
		record->console = console;
		record->show_wire = show_wire;
		r = record->fd =
			mor_scribe_create(record->path, false, "remove it, or choose another name", err);
	}
	if (r >= 0) {
		*ret = record;
		return 0;
	}
	if (record)
		mor_free(record->path);
	mor_free(record);
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
}

void mor_runner_record_begin(struct mor_runner_record *record, const char *dialect, const char *framing)
{
	if (record->begun)
		return;
	record->begun = true;
	mor_scribe_open(&record->scribe, record->fd,
			&(struct mor_scribe_options){ .dialect = dialect,
						      .framing = mor_framing_by_name(framing) });
}

static void begin_with(struct mor_runner_record *record, mortise_plugin *plugin)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	(void)mor_runner_describe(plugin, &doc, NULL);
	record->plugin = plugin;
	mor_runner_record_begin(record, mortise_plugin_dialect(plugin),
				mor_json_text(mor_json_get(mor_doc_root(doc), "framing"), NULL));
}

/* The first plugin has the file. */
static bool is_recorded(struct mor_runner_record *record, mortise_plugin *plugin)
{
	if (!record->begun && plugin)
		begin_with(record, plugin);
	if (plugin != record->plugin && !record->told_others) {
		record->told_others = true;
		mor_note(record->console, "note: %s: only what %s says is recorded; a file is for one plugin",
			 record->path, mortise_plugin_name(record->plugin));
	}
	return record->begun && plugin == record->plugin;
}

/* A person may watch the file ('mortise tap'): nothing waits. */
static void write_on(struct mor_runner_record *record)
{
	mor_scribe_flush(&record->scribe);
	if (!record->scribe.failed || record->told_failure)
		return;
	record->told_failure = true;
	mor_note(record->console, "warning: %s: %s: the recording ends here", record->path,
		 strerrordesc_np(record->scribe.failed));
}

void mor_runner_record_frame(const mortise_tap_frame *frame, void *arg)
{
	struct mor_runner_record *record = arg;

	if (record->show_wire)
		mor_show_frame(frame, record->console);
	if (!is_recorded(record, frame->plugin))
		return;
	mor_scribe_message(&record->scribe, frame->direction == MORTISE_TO_PLUGIN,
			   (struct mor_slice){ frame->body.text, frame->body.len });
	write_on(record);
}

static bool is_running(int state)
{
	return state == MORTISE_STARTING || state == MORTISE_GREETING || state == MORTISE_READY ||
	       state == MORTISE_DRAINING;
}

void mor_runner_record_event(struct mor_runner_record *record, const mortise_event *event)
{
	const char *text = event->text ? event->text : "";
	bool ended = event->type == MORTISE_EVENT_STATE && is_running(event->state.before) &&
		     !is_running(event->state.now);

	if (!record || (!ended && event->type != MORTISE_EVENT_STDERR && event->type != MORTISE_EVENT_NOISE))
		return;
	if (ended && !record->begun) /* it was never there: the error says so */
		return;
	if (!is_recorded(record, event->plugin))
		return;
	if (event->type == MORTISE_EVENT_STDERR) {
		mor_scribe_stderr(&record->scribe, mor_slice_of(text));
		mor_scribe_stderr(&record->scribe, MOR_SLICE("\n"));
	} else {
		mor_scribe_comment(&record->scribe, ended ? "the end" : "not a message", text);
	}
	write_on(record);
}

void mor_runner_record_close(struct mor_runner_record *record)
{
	if (!record)
		return;
	if (record->begun) {
		write_on(record);
		mor_scribe_close(&record->scribe);
	} else {
		unlink(record->path);
		mor_fd_close(&record->fd);
	}
	mor_free(record->path);
	mor_free(record);
}
