/* SPDX-License-Identifier: Apache-2.0 */
/* Shows on stderr what a plugin does: --verbose and --show-wire. `arg` is the struct mor_console. */
#ifndef MOR_RUNNER_WATCH_H
#define MOR_RUNNER_WATCH_H

#include <stdbool.h>

#include <mortise/mortise.h>

struct mor_console;

/* False: mor_watch_event() will print nothing. */
bool mor_watch_shows(const struct mor_console *console, const mortise_event *event);
void mor_watch_event(const mortise_event *event, void *arg);
void mor_watch_frame(const mortise_tap_frame *frame, void *arg);

#endif
