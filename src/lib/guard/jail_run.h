/* SPDX-License-Identifier: Apache-2.0 */
/* One program in the jail, with our stdio: we wait on the guardian's socket, and have no pipes. */
#ifndef MOR_GUARD_JAIL_RUN_H
#define MOR_GUARD_JAIL_RUN_H

#include <mortise/jail.h>

struct mor_loop;

/* mortise_jail_run() after its checks: the options are our own. `loop`: of their host, or NULL. */
int mor_jail_run(const mortise_jail_options *opt, struct mor_loop *loop, mortise_jail_result **ret_result,
		 mortise_error *err);

#endif
