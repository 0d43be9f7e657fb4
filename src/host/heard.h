/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came from a process without being a message or an answer to a call of ours: lines on its stdout that
 * are not messages, its last line on stderr, an answer with an id that no call has. When a call fails for
 * lack of an answer, these are nearly always the reason, so its text names them.
 */
#ifndef MOR_HOST_HEARD_H
#define MOR_HOST_HEARD_H

#include <stdint.h>

#include <mortise/mortise.h>

#include "base/slice.h"

/* Of one process; a part of its life. The texts are printable and safe in quotes. */
struct mor_heard {
	char last_stderr[256];
	uint64_t stray_lines; /* on stdout, not messages */
	int64_t stray_ms;     /* when the last of them came */
	char last_stray[128];
	char odd_id[48]; /* of the last answer to no call of ours, as JSON; "": there was none */
	int64_t odd_ms;
};

void mor_heard_stderr(mortise_plugin *plugin, struct mor_slice line);
void mor_heard_stray(mortise_plugin *plugin, struct mor_slice line);
void mor_heard_odd_id(mortise_plugin *plugin, struct mor_slice id);

enum { MOR_HEARD_SIZE = 512 };
/* Why there may be no answer to this call (NULL: no message at all that we waited for), and the last line on
 * stderr: "; ..." or "". Returns text. */
const char *mor_heard_instead(const mortise_plugin *plugin, const mortise_call *call,
			      char text[static MOR_HEARD_SIZE]);
/* The last words of a process: its last line on stderr, or if there was none, on stdout: "; last ..." or "". */
const char *mor_heard_last(const mortise_plugin *plugin, char text[static MOR_HEARD_SIZE]);

#endif
