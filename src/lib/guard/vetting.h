/* SPDX-License-Identifier: Apache-2.0 */
/* The check of an installed plugin before each start (docs/design/0008-store.md, include/mortise/trust.h). */
#ifndef MOR_GUARD_VETTING_H
#define MOR_GUARD_VETTING_H

#include <stdbool.h>

#include <mortise/mortise.h>
#include <mortise/trust.h>

#include "base/digest.h"
#include "policy/plan.h"
#include "store/store.h"

struct mor_vetting {
	bool confine; /* somebody has approved it as a confined one, whatever its manifest says */
	char *name;   /* under which it is installed; the last part of its path is a version. NULL: not known */
	struct mor_store_check check;       /* of the last start; `files` borrows from it */
	struct mor_plan_file *files;        /* what mortise-jail compares once more */
	struct mor_plan_checked checked;    /* the same, for the command */
	char *work;                         /* where it runs instead of among its files; or NULL */
	char **argv;                        /* with `work`: its command, by full names; or NULL */
	char accepted[2 * MOR_DIGEST_SIZE]; /* what on_trust has said yes to: content and permissions */
};

struct mor_guarded;

/* Who is asked about a plugin that nobody has approved as it is. > 0: it may run. */
struct mor_vetting_asker {
	int (*ask)(void *arg, const mortise_trust *trust);
	void *arg;
};

/* Is what lies at `path` (NULL: it is a command) an installed plugin? If not, both stay as they are. 0 or
 * MORTISE_ENOMEM. */
int mor_vetting_find(const char *path, struct mor_vetting **ret_vetting, bool *ret_network, mortise_error *err);
/* When its manifest has been read from `top`: MORTISE_EMANIFEST if an installed plugin chooses what only the
 * user may. MORTISE_ENOMEM. */
int mor_vetting_manifest(const struct mor_guarded *guarded, const char *top, mortise_error *err);
/* Before anything of it runs. Reads what has no known identity: at most 512 MiB, usually nothing. May ask,
 * and the answer may do anything to the plugin. 0; MORTISE_EVIOLATION: it must not run; MORTISE_ESYSTEM: the
 * store cannot be read; MORTISE_ENOMEM. */
int mor_vetting_check(struct mor_guarded *guarded, const struct mor_vetting_asker *asker, mortise_error *err);
struct mor_vetting *mor_vetting_free(struct mor_vetting *vetting);

#endif
