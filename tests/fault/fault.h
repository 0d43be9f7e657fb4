/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fault matrix: what may go wrong with a plugin, in each phase of its life, in each dialect, with real
 * processes. docs/reference/faults.md says what must come of it, README.md which fault is which row, rows.h
 * what is required of a cell.
 *
 *	fault-plugin TONGUE FAULT PHASE MARK    does all as it should, but for one fault in one phase; once: the
 *						file MARK says that it has been
 *	fault-jail                              a mortise-jail that is killed before it has done anything, once
 *	fault-matrix TONGUE [CELL]              a host with such a plugin, cell by cell; TAP
 *	fault-inject TONGUE                     a host whose system calls and allocations fail, one after the
 *						other; TAP
 *	fault-guard LEVEL                       the same of its guardian; TAP
 */
#ifndef TESTS_FAULT_FAULT_H
#define TESTS_FAULT_FAULT_H

#include "kit/tongue.h"

enum phase {
	AT_START, /* from exec to the first good answer                */
	AT_CALL,  /* a request is under way                            */
	AT_IDLE,  /* the last request is answered                      */
	AT_STOP,  /* it has been told to go, or its stdin has ended    */
	PHASES
};
static const char *const phase_names[PHASES] = { "start", "call", "idle", "stop" };

/* Files in the directory of a host and its plugins (dir.h). */
#define MARK_FILE    "mark"    /* the fault has been; locked by all living processes that did it    */
#define PROGRAM_FILE "program" /* where a row wants a program of its own                              */
#define ALOUD_FILE   "aloud"   /* a FIFO: the plugin has written its answer                           */

/* How long, in ms, one waits that is to be late. */
#define LATE_VARIABLE "FAULT_LATE_MS"

#endif
