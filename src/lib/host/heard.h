/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came from a process without being a message or an answer to a call of ours: lines on its stdout that
 * are not messages, its last line on stderr, an answer with an id that no call has, a method that its dialect
 * does not have. When a call fails for lack of an answer, these are nearly always the reason (diagnosis.h).
 *
 * Most processes say nothing of the kind, so no memory is taken for it before they do. If memory is short then,
 * texts of failures say less; nothing is decided by it.
 */
#ifndef MOR_HOST_HEARD_H
#define MOR_HOST_HEARD_H

#include <stdint.h>

#include <mortise/mortise.h>

#include "base/slice.h"
#include "wire/envelope.h"

/* Of one process; a part of its life. The texts are printable and safe in quotes. */
struct mor_heard {
	char last_stderr[256];
	uint64_t stray_lines; /* on stdout, not messages */
	int64_t stray_ms;     /* when the last of them came */
	char last_stray[128];
	char stray_start[24];  /* the first bytes of the last one, as they came */
	unsigned char framing; /* 1 + the framing that one of them seems to be of; 0: none */
	char odd_id[48];       /* of the last answer to no call of ours, as JSON; "": no such answer came */
	int64_t odd_ms;
	char odd_method[48]; /* of the last message whose method the dialect does not name; "": none */
	int64_t method_ms;
};

/* All zero if there was nothing. */
const struct mor_heard *mor_heard_of(const mortise_plugin *plugin);

void mor_heard_stderr(mortise_plugin *plugin, struct mor_slice line);
/* The same for a line that is printable already. */
void mor_heard_last_stderr(mortise_plugin *plugin, const char *line);
void mor_heard_stray(mortise_plugin *plugin, struct mor_slice line);
void mor_heard_odd_id(mortise_plugin *plugin, struct mor_slice id);
void mor_heard_odd_method(mortise_plugin *plugin, struct mor_slice method);
/* A request of the plugin. */
void mor_heard_request(mortise_plugin *plugin, const struct mor_message *message);

#endif
