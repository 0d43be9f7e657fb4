/* SPDX-License-Identifier: Apache-2.0 */
/* A pool over script links and the virtual clock: what its tests share. */
#ifndef TESTS_UNIT_HOST_POOL_RIG_H
#define TESTS_UNIT_HOST_POOL_RIG_H

#include "script.h"

struct rig {
	mortise_host *host;
	mortise_pool *pool;
	const char *dialect;    /* NULL: "plain", one call at a time per worker */
	const char *const *set; /* NULL: what that needs */
	uint64_t flags;
	uint32_t workers, retries;
	mortise_event_fn *on_event; /* its arg is the rig */
	int events;
};

/* The callbacks of one call. */
struct got {
	int finals, pieces, status;
	mortise_error error;
	char data[128], result[128];
	mortise_plugin *plugin;
	mortise_reply_fn *then; /* after the rest, with `arg` */
	void *arg;
};

/* The rig's fields above `host` and `pool` are set by the test; both are made here. */
void rig_open(struct rig *rig);
void rig_close(struct rig *rig);
void turn(struct rig *rig);
void pass(struct rig *rig, uint32_t ms);

void call_within(struct rig *rig, struct got *got, uint32_t queue_ms);
void call(struct rig *rig, struct got *got);
void call_all(struct rig *rig, struct got *got, int count);
void rig_open_busy(struct rig *rig, struct got *got, int count); /* with so many calls, and a turn */

mortise_plugin *worker(const struct rig *rig, uint32_t i);
int state_of(const struct rig *rig, uint32_t i);
struct script_link *process(const struct rig *rig, uint32_t i); /* NULL: none */
/* The next message that worker i was sent; its id. 0: no message is waiting. */
int64_t claim(const struct rig *rig, uint32_t i);
/* The worker answers that. 0: there was nothing to answer. */
bool serve(struct rig *rig, uint32_t i);
void say(struct rig *rig, uint32_t i, const char *format, ...) __attribute__((format(printf, 3, 4)));
void die(struct rig *rig, uint32_t i);
/* The worker's process was never made: what a guardian tells. */
void not_made(struct rig *rig, uint32_t i, int code, int os_errno);

void expect(const struct got *got, int status);
void expect_waiting(const struct got *got);

#endif
