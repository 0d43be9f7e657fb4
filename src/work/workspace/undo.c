/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/undo.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/xdg.h"

static int find_directory(char **ret, mortise_error *err)
{
	int r = mor_xdg_path(MOR_XDG_STATE, NULL, ret, "mortise/undo");

	if (r == MORTISE_ENOTFOUND)
		return mor_fail(err, MORTISE_ESYSTEM,
				"nothing could be undone: neither XDG_STATE_HOME nor HOME is an absolute path");
	return r < 0 ? mor_fail_memory(err) : 0;
}

static void on_note(const char *text, void *arg)
{
	struct mor_workspace_undoing *undoing = arg;

	if (undoing->holds)
		mor_buf_printf(&undoing->notes, "%s\n", text);
	else
		mor_note(undoing->console, "%s", text);
}

int mor_workspace_undoing_begin(struct mor_workspace_undoing *undoing, const char *workspace, const char *name,
				mortise_error *err)
{
	MOR_CLEAN_TEXT char *directory = NULL;
	mortise_undo_options opt = {
		.size = sizeof(opt), .workspace = workspace, .name = name, .on_note = on_note, .arg = undoing
	};
	mortise_error why = { 0 };
	int r = find_directory(&directory, &why);

	opt.directory = directory;
	r = r ? r : mortise_undo_new(&opt, &undoing->undo, &why);
	return r < 0 ? mor_fail(err, r, "%s; to run it anyway, %s", why.text, undoing->without) : 0;
}

void mor_workspace_undoing_end(struct mor_workspace_undoing *undoing, bool failed)
{
	mortise_error err = { 0 };

	if (!undoing->undo || undoing->done)
		return;
	undoing->holds = true;
	undoing->result.size = sizeof(undoing->result);
	if (failed && mortise_undo_run(undoing->undo, &undoing->result, &err) < 0)
		mor_buf_printf(&undoing->notes, "not undone: %s\n", err.text);
	if (undoing->result.refused)
		mor_buf_printf(&undoing->notes, "to run it without undo, so that nothing is saved, %s\n",
			       undoing->without);
	undoing->done = failed;
	undoing->undo = mortise_undo_free(undoing->undo);
}

void mor_workspace_undoing_add(struct mor_workspace_undoing *undoing, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&undoing->notes, format, args);
	va_end(args);
	mor_buf_text(&undoing->notes, "\n");
}

void mor_workspace_undoing_tell(struct mor_workspace_undoing *undoing)
{
	struct mor_slice rest = mor_buf_view(&undoing->notes);

	while (rest.len)
		mor_note_slice(undoing->console, mor_slice_cut(&rest, '\n'));
	mor_buf_reset(&undoing->notes, 0);
}

void mor_workspace_undoing_member(const void *arg, struct mor_writer *w)
{
	const struct mor_workspace_undoing *undoing = arg;

	if (!undoing->done)
		return;
	mor_w_pair_object(w, "undone");
	mor_w_pair_int(w, "changed", undoing->result.changed);
	mor_w_pair_int(w, "created", undoing->result.created);
	mor_w_pair_int(w, "removed", undoing->result.removed);
	mor_w_pair_int(w, "left", undoing->result.left);
	mor_w_end(w);
}

void mor_workspace_undoing_fini(struct mor_workspace_undoing *undoing)
{
	mortise_undo_free(undoing->undo);
	mor_buf_fini(&undoing->notes);
	undoing->undo = NULL;
}
