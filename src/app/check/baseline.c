/* SPDX-License-Identifier: Apache-2.0 */
/* Expected failures. A list that is too long hides things, so an entry that no longer fails is a failure. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "check/own.h"

#define BASELINE_LIMIT ((size_t)1 << 20)

static struct mor_check_result *find_result(struct mor_check_report *report, struct mor_slice id)
{
	for (size_t i = 0; i < report->count; i++)
		if (mor_slice_is(id, report->item[i].id))
			return &report->item[i];
	return NULL;
}

static bool is_check(struct mor_slice id)
{
	struct mor_check_report all = { 0 };
	bool found;

	mor_check_list(NULL, false, &all, NULL);
	mor_check_list(NULL, true, &all, NULL);
	found = find_result(&all, id) != NULL;
	mor_check_report_fini(&all);
	return found;
}

/* Entries of other dialects, and those that --only left out, are not judged. */
static int take_entry(const char *path, unsigned line, struct mor_slice id, struct mor_check_report *report,
		      mortise_error *err)
{
	struct mor_check_result *result = find_result(report, id);

	if (!result && !is_check(id))
		return mor_fail(err, MORTISE_EINPUT, "%s:%u: there is no check \"%.*s\"; --list shows all",
				path, line, (int)id.len, id.ptr);
	if (!result || result->verdict == MOR_CHECK_UNSEEN)
		return 0;
	if (result->verdict == MOR_CHECK_FAIL || result->verdict == MOR_CHECK_WARN) {
		result->expected = true;
		return 0;
	}
	return mor_texts_push_take(&report->stale, mor_strndup(id.ptr, id.len)) < 0 ? mor_fail_memory(err) : 0;
}

int mor_check_baseline_read(const char *path, struct mor_check_report *report, mortise_error *err)
{
	MOR_CLEAN_TEXT char *text = NULL;
	struct mor_slice rest = { 0 };
	unsigned line = 0;
	int r = mor_fd_read_file(path, BASELINE_LIMIT, &text, &rest.len);

	if (r < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, -r, "--baseline %s", path);
	rest.ptr = text;
	while (r == 0 && rest.len) {
		struct mor_slice whole = mor_slice_cut(&rest, '\n');
		struct mor_slice id = mor_slice_trim(mor_slice_cut(&whole, '#'), " \t\r");

		line++;
		if (id.len)
			r = take_entry(path, line, id, report, err);
	}
	mor_check_count(report);
	return r;
}

void mor_check_baseline_write(const struct mor_check_report *report, struct mor_buf *out)
{
	char subject[MOR_CHECK_CLEAN];

	mor_buf_printf(out, "# Failures of %s that are expected: mortise check --baseline FILE\n",
		       report->subject ? mor_check_clean(report->subject, subject) : "a plugin");
	for (size_t i = 0; i < report->count; i++)
		if (report->item[i].verdict == MOR_CHECK_FAIL || report->item[i].verdict == MOR_CHECK_WARN)
			mor_buf_printf(out, "%s  # %s\n", report->item[i].id, report->item[i].title);
}
