/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations. A result with `keep` opens one: from then on INPUT rows may be called, until a turn ends
 * without `keep`. The total time counts from the first `keep`, so that no plugin keeps its user for ever.
 * Its end is announced before and kills the plugin.
 */
#ifndef MOR_HOST_KEEP_H
#define MOR_HOST_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "loop/loop.h"

struct mor_method;
struct mor_value;

struct mor_keep_state {
	uint32_t total_ms; /* 0: no limit */
	struct mor_timer timer;
};

/* The conversation with one process. */
struct mor_keep_life {
	bool open;
	bool announced; /* that its time is nearly up */
	int64_t since_ms;
};

/* Does this result, or these params of a note, ask for a further turn? */
bool mor_keep_asked(const struct mor_method *row, const struct mor_value *value);
/* A user's call of a row with `keep` has ended. */
void mor_keep_settled(mortise_plugin *plugin, bool keep);
/* The plugin's process is gone, or will be. true: a conversation ended with it; report it after the
 * state has moved. */
bool mor_keep_ended(mortise_plugin *plugin);
void mor_keep_tell_ended(mortise_plugin *plugin, const char *why);
/* 0, or MORTISE_EINPUT: there is no session for this INPUT row. */
int mor_keep_check(const mortise_call *call, mortise_error *err);

#endif
