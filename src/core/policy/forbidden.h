/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a confined program may not do, kind by kind, and the answer to it. One table (forbidden.c): the broker
 * acts by it, the library's texts use its rules, docs/guide/sandbox.md shows it, and a test compares the two.
 */
#ifndef MOR_POLICY_FORBIDDEN_H
#define MOR_POLICY_FORBIDDEN_H

#include "policy/plan.h"

/* The order is that of the table, and of the records between the guardian and the library. */
enum mor_forbidden {
	MOR_FORBID_READ,
	MOR_FORBID_WORKSPACE_WRITE,
	MOR_FORBID_WRITE,
	MOR_FORBID_RULE_ROOT,
	MOR_FORBID_PROTECTED,
	MOR_FORBID_POLICY,
	MOR_FORBID_CODE,
	MOR_FORBID_GIT,
	MOR_FORBID_GIT_RUNS,
	MOR_FORBID_TOOL,
	MOR_FORBID_BELOW,
	MOR_FORBID_DEVICE,
	MOR_FORBID_SPAWN,
	MOR_FORBID_PROGRAM,
	MOR_FORBID_NETWORK,
	MOR_FORBID_PLACE,
	MOR_FORBID_FAMILY,
	MOR_FORBID_UNIX,
	MOR_FORBID_NAME,
	MOR_FORBID_IPC,
	MOR_FORBID_IDENTITY,
	MOR_FORBID_LIMITS,
	MOR_FORBID_PROBE,
	MOR_FORBID_TERMINAL,
	MOR_FORBID_NAMESPACE,
	MOR_FORBID_HANDLE,
	MOR_FORBID_SYSTEM,
	MOR_FORBID_TRACE,
	MOR_FORBID_RAW,
	MOR_FORBID_SIGNAL,
	MOR_FORBID_INSPECT,
	MOR_FORBID_MOUNT,
	MOR_FORBID_KERNEL,
	MOR_FORBID_KEYS,
	MOR_FORBID_HIDING,
	MOR_FORBID_FOREIGN,
	MOR_FORBIDDEN_COUNT
};

struct mor_forbidden_row {
	const char *name; /* for machines */
	const char *rule; /* MOR_RULE_..., or words for people */
	const char *what; /* for the guide: which calls */
	int deny, kill;   /* the errno that the call gets in this mode; 0: all processes are killed */
};
extern const struct mor_forbidden_row mor_forbidden_rows[MOR_FORBIDDEN_COUNT];

/* The errno, or 0: it kills. */
static inline int mor_forbidden_error(enum mor_forbidden what, bool deny)
{
	return deny ? mor_forbidden_rows[what].deny : mor_forbidden_rows[what].kill;
}

#endif
