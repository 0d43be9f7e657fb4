/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the result share: a directory, and a run of five units. Unit 2 fails, unit 3
 * has no bytes. */
#ifndef MOR_TEST_RESULT_HELP_H
#define MOR_TEST_RESULT_HELP_H

#include "leak.h"

#include "kythe/drive/driver.h"
#include "kythe/entries/entries.h"
#include "result/result.h"

#define IDENTITY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UNITS    5

extern char dir[];
const char *in_dir(const char *name);
int group_setup(void **state);
int group_teardown(void **state);

void put_file(const char *name, struct mor_slice bytes);
void get_file(const char *name, struct mor_buf *out);
void expect_file(const char *name, struct mor_slice want);

/* Two entries that name the unit; unit 3 has none. */
void unit_bytes(size_t unit, enum mor_stream_format form, struct mor_buf *out);
/* The bytes of all units but the one that fails. */
void whole(enum mor_stream_format form, struct mor_buf *out);

/* Opens "out" for entries, unless the options say something else. */
struct mor_result *open_with(struct mor_result_options opt);
/* The unit's output is `size` bytes of `bytes`. */
int put(struct mor_result *result, size_t unit, struct mor_slice bytes, uint64_t size,
	enum mor_stream_format form, uint64_t *ret_records, mortise_error *err);
void done(struct mor_result *result, size_t unit, enum mor_stream_format form);
void settle(struct mor_result *result, size_t unit); /* done; or failed, unit 2 */
void finish(struct mor_result *result);

#endif
