/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/drive/inside.h"

static struct mor_entries begin_entries(const struct mor_result_pass *pass, mor_read_fn *read)
{
	return (struct mor_entries){ .records = { .read = read,
						  .arg = pass->arg,
						  .format = (enum mor_stream_format)pass->form,
						  .buf = pass->buffer } };
}

static int end_entries(struct mor_result_pass *pass, struct mor_entries *entries, int r)
{
	pass->records = entries->records.count;
	pass->buffer = entries->records.buf;
	entries->records.buf = (struct mor_buf)MOR_BUF_INIT;
	mor_entries_fini(entries);
	return r;
}

static int check_entries(struct mor_result_pass *pass, mortise_error *err)
{
	struct mor_entries entries = begin_entries(pass, pass->copy);
	int r;

	do
		r = mor_entries_skip(&entries, err);
	while (r > 0);
	return end_entries(pass, &entries, r);
}

static int check_records(struct mor_result_pass *pass, mortise_error *err)
{
	struct mor_entries entries = begin_entries(pass, pass->copy);
	struct mor_slice record;
	int r;

	do
		r = mor_records_next(&entries.records, &record, err);
	while (r > 0);
	return end_entries(pass, &entries, r);
}

static int convert_entries(struct mor_result_pass *pass, enum mor_stream_format to, mortise_error *err)
{
	struct mor_entries entries = begin_entries(pass, pass->read);

	return end_entries(pass, &entries, mor_entries_convert(&entries, to, pass->put, pass->arg, NULL, err));
}

static int pass_entries(struct mor_result_pass *pass, mortise_error *err)
{
	return pass->form == MOR_STREAM_PROTOBUF ? check_entries(pass, err) :
						   convert_entries(pass, MOR_STREAM_PROTOBUF, err);
}

static int pass_json(struct mor_result_pass *pass, mortise_error *err)
{
	return convert_entries(pass, MOR_STREAM_LINES, err);
}

const struct mor_result_check mor_driver_checks[MOR_DRIVER_FORMATS] = {
	[MOR_DRIVER_ENTRIES] = { MOR_STREAM_PROTOBUF, pass_entries },
	[MOR_DRIVER_JSON] = { MOR_RESULT_NO_FORM, pass_json },
	[MOR_DRIVER_RAW] = { MOR_RESULT_ANY_FORM, check_records },
};
