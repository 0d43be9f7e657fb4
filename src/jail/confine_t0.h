/* SPDX-License-Identifier: Apache-2.0 */
/* Level t0, step by step, for confine.c; t1 builds on the same steps. */
#ifndef MOR_JAIL_CONFINE_T0_H
#define MOR_JAIL_CONFINE_T0_H

#include "jail/broker.h"
#include "jail/confine.h"
#include "jail/quota.h"
#include "undo/scratch.h"

struct mor_t0 {
	struct mor_paths paths;
	struct mor_broker broker;
	struct mor_scratch scratch;
	struct mor_undo undo;
	struct mor_quota quota;
	struct mor_landlock lock; /* L1, while it is made */
	unsigned abi;
	struct mor_dial dial;
	int all;    /* learning: the root, which may be read and run from; else -1 */
	int listen; /* the directory in which it may listen; else -1 */
	int tmpfs; /* t1: a handle of the scratch directory, so that it does not go before we say so; else -1 */
};
extern struct mor_t0 mor_t0;

/* Rules, entry, scratch directory, handles. Changes plan->argv and plan->env. */
int mor_t0_prepare(struct mor_plan *plan, struct mor_setup_failure *failure);
/* The handle that stands for our scratch directory in the rules, O_PATH; taken over. -1: none, keep it. */
void mor_t0_show_scratch_take(int fd);
/* t0 only: where /dev/shm leads. Before L1. */
int mor_t0_prepare_shm(const struct mor_plan *plan, struct mor_setup_failure *failure);
/* The scratch directory is one of the host's file system: what it holds is counted. */
int mor_t0_count_scratch(const struct mor_plan *plan, struct mor_setup_failure *failure);
/* Makes L1. proc, shm: /proc and /dev/shm of the plugin's own tree (t1), else -1. */
int mor_t0_forge(const struct mor_plan *plan, int proc, int shm, struct mor_setup_failure *failure);
/* enum mor_filter_variant, without that of spawn. */
unsigned mor_t0_network(const struct mor_plan *plan);
/* From now on L1 binds the guardian and everything it starts. */
int mor_t0_lock(struct mor_setup_failure *failure);
/* Drops all capabilities for good: execve cannot give any back either. */
int mor_t0_drop_capabilities(bool for_good, struct mor_setup_failure *failure);
/* In the launcher: capabilities, L2, filter; sends the listener over the channel. */
int mor_t0_enter(const struct mor_plan *plan, int channel, struct mor_setup_failure *failure);
/* As mor_confine_end(), mor_confine_clean(). */
void mor_t0_end(bool alone, struct mor_record *last);
void mor_t0_clean(void);

#endif
