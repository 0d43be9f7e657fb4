/* What a plugin does, told on stderr: --verbose and --show-wire. `arg` is the struct mor_cli. */
#ifndef MOR_CLI_WATCH_H
#define MOR_CLI_WATCH_H

#include <mortise/mortise.h>

void mor_watch_event(const mortise_event *event, void *arg);
void mor_watch_frame(const mortise_tap_frame *frame, void *arg);

#endif
