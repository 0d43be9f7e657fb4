/* SPDX-License-Identifier: Apache-2.0 */
/* Shows on stderr what a plugin does: --verbose and --show-wire. `arg` is the struct mor_console. */
#ifndef MOR_RUNNER_SHOW_H
#define MOR_RUNNER_SHOW_H

#include <stdbool.h>

#include <mortise/mortise.h>

struct mor_console;

/* False: mor_show_event() will print nothing. */
bool mor_show_prints(const struct mor_console *console, const mortise_event *event);
void mor_show_event(const mortise_event *event, void *arg);
/* The same for an event that came from elsewhere: event->plugin is not looked at. */
void mor_show_event_of(const char *name, const mortise_event *event, struct mor_console *console);
void mor_show_frame(const mortise_tap_frame *frame, void *arg);

#endif
