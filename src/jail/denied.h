/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was refused to the program, or allowed only because it is watched (MOR_JAIL_LEARN), folded by call, path
 * and kind. The broker's thread notes, the guardian's main thread tells the host. The memory is bounded: after
 * MOR_PLAN_DENIED_MAX different ones (learning: MOR_PLAN_NEEDED_MAX) the rest is only counted.
 */
#ifndef MOR_JAIL_DENIED_H
#define MOR_JAIL_DENIED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/forbidden.h"
#include "policy/plan.h"

struct mor_denied_item;
struct mor_denied {
	pthread_mutex_t lock;
	struct mor_denied_item **items; /* in the order of their first time; made with the first one */
	uint16_t *slots;                /* a hash table: 1 + index, 0: free */
	size_t count;
	size_t next;    /* the first one that the host has not been told of */
	uint64_t total; /* refusals, also those without an item */
	bool learn;     /* more are kept */
	int told;       /* eventfd: readable when there is a new item */
};
/* clang-format off */
#define MOR_DENIED_INIT { .lock = PTHREAD_MUTEX_INITIALIZER, .told = -1 }
/* clang-format on */

/* What was asked for: refused, or allowed. */
struct mor_denied_deed {
	const char *syscall; /* of a static table */
	const char *path;    /* "": none */
	enum mor_forbidden what;
	bool allowed, with_spawn; /* as in struct mor_record */
};
void mor_denied_note(struct mor_denied *denied, const struct mor_denied_deed *deed);
/* The next record for the host: a new item, or, if `final`, one with another count than it was told of. The
 * caller sends it, and then says so. false: no record is left. */
bool mor_denied_next(struct mor_denied *denied, bool final, struct mor_record *ret);
void mor_denied_sent(struct mor_denied *denied, const struct mor_record *record);
uint64_t mor_denied_total(struct mor_denied *denied);
/* Reads `told` empty. */
void mor_denied_hear(struct mor_denied *denied);

#endif
