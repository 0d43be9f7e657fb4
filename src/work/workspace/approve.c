/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the user once before a Sunscreen plugin gets the network. If nobody can answer, nothing is asked, so
 * that no script hangs. Then the error shows the command that grants it.
 */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/confirm.h"
#include "console/signals.h"
#include "runner/network.h"
#include "workspace/workspace.h"

static int refuse_network(struct mor_workspace_run *run, const struct mor_manifest *m, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf command = MOR_BUF_INIT;
	char shown[300];

	mor_buf_text(&command, "mortise run --yes");
	for (const char *const *word = run->args->line; *word; word++) {
		mor_buf_byte(&command, ' ');
		mor_buf_shell_word(&command, *word);
	}
	return mor_fail(err, MORTISE_EINPUT,
			"%s %s asks for the network, but nobody has granted it: to grant it, type: %s", m->name,
			m->version ? m->version : "",
			mor_printable(mor_buf_view(&command), shown, sizeof(shown)));
}

/* One line per permission: what the plugin asks for, and what it could send. */
static void tell_permissions(struct mor_workspace_run *run, const struct mor_manifest *m, const char *workspace)
{
	const struct mor_setting *read_paths = mor_manifest_setting(m, "sandbox", "read");
	const struct mor_setting *place = mor_manifest_setting(m, "sandbox", "workspace");
	bool writes = false, spawns = false;
	char shown[300];

	mor_manifest_bool(m, "sandbox", "workspace_write", &writes, NULL);
	mor_manifest_bool(m, "sandbox", "spawn", &spawns, NULL);
	mor_note(run->console, "%s %s (%s) asks for permissions:", m->name, m->version ? m->version : "",
		 m->file ? m->file : m->dir);
	mor_note(run->console,
		 "  network          connect to any host, this machine and the cloud's metadata service "
		 "included, and send there what it can read");
	if (!place || !place->text || *place->text)
		mor_note(run->console, "  workspace        read %s%s", workspace,
			 writes ? ", and write in it" : "");
	if (read_paths && strcmp(read_paths->json, "[]") != 0)
		mor_note(run->console, "  declared_paths   read %s",
			 mor_printable(mor_slice_of(read_paths->json), shown, sizeof(shown)));
	if (spawns)
		mor_note(run->console, "  programs         start the system's programs, confined like itself");
}

int mor_workspace_approve(struct mor_workspace_run *run, const struct mor_resolved *resolved,
			  const char *workspace, mortise_error *err)
{
	const struct mor_manifest *m = resolved->manifest;
	struct mor_approval approval = mor_network_approval(resolved);
	int r;

	if (run->args->plugin->unconfined || run->args->plugin->network.count || !mor_network_asked(resolved))
		return 0; /* --network is the user's word, too */
	r = mor_approval_find(&approval, err);
	if (r != 0)
		return r < 0 ? r : 0;
	if (!run->args->yes) {
		if (!isatty(STDIN_FILENO) || !run->console->err_terminal)
			return refuse_network(run, m, err);
		tell_permissions(run, m, workspace);
		if (!mor_console_confirm("Grant them, now and whenever it runs from here? [y/N] "))
			return mor_signals_count() ? mor_fail(err, MORTISE_ECANCELED, "interrupted") :
						     refuse_network(run, m, err);
	}
	return mor_approval_grant(&approval, err);
}
