/* SPDX-License-Identifier: Apache-2.0 */
/* What a command says while it runs: how far it is, its log, what it prints. Only over gRPC. */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "workspace/workspace.h"

static void show_log(struct mor_workspace_part *p, const mortise_event *event, const char *shown)
{
	struct mor_console *console = p->run->console;
	bool serious = strcmp(event->log.level, "error") == 0 || strcmp(event->log.level, "warning") == 0;

	if (strcmp(event->log.level, "debug") == 0 && !console->verbose)
		return;
	mor_note(console, "%s| %s%s%s%s%s", p->manifest->name,
		 serious ? mor_style_err(console, MOR_STYLE_WARN) : "", serious ? event->log.level : "",
		 serious ? mor_style_err_end(console) : "", serious ? ": " : "", shown);
	if (!p->mid_line)
		mor_progress_say_again(&console->progress);
}

static void show_progress(struct mor_workspace_part *p, const struct mor_value *params)
{
	struct mor_console *console = p->run->console;
	const struct mor_value *fraction = mor_json_get(params, "fraction");
	char shown[60];

	mor_printable(mor_json_string(mor_json_get(params, "text")), shown, sizeof(shown));
	mor_progress_say(&console->progress, fraction ? mor_json_double(fraction, 0) : -1, shown);
}

/* With --json stdout is one object, at the end: it gets all of them together. */
static void show_piece(struct mor_workspace_part *p, const struct mor_value *params)
{
	struct mor_slice text = mor_json_string(mor_json_get(params, "text"));
	char shown[2000];

	if (p->run->console->json) {
		mor_buf_slice(&p->printed, text);
		return;
	}
	while (text.len) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;

		mor_outf(p->run->console, "%s%s",
			 mor_printable((struct mor_slice){ text.ptr, len }, shown, sizeof(shown)),
			 end ? "\n" : "");
		p->mid_line = !end;
		text = mor_slice_from(text, len + (end != NULL));
	}
	mor_out_flush(p->run->console);
	if (!p->mid_line)
		mor_progress_say_again(&p->run->console->progress);
}

bool mor_workspace_told(struct mor_workspace_part *p, const mortise_event *event, const char *shown)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (event->type == MORTISE_EVENT_LOG) {
		show_log(p, event, shown);
		return true;
	}
	if (event->type != MORTISE_EVENT_NOTE ||
	    mor_doc_parse((struct mor_slice){ event->note.params.text, event->note.params.len }, 0, 0, &doc,
			  NULL) < 0)
		return false;
	if (strcmp(event->note.method, "progress") == 0 && p->run->console->err_terminal)
		show_progress(p, mor_doc_root(doc));
	else if (strcmp(event->note.method, "piece") == 0)
		show_piece(p, mor_doc_root(doc));
	else
		return false;
	return true;
}

void mor_workspace_end_line(struct mor_workspace_part *p)
{
	mor_progress_said(&p->run->console->progress);
	if (p->mid_line)
		mor_out_text(p->run->console, "\n");
	p->mid_line = false;
}
