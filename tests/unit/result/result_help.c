/* SPDX-License-Identifier: Apache-2.0 */
#include "result_help.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "tmp.h"

char dir[TMP_ROOM];

const char *in_dir(const char *name)
{
	static char path[4][200];
	static unsigned turn;
	char *to = path[turn++ % 4];

	snprintf(to, sizeof(path[0]), "%s/%s", dir, name);
	return to;
}

int group_setup(void **state)
{
	(void)state;
	return mkdtemp(tmp_name(dir, "result")) ? 0 : -1;
}

int group_teardown(void **state)
{
	(void)state;
	mor_dir_remove_all(AT_FDCWD, dir);
	return access(dir, F_OK) == 0;
}

void put_file(const char *name, struct mor_slice bytes)
{
	FILE *f = fopen(in_dir(name), "we");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, f), bytes.len);
	fclose(f);
}

void get_file(const char *name, struct mor_buf *out)
{
	char *text = NULL;
	size_t len = 0;

	assert_int_equal(mor_fd_read_file(in_dir(name), 64 << 20, &text, &len), 0);
	mor_buf_reset(out, 0);
	mor_buf_append(out, text, len);
	mor_free(text);
}

void expect_file(const char *name, struct mor_slice want)
{
	MOR_CLEAN(mor_buf) struct mor_buf got = MOR_BUF_INIT;

	get_file(name, &got);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.data ? got.data : "", want.ptr ? want.ptr : "", want.len);
}

void unit_bytes(size_t unit, enum mor_stream_format form, struct mor_buf *out)
{
	char name[32];
	struct mor_entry entry = { .source = { .set = true }, .fact_name = MOR_SLICE("/kythe/text") };

	snprintf(name, sizeof(name), "unit%zu", unit);
	entry.source.part[MOR_VNAME_PATH] = mor_slice_of(name);
	for (int i = 0; i < 2 && unit != 3; i++) {
		entry.fact_value = i ? MOR_SLICE("second \n\x80 bytes") : MOR_SLICE("first");
		assert_int_equal(mor_entry_write(&entry, form, out), 0);
	}
}

struct mor_result *open_with(struct mor_result_options opt)
{
	struct mor_result *result = NULL;
	mortise_error err = { 0 };

	opt.path = opt.path ? opt.path : in_dir("out");
	opt.check = opt.check ? opt.check : &mor_driver_checks[MOR_DRIVER_ENTRIES];
	opt.identity = IDENTITY;
	opt.units = UNITS;
	opt.spool_dir = dir;
	if (mor_result_open(&opt, &result, &err) < 0)
		fail_msg("%s", err.text);
	return result;
}

int put(struct mor_result *result, size_t unit, struct mor_slice bytes, uint64_t size,
	enum mor_stream_format form, uint64_t *ret_records, mortise_error *err)
{
	struct mor_result_output output = { .size = size, .form = form };
	int r;

	put_file("unit", bytes);
	output.fd = open(in_dir("unit"), O_RDONLY | O_CLOEXEC);
	assert_true(output.fd >= 0);
	r = mor_result_done(result, unit, &output, err);
	close(output.fd);
	*ret_records = output.records;
	return r;
}

void done(struct mor_result *result, size_t unit, enum mor_stream_format form)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	mortise_error err = { 0 };
	uint64_t size, records;

	unit_bytes(unit, form, &bytes);
	size = bytes.len;
	mor_buf_text(&bytes, "grows after done"); /* which is not part of it */
	if (put(result, unit, mor_buf_view(&bytes), size, form, &records, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(records, unit == 3 ? 0 : 2);
}

void settle(struct mor_result *result, size_t unit)
{
	static const mortise_error fell = { .code = MORTISE_ECRASHED, .text = "crashed: it\nfell over" };
	mortise_error err = { 0 };

	if (unit == 2)
		assert_int_equal(mor_result_failed(result, unit, &fell, &err), 0);
	else
		done(result, unit, MOR_STREAM_PROTOBUF);
}

void finish(struct mor_result *result)
{
	mortise_error err = { 0 };

	if (mor_result_finish(result, mor_slice_of(""), &err) < 0)
		fail_msg("%s", err.text);
	mor_result_free(result);
}

void whole(enum mor_stream_format form, struct mor_buf *out)
{
	for (size_t i = 0; i < UNITS; i++)
		if (i != 2)
			unit_bytes(i, form, out);
}
