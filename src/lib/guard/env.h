/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environments that programs are started with. Lists end with NULL; mor_texts_free() frees one.
 *
 * Plugins of a host whose environments are equal share one: usually all of them do, and it is larger than
 * everything else that a plugin needs in its host.
 */
#ifndef MOR_GUARD_ENV_H
#define MOR_GUARD_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct mor_guarded;

/* One block, with its texts. */
struct mor_env {
	struct mor_list node; /* in its host's list, while anybody has it */
	unsigned refs;
	uint64_t sum; /* of the texts: unequal ones are told apart at once */
	size_t len;   /* of the texts, which come after the list, one after the other */
	const char *list[];
};

/* A reference; NULL: out of memory. `known`: those of the host, among which it is looked for and put. */
struct mor_env *mor_env_build(const struct mor_guarded *guarded, struct mor_list *known);
struct mor_env *mor_env_unref(struct mor_env *env); /* NULL is fine; returns NULL */
/* The same without a plugin; more: "NAME=VALUE" or "NAME", or NULL. safe_path: see
 * mor_sandbox_hides_modules(). */
char **mor_env_jail(bool safe_path, const char *const *more);

#endif
