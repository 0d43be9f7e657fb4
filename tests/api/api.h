/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the public API: through the shared library and <mortise/mortise.h> alone, against real
 * processes (mostly tests/plugins/bad.c). Waiting is always for something that will happen; GUARD_S only
 * turns a hang into a failure with a name.
 */
#ifndef TESTS_API_API_H
#define TESTS_API_API_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/mortise.h>

#include "leak.h"

#define GUARD_S     300
#define NO_TIMER_MS 600000 /* a time limit that no test lives to see */

/* The callbacks of one call. */
struct got {
	int finals, pieces;
	int status;
	int turn;     /* of the rig, when the last one came */
	char *result; /* copy; NULL: absent */
	char *data;
	mortise_error error;
	mortise_call *call;
	mortise_plugin *plugin;
	struct rig *rig;
};

#define MAX_STATES 256

/* One host, mostly with one plugin, and all that it told. */
struct rig {
	mortise_host *host;
	mortise_plugin *plugin;
	int turn;
	int events[MORTISE_EVENT_TYPES];
	char last[MORTISE_EVENT_TYPES][512]; /* text of the last event of that type */
	uint64_t noise_bytes;
	mortise_event_session session; /* the last one */
	char note_method[64], note_params[256];
	enum mortise_state states[MAX_STATES];
	int codes[MAX_STATES];
	int state_count;
};

#define SET(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NO_SET   NULL

/* As MOR_TEST, but a failed test's plugins are killed, so that it does not fail those after it. */
#define API_TEST(fn) cmocka_unit_test_setup_teardown(fn, leak_setup, api_teardown)
int api_teardown(void **state);

mortise_json json(const char *text); /* NULL: absent */

void rig_open(struct rig *rig); /* the host alone */
/* With bad MODE as its plugin. `set` as in mortise_plugin_options. */
void rig_open_bad(struct rig *rig, const char *mode, const char *const *set);
/* The options rig_open_bad() uses, to be changed and given to rig_plugin(). */
mortise_plugin_options rig_options(struct rig *rig, const char *mode, const char *argv[3]);
mortise_plugin *rig_plugin(struct rig *rig, const mortise_plugin_options *opt);
void rig_close(struct rig *rig);
void rig_event(const mortise_event *event, void *arg);

/* One mortise_host_wait(), counted in rig->turn. */
void rig_turn(struct rig *rig);
/* Turns until *value >= want. */
void rig_until(struct rig *rig, const int *value, int want, const char *what);
void rig_until_state(struct rig *rig, enum mortise_state state);
bool rig_saw_state(const struct rig *rig, enum mortise_state state);
/* Dispatches what is due now, without waiting. */
void rig_settle(struct rig *rig);

void got_reply(const mortise_reply *reply, void *arg);
mortise_call_options got_options(struct rig *rig, struct got *got, uint32_t timeout_ms);
/* Starts a call and asserts that it was taken. timeout_ms 0: the dialect's. */
void start(struct rig *rig, struct got *got, const char *action, const char *params, uint32_t timeout_ms);
void until_done(struct got *got);
void got_clear(struct got *got);

/* A synchronous call that must succeed; the text is to be freed with mortise_free(). */
char *ask(struct rig *rig, const char *action, const char *params);
/* ... with this very result. */
void ask_expect(struct rig *rig, const char *action, const char *params, const char *want);
void assert_echoes(struct rig *rig);
int ask_pid(struct rig *rig);

/* So many are left to this process, those below its highest one not counted; -1: as many as before. */
void leave_descriptors(int many);
void assert_contains(const char *text, const char *part);
int64_t now_ns(void);
void diag(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a TAP comment */

#endif
