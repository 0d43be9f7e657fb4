/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of staging share: an archive of a few contents, units made by hand, and a look at the tree. */
#ifndef MOR_TEST_STAGE_HELP_H
#define MOR_TEST_STAGE_HELP_H

#include "leak.h"

#include "kythe/stage/stage.h"

#define CONTENTS 6
#define MISSING  "0000000000000000000000000000000000000000000000000000000000000000"

extern char digests[CONTENTS][65];
extern struct mor_kzip *kzip;

/* clang-format off */
#define INPUT(path, number) { MOR_VNAME_EMPTY, path, digests[number], NULL, 0 }
/* clang-format on */
#define INPUTS(...) \
	((struct mor_input[]){ __VA_ARGS__ }), \
		sizeof((struct mor_input[]){ __VA_ARGS__ }) / sizeof(struct mor_input)

/* One stage, as if it were the only one of an analyzer; it is empty after any failure. */
static inline int fit_stage(struct mor_stager *stager, struct mor_kzip *from, const struct mor_unit *unit,
			    enum mor_stage_mode mode, struct mor_stage *stage, mortise_error *why)
{
	unsigned shown = 0;
	int r = mor_stage_fit_nearest(stager, from, unit, mode, stage, 1, &shown, why);

	if (r < 0)
		mor_stage_drop(stager, stage);
	return r;
}

const char *in_dir(const char *name);
const char *content_of(unsigned number);
struct mor_kzip *make_kzip(const char *name, unsigned contents);
int group_setup(void **state);
int group_teardown(void **state);
struct mor_unit unit_of(const char *working_dir, struct mor_input *inputs, size_t count);
struct mor_stager *new_stager(const char *cache);
void fit(struct mor_stager *stager, const struct mor_unit *unit, enum mor_stage_mode mode,
	 struct mor_stage *stage);
/* Afterwards the stage is empty, and says so. */
void expect_refused(const struct mor_unit *unit, enum mor_stage_mode mode, const char *text);
void expect_content(const struct mor_stage *stage, const char *path, unsigned number);
/* The tree as `find` tells it: sorted paths, directories with a "/" at their end, one per line. */
void list_tree(const char *root, struct mor_buf *out);
void expect_tree(const struct mor_stage *stage, const char *want);

#endif
