/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a plugin did not answer, in words. Every command and every embedder gets these words as the text of the
 * error: this is the one place that composes them. docs/guide/no-answer.md says what to do about each.
 *
 * A plugin that cannot be started (src/core/program/diagnose.c, src/core/program/resolve.c):
 *
 *	id              condition                               text
 *	not-found       no such file; not in PATH               "no such file", "not found in PATH"
 *	not-executable  its mode                                "not executable (mode 0644): chmod +x it"
 *	architecture    an ELF file for another machine         "built for aarch64, this machine is …"
 *	loader          its ELF loader does not exist           "its loader … is missing: built for …"
 *	interpreter     that of the first line does not exist   "its interpreter … does not exist or …"
 *	crlf            a carriage return after it              "its first line ends in a carriage …"
 *	format          neither ELF nor "#!"                    "is no program, and its first line …"
 *
 * A plugin that has ended (src/lib/host/supervise.c; src/lib/proc/ending.c, src/lib/proc/telling.c):
 *
 *	library         the loader complains on stderr          "the shared library X is missing or …"
 *	signal          killed by a signal                      "killed by SIGSEGV before it answered"
 *	exit            128+n is a shell's word for a signal    "exited with status 3 before it answered"
 *	limit           a limit of its sandbox                  "(it used up its processor time: …)"
 *	denied          its sandbox has refused something       "its sandbox denied: read /etc/hosts"
 *	violation       its jail ended it (on_denial = kill)    the violation
 *
 * A plugin that is silent: the rows of diagnosis.c, in this order. The first that applies is told; `banner` is
 * followed by what the process is doing, and all by `denied` and the telling line of stderr.
 *
 *	id              condition (evidence)                    text
 *	other-id        an answer with an id of no call         "an answer with id "1" came; the call …"
 *	framing         its bytes are another framing's         "it writes be32 frames, not lines (…)"
 *	dialect         a method that only another one has      "it sent "complete", which gassist has …"
 *	partial         bytes that are no whole message         "it wrote 37 bytes without the newline …"
 *	banner          lines that are not messages             "it printed 1 line on stdout that is …"
 *	stopped         state T (t: a debugger)                 "it is stopped (SIGSTOP): kill -CONT …"
 *	blocked         it sleeps in a write to a pipe          "it is blocked: its stderr is full …"
 *	unflushed       the request has left its stdin,         "it has read the request and waits for
 *	                nothing came, and it reads again        more input: …"
 *	busy            on a processor                          "it computes (1.2 s of processor …"
 *	unread          the request is still in its stdin       "it has not read the request (92 …"
 *	waits           it sleeps elsewhere                     "it sleeps", "it waits for socket:[12]"
 *	mute            nothing can be seen                     "it has sent no message at all: …"
 *
 * A silent process is looked at once (src/lib/proc/doing.h): only on this path, and without waiting.
 */
#ifndef MOR_HOST_DIAGNOSIS_H
#define MOR_HOST_DIAGNOSIS_H

#include <stdbool.h>

#include <mortise/mortise.h>

enum { MOR_DIAGNOSIS_SIZE = 512 };

struct mor_diagnosis {
	const char *id; /* of the table above */
	/* The cause is known: waiting would not have helped. Else the text should name the time limit. */
	bool certain;
	char text[MOR_DIAGNOSIS_SIZE]; /* "; ..." or "" */
};

/* Why there is no answer to this call (NULL: no message at all that we waited for). */
void mor_diagnosis_silence(const mortise_plugin *plugin, const mortise_call *call, struct mor_diagnosis *ret);
/* What it is doing while its stdin is full: "; ..." or "". Returns ret->text. */
const char *mor_diagnosis_stall(const mortise_plugin *plugin, struct mor_diagnosis *ret);
/* The last words of a process that has ended: what its sandbox denied, and its telling line on stderr, or if
 * it wrote nothing there, its last on stdout: "; ..." or "". Returns text. */
const char *mor_diagnosis_last_words(const mortise_plugin *plugin, char text[static MOR_DIAGNOSIS_SIZE]);

#endif
