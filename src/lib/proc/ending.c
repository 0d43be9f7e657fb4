/* SPDX-License-Identifier: Apache-2.0 */
/* How a process ended, in words that name the cause. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "proc/inside.h"

static const char *shells_word(int signal)
{
	static const int deadly[] = { SIGILL,  SIGABRT, SIGBUS,  SIGFPE, SIGKILL,
				      SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS };

	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		if (deadly[i] == signal)
			return sigabbrev_np(signal);
	return NULL;
}

void mor_exit_text(const struct mor_child_exit *how, char *out, size_t out_size)
{
	const char *name, *core = how->core ? " (core dumped)" : "";

	if (!how->known) {
		snprintf(out, out_size, "ended, status unknown");
		return;
	}
	if (!how->by_signal) {
		/* 128 + n; only for those that a program dies of: a program may mean its own 130 */
		name = how->status > 128 && how->status < 160 ? shells_word(how->status - 128) : NULL;
		snprintf(out, out_size, "exited with status %d%s%s%s", how->status,
			 name ? " (a shell's word for SIG" : "", name ? name : "", name ? ")" : "");
		return;
	}
	name = sigabbrev_np(how->status);
	if (name)
		snprintf(out, out_size, "killed by SIG%s%s", name, core);
	else
		snprintf(out, out_size, "killed by signal %d%s", how->status, core);
}

/* Copies the word after `mark` up to one of `ends`. */
static bool word_after(const char *line, const char *mark, const char *ends, struct mor_slice *ret)
{
	const char *at = strstr(line, mark);

	if (!at)
		return false;
	at += strlen(mark);
	*ret = (struct mor_slice){ at, strcspn(at, ends) };
	return ret->len > 0;
}

bool mor_loader_complaint(const char *line, char *out, size_t out_size)
{
	/* glibc's words first, then musl's. */
	static const struct {
		const char *mark, *ends, *before, *after;
	} table[] = {
		{ "error while loading shared libraries: ", ":", "the shared library ",
		  " is missing or unusable" },
		{ "Error loading shared library ", ":", "the shared library ", " is missing or unusable" },
		{ ": version `", "'", "a library here is too old: it lacks version ", "" },
		{ "undefined symbol: ", " ,", "a library here does not fit: it lacks ", "" },
	};
	struct mor_slice word;
	char shown[160];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!word_after(line, table[i].mark, table[i].ends, &word))
			continue;
		snprintf(out, out_size, "%s%s%s", table[i].before, mor_excerpt(word, shown, sizeof(shown)),
			 table[i].after);
		return true;
	}
	return false;
}
