/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault matrix: what may go wrong with a plugin, in each phase of its life, in each dialect, with real processes.
 * Rows and phases are those of docs/reference/faults.md; rows.h says what is required, cell by cell.
 *
 *	fault-plugin DIALECT FAULT PHASE MARK   does all as it should, but for one fault in one phase; once: the file MARK
 *	                                        says that it has been
 *	fault-matrix DIALECT [CELL]             a host with such a plugin, cell by cell; TAP
 *	fault-inject DIALECT                    a host whose system calls and allocations fail, one after the other; TAP
 */
#ifndef TESTS_FAULT_FAULT_H
#define TESTS_FAULT_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/framing.h"

enum phase {
	AT_START, /* from exec to the first good answer                */
	AT_CALL,  /* a request is under way                            */
	AT_IDLE,  /* the last request is answered                      */
	AT_STOP,  /* it has been told to go, or its stdin has ended    */
	PHASES
};
extern const char *const phase_names[PHASES];

/* How the plugin speaks a dialect, and what the host asks of it. */
struct tongue {
	const char *name, *dialect; /* the name tells framings apart, too */
	enum mor_framing framing;
	const char *action, *params; /* of a call through the library */
	const char *method, *result; /* of it on the wire             */
	const char *greeting[3];     /* methods asked before          */
	struct {
		const char *method, *result; /* result NULL: the process ends */
	} fixed[6];
	const char *manifest, *manifest_text; /* file that must lie beside it; NULL: none */
	bool by_note;  /* settled by a notification (gassist)                     */
	bool asks;     /* the plugin is the client (kythe)                        */
	bool one_shot; /* a process for every call                                */
	bool greets;   /* it is asked something before the first call             */
	bool patient;  /* a late answer is waited for longer than a test may last: the host's user stops it */
};
extern const struct tongue tongues[];
extern const size_t tongue_count;
const struct tongue *tongue_find(const char *name); /* NULL: unknown */

#endif
