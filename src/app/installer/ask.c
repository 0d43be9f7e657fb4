/* SPDX-License-Identifier: Apache-2.0 */
/* Who agrees: --allow, --yes, or a person at a terminal. If nobody can answer, the answer is no, with the
 * line to type. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/confirm.h"
#include "console/signals.h"
#include "installer/inside.h"

int mor_installer_allow(const char *const *words, unsigned *ret, mortise_error *err)
{
	unsigned allow = 0;

	for (; words && *words; words++)
		for (struct mor_slice rest = mor_slice_of(*words); rest.len;) {
			struct mor_slice one = mor_slice_cut(&rest, ',');
			unsigned bit = mor_permissions_of_word(one);
			char shown[100];

			if (!bit)
				return mor_fail(err, MORTISE_EINVAL,
						"--allow \"%s\": expected network, read, spawn, write, "
						"unconfined, downgrade or replace, with commas between them",
						mor_excerpt(one, shown, sizeof(shown)));
			allow |= bit;
		}
	*ret = allow;
	return 0;
}

/* The whole line, to be copied. */
static void write_line(const struct mor_installer_order *order, const char *option, unsigned words,
		       struct mor_buf *out)
{
	mor_buf_printf(out, "mortise %s %s", order->command, option);
	mor_permissions_words(words, ",", out);
	for (const char *const *word = order->line; *word; word++) {
		mor_buf_byte(out, ' ');
		mor_buf_shell_word(out, *word);
	}
	mor_buf_byte(out, '\0');
}

static int refuse_unconfined(const struct mor_installer_visit *visit, unsigned words, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf all = MOR_BUF_INIT, confined = MOR_BUF_INIT;

	write_line(visit->order, "--allow ", words, &all);
	/* a lock pins the permissions: with others it would be refused */
	if (!visit->order->pinned) {
		mor_buf_text(&confined, "to run it confined, type: ");
		write_line(visit->order, "--confine", 0, &confined);
		confined.len--;
		mor_buf_text(&confined, "; ");
	}
	mor_buf_byte(&confined, '\0');
	if (mor_buf_failed(&all) || mor_buf_failed(&confined))
		return mor_fail_memory(err);
	return mor_fail(err, MORTISE_EINPUT,
			"%s may do everything that you may, and nobody has agreed to that: %sto agree, type: "
			"%s",
			visit->name, confined.data, all.data);
}

static int refuse(const struct mor_installer_visit *visit, unsigned words, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT, wants = MOR_BUF_INIT;

	mor_permissions_words(words, ", ", &wants);
	mor_buf_byte(&wants, '\0');
	write_line(visit->order, words ? "--allow " : "--yes", words, &line);
	if (mor_buf_failed(&line) || mor_buf_failed(&wants))
		return mor_fail_memory(err);
	return mor_fail(err, MORTISE_EINPUT, "%s %s was not %s: nobody has agreed to %s; to agree, type: %s",
			visit->name, visit->version, visit->order->approve ? "approved" : "installed",
			words ? wants.data : "its changed files", line.data);
}

int mor_installer_ask(struct mor_installer_visit *visit, mortise_error *err)
{
	const struct mor_installer_order *order = visit->order;
	bool again = visit->before.doc;
	/* what only --allow can grant: what is new since the last yes */
	unsigned strict = (again ? visit->wider : visit->asked & MOR_PERMISSION_UNCONFINED) & ~order->allow;
	/* --allow says what is new; what was granted before need not be said again */
	unsigned granted = again && order->allow ? visit->asked & ~visit->wider : 0;
	unsigned missing = (visit->asked | visit->wider) & ~order->allow & ~granted;

	if (strict & MOR_PERMISSION_UNCONFINED)
		return refuse_unconfined(visit, missing, err);
	if (!missing && (!order->approve || order->yes || order->allow))
		return 0;
	if (order->yes && !strict)
		return 0;
	if (order->yes || !isatty(STDIN_FILENO) || !visit->console->err_terminal)
		return refuse(visit, missing, err);
	if (mor_console_confirm(order->approve ? "Approve it as it is now? [y/N] " :
						 "Install it and allow this? [y/N] "))
		return 0;
	return mor_signals_count() ? mor_fail(err, MORTISE_ECANCELED, "interrupted") :
				     mor_fail(err, MORTISE_EINPUT, "%s %s was not %s: you said no", visit->name,
					      visit->version, order->approve ? "approved" : "installed");
}
