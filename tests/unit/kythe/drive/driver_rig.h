/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the driver: it has one worker, whose analyzer is a script (tests/unit/host/script.h) and whose
 * clock is virtual. With real analyzers: tests/e2e/test_index*.py.
 */
#ifndef MOR_TEST_DRIVER_RIG_H
#define MOR_TEST_DRIVER_RIG_H

#include "leak.h"

#include "../../host/script.h"
#include "kythe/drive/inside.h"

#define MANY 8
#define EXITED(number) \
	{ \
		.known = true, .status = (number), .clean = (number) == 0, \
		.text = "exited with status " #number \
	}

struct told {
	size_t unit;
	char title[32], reason[200];
	int code;
	unsigned attempts;
	uint64_t records;
	bool failed, empty, earlier;
};

struct rig {
	mortise_host *host;
	struct mor_kzip *kzip;
	struct mor_stager *stager;
	struct mor_result *result;
	struct mor_driver *driver;
	struct mor_record_ref records[MANY];
	struct told units[MANY];
	size_t unit_count;
	char log[200], warnings[2000];
	int log_count;
	char output[500]; /* of the analysis */
};

int group_setup(void **state);
int group_teardown(void **state);
void assert_says(const char *text, const char *part);

/* With `count` records of the sources u0.c, u1.c, ... in C. Of `given` retries, unit_ms and types count. */
void open_rig(struct rig *rig, size_t count, struct mor_driver_options given);
void open_result(struct rig *rig, size_t count, bool resume);
void begin(struct rig *rig);           /* with a new result */
void begin_with_unit(struct rig *rig); /* ... and the analyzer has got u0.c */
void close_rig(struct rig *rig);
void turn(struct rig *rig, uint32_t ms); /* so much time passes for the host */

/* ---- the analyzer's part ---- */

void says(struct rig *rig, const char *json);
const char *hears(void); /* the next message that it was sent; "": none */
void greets(struct rig *rig);
void asks(struct rig *rig);                         /* for anything */
void gets(struct rig *rig, const char *title);      /* its request is answered with this unit */
#define AN_ENTRY MOR_SLICE("\x05\x0a\x00\x22\x01/") /* an empty source, fact "/" */

void writes(const struct rig *rig, struct mor_slice bytes); /* to its output */
void is_done(struct rig *rig);
void ends(struct rig *rig, struct mor_link_end how);

/* The unit that was told so far, from 0; reason NULL: it is done. */
void expect_unit(const struct rig *rig, size_t number, const char *title, unsigned attempts,
		 const char *reason);
/* All is settled: its stdin is closed, its open request never answered; then it ends. */
void expect_the_end(struct rig *rig);

#endif
