/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a test. For testing.c only. */
#ifndef TENON_TESTING_INSIDE_H
#define TENON_TESTING_INSIDE_H

#include <sys/types.h>

#include "session.h"

struct tenon_test {
	const struct tn_dialect *dialect;
	int in, out; /* of the test: from the plugin, to it */
	pid_t child; /* 0: inside, on `thread` */
	pthread_t thread;
	struct tn_session session;
	int status;
	bool greeted;
	struct mor_deframer deframer;
	struct mor_buf input, streamed, config;
	size_t taken;
	int64_t id;
	struct mor_doc *doc; /* the last message */
	const struct mor_value *result, *error;
	int asks;
};

#endif
