/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script link: a plugin that exists only as what a test says it does. Used with the virtual clock. What the
 * host sends is kept until the test claims it; what the test delivers reaches the host through the same intake
 * as bytes from a pipe, from inside the loop.
 */
#ifndef TESTS_UNIT_HOST_SCRIPT_H
#define TESTS_UNIT_HOST_SCRIPT_H

#include "host/host.h"
#include "host/plugin.h"
#include "link/intake.h"

struct script_link {
	struct mor_link link;
	struct mor_intake intake;
	const struct mor_link_options *opt;
	struct mor_task announce, flush, act;
	struct mor_grave grave;
	struct mor_buf sent; /* bodies of messages, each behind its length */
	bool started, input_closed, terminated, killed, freed;
	bool stuck;           /* its pipe takes nothing: what is sent stays unwritten */
	int64_t signalled_ms; /* when the first of the two orders came */
	/* what the next act delivers */
	struct mor_buf bytes;
	char stderr_line[256];
	bool has_stderr, closes_stdout, ends;
	struct mor_link_end end;
};

/* The link of the process that runs now; NULL: none. */
extern struct script_link *script_now;
/* How many processes were started since script_reset(). */
extern int script_starts;
void script_reset(void);
/* The next `times` starts fail: already in the making of the link (make: a status), or in its start
 * (error, and errno). */
extern struct script_trouble {
	int times, make;
	mortise_error error;
} script_trouble;
/* Of a plugin that has a process. */
struct script_link *script_of(const mortise_plugin *plugin);

int script_link_new(struct mor_loop *loop, const struct mor_link_options *opt,
		    const struct mor_link_events *events, void *arg, struct mor_link **ret);

/* The oldest unclaimed message; false: no message is left. The slice lives until the host sends again. */
bool script_claim(struct script_link *script, struct mor_slice *ret_body);
bool script_unclaimed(const struct script_link *script);

/* Each takes effect when the loop runs. */
void script_deliver(struct script_link *script, struct mor_slice bytes);
void script_stderr(struct script_link *script, struct mor_slice line);
void script_close_stdout(struct script_link *script);
void script_break_stdin(struct script_link *script); /* as a write does that nobody reads */
void script_end(struct script_link *script, const struct mor_link_end *end);

#endif
