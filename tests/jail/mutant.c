/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked into mortise-jail-mutant in front of the real thing (-Wl,--wrap): a broker that says yes to
 * every path and every address. It shows what the kernel layer holds alone, without a switch in the
 * program that people run.
 */
#include "jail/paths.h"
#include "policy/network.h"

struct mor_ruling __wrap_mor_paths_read(struct mor_paths *paths, const char *name);
struct mor_ruling __wrap_mor_paths_execute(const struct mor_paths *paths, const char *name);
struct mor_ruling __wrap_mor_paths_write(const struct mor_paths *paths, const char *name,
					 enum mor_write_kind kind);

bool __wrap_mor_net_allows(const struct mor_net_place *places, size_t count, const struct mor_net_place *to);

static const struct mor_ruling perform = { .kind = MOR_RULING_PERFORM };

struct mor_ruling __wrap_mor_paths_read(struct mor_paths *paths, const char *name)
{
	(void)paths, (void)name;
	return perform;
}

struct mor_ruling __wrap_mor_paths_execute(const struct mor_paths *paths, const char *name)
{
	(void)paths, (void)name;
	return perform;
}

struct mor_ruling __wrap_mor_paths_write(const struct mor_paths *paths, const char *name,
					 enum mor_write_kind kind)
{
	(void)paths, (void)name, (void)kind;
	return perform;
}

bool __wrap_mor_net_allows(const struct mor_net_place *places, size_t count, const struct mor_net_place *to)
{
	(void)places, (void)count, (void)to;
	return true;
}
