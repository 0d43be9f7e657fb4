/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of fault-plugin. */
#ifndef TESTS_FAULT_PLUGIN_H
#define TESTS_FAULT_PLUGIN_H

#include "fault.h"

extern const struct tongue *tongue;
extern char id[64];              /* of what is being answered */
extern const char call_result[]; /* what stands for the right answer to a call */
extern const char *mark;

void answer(const char *the_id, const char *result);
void send_text(const char *body);
void send_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct fault {
	const char *name;
	void (*commit)(const char *result); /* what would be the right answer; NULL: nobody has asked */
	bool answers;                       /* it has answered, or never will; else the right answer follows */
};
extern const struct fault faults[];
extern const size_t fault_count;

#endif
