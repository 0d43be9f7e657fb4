/* SPDX-License-Identifier: Apache-2.0 */
/* A run of extract without plugins: its settings can be changed, and `job` is one file of it. */
#ifndef TESTS_UNIT_EXTRACT_STAGE_H
#define TESTS_UNIT_EXTRACT_STAGE_H

#include "base/alloc.h"
#include "extract/extract.h"
#include "heard.h"

static struct mor_plugin_args plugin_args;
static struct mor_extract_args args;
static struct mor_extract x;
static struct mor_extract_job job;

static inline int stage_begin(void **state)
{
	if (heard_begin(state) < 0)
		return -1;
	plugin_args = (struct mor_plugin_args){ 0 };
	args = (struct mor_extract_args){ .source = "bytes",
					  .mime = "text/plain",
					  .max_size = 1000,
					  .file_count = 1,
					  .plugin = &plugin_args };
	x = (struct mor_extract){ .console = &console, .args = &args, .window = 2 };
	x.spares = mor_zalloc(mor_extract_spares_most(&x) * sizeof(*x.spares));
	job = (struct mor_extract_job){ .extract = &x, .path = "a.txt" };
	return x.spares ? 0 : -1;
}

static inline int stage_end(void **state)
{
	mor_extract_job_clear(&job);
	mor_buf_fini(&job.row);
	mor_doc_free(x.options);
	mor_buf_fini(&x.block);
	mor_buf_fini(&x.part);
	mor_extract_spares_free(&x);
	return heard_end(state);
}
#define STAGE_TEST(fn) cmocka_unit_test_setup_teardown(fn, stage_begin, stage_end)

#endif
