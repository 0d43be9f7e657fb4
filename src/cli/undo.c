/* See undo.h. */
#include "cli/undo.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/output.h"

static int find_directory(struct mor_buf *out, mortise_error *err)
{
	const char *home = getenv("XDG_STATE_HOME");

	if (home && *home == '/')
		mor_buf_printf(out, "%s/mortise/undo", home);
	else if ((home = getenv("HOME")) && *home == '/')
		mor_buf_printf(out, "%s/.local/state/mortise/undo", home);
	else
		return mor_fail(err, MORTISE_ESYSTEM,
				"nothing could be undone: neither XDG_STATE_HOME nor HOME is an absolute path (--keep does without)");
	return mor_buf_byte(out, '\0') < 0 ? mor_fail(err, MORTISE_ENOMEM, "out of memory") : 0;
}

static void on_note(const char *text, void *arg)
{
	struct mor_undoing *undoing = arg;

	if (undoing->holds)
		mor_buf_printf(&undoing->notes, "%s\n", text);
	else
		mor_note(undoing->cli, "%s", text);
}

int mor_undoing_begin(struct mor_undoing *undoing, struct mor_cli *cli, const char *workspace, const char *name, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf directory = MOR_BUF_INIT;
	mortise_undo_options opt = { .size = sizeof(opt), .workspace = workspace, .name = name, .on_note = on_note, .arg = undoing };
	int r = find_directory(&directory, err);

	if (r < 0)
		return r;
	undoing->cli = cli;
	opt.directory = directory.data;
	return mortise_undo_new(&opt, &undoing->undo, err);
}

static void add_part(struct mor_buf *line, unsigned count, const char *did, bool *first)
{
	if (!count)
		return;
	mor_buf_printf(line, "%s%u%s %s", *first ? "" : ", ", count, !*first ? "" : count == 1 ? " file" : " files", did);
	*first = false;
}

static void add_summary(struct mor_undoing *undoing)
{
	const mortise_undo_result *result = &undoing->result;
	bool first = true;

	if (result->changed + result->created + result->removed == 0)
		return;
	mor_buf_text(&undoing->notes, "undone: ");
	add_part(&undoing->notes, result->changed, "changed", &first);
	add_part(&undoing->notes, result->created, "created", &first);
	add_part(&undoing->notes, result->removed, "removed", &first);
	mor_buf_text(&undoing->notes, "\n");
}

void mor_undoing_end(struct mor_undoing *undoing, bool failed)
{
	mortise_error err = { 0 };

	if (!undoing->undo || undoing->done)
		return;
	undoing->holds = true;
	undoing->result.size = sizeof(undoing->result);
	if (failed && mortise_undo_run(undoing->undo, &undoing->result, &err) < 0)
		mor_buf_printf(&undoing->notes, "not undone: %s\n", err.text);
	else if (failed)
		add_summary(undoing);
	if (undoing->result.refused)
		mor_buf_text(&undoing->notes, "hint: --keep runs it without undoing, and then nothing needs to be saved\n");
	undoing->done = failed;
	undoing->undo = mortise_undo_free(undoing->undo);
}

void mor_undoing_add(struct mor_undoing *undoing, struct mor_cli *cli, const char *format, ...)
{
	va_list args;

	undoing->cli = cli;
	va_start(args, format);
	mor_buf_vprintf(&undoing->notes, format, args);
	va_end(args);
	mor_buf_text(&undoing->notes, "\n");
}

void mor_undoing_tell(struct mor_undoing *undoing)
{
	for (size_t at = 0; at < undoing->notes.len;) {
		const char *line = undoing->notes.data + at, *end = memchr(line, '\n', undoing->notes.len - at);
		size_t len = end ? (size_t)(end - line) : undoing->notes.len - at;

		mor_note_slice(undoing->cli, (struct mor_slice){ line, len });
		at += len + 1;
	}
	mor_buf_reset(&undoing->notes, 0);
}

void mor_undoing_member(const struct mor_undoing *undoing, struct mor_writer *w)
{
	if (!undoing->done)
		return;
	mor_w_key(w, "undone");
	mor_w_object(w);
	mor_w_pair_int(w, "changed", undoing->result.changed);
	mor_w_pair_int(w, "created", undoing->result.created);
	mor_w_pair_int(w, "removed", undoing->result.removed);
	mor_w_pair_int(w, "left", undoing->result.left);
	mor_w_end(w);
}

void mor_undoing_fini(struct mor_undoing *undoing)
{
	mortise_undo_free(undoing->undo);
	mor_buf_fini(&undoing->notes);
	undoing->undo = NULL;
}
