/* SPDX-License-Identifier: Apache-2.0 */
/* What the checks of hosts share: the record of one run of a host. */
#ifndef MOR_CHECK_HOST_OWN_H
#define MOR_CHECK_HOST_OWN_H

#include "check/own.h"

struct mor_check_heard {
	struct mor_check_message *message; /* what the host sent, in order */
	size_t count, cap;
	unsigned noise, eager;   /* bytes that are no message; messages before the last one was answered */
	unsigned broken;         /* messages that are not JSON */
	bool started, eof, term; /* the plugin was started; how its stdin ended */
	int status;              /* of the host; -1: killed, or not ended in time */
	char *talk;              /* the record as text */
	char text[400];          /* how the host ended, with its last line on stderr */
};

/* A row for hosts: which scene is played, and what is judged then. NULL: the run was as it must be. */
struct mor_check_host_row {
	const char *name, *title, *spec, *scene;
	unsigned must, should;
	const char *(*judge)(const struct mor_check_run *run, const struct mor_check_heard *heard);
	const char *advice;
};
extern const struct mor_check_host_row mor_check_host_rows[];
#define MOR_CHECK_HOSTS (MOR_CHECK_PLAIN | MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_GASSIST)

#endif
