/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --record FILE: what a command and its plugin say to each other is written down, as `mortise record` does it,
 * but without a process between them: messages as the host sent and took them, lines on stderr, and how the
 * plugin ended. What is no message is told in a comment.
 *
 * A .talk file is a conversation with one plugin. That is the first one that says something; of others, a note
 * on stderr says that they are not in the file.
 */
#ifndef MOR_RUNNER_RECORD_H
#define MOR_RUNNER_RECORD_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "console/console.h"

struct mor_runner_record;

/* Makes the file, before anything is started. show_wire: mor_runner_record_frame() shows each message too.
 * MORTISE_EINPUT: the file is there already, or cannot be made. */
int mor_runner_record_open(struct mor_console *console, const char *path, bool show_wire,
			   struct mor_runner_record **ret, mortise_error *err);
/* Writes what is left. A file in which nothing stands is removed. Accepts NULL. */
void mor_runner_record_close(struct mor_runner_record *record);
/* Needed only where the frames name no plugin (frame->plugin is NULL): then it comes before them. */
void mor_runner_record_begin(struct mor_runner_record *record, const char *dialect, const char *framing);

void mor_runner_record_frame(const mortise_tap_frame *frame, void *record); /* a mortise_tap_fn */
/* Accepts a NULL record, and every event. */
void mor_runner_record_event(struct mor_runner_record *record, const mortise_event *event);

#endif
