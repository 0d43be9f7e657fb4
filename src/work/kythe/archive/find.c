/* SPDX-License-Identifier: Apache-2.0 */
/* What a person typed for a unit or a file of an archive. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "kythe/archive/kzip.h"

typedef const char *digest_fn(const struct mor_kzip *kzip, size_t number);

/* By its digest or the first digits of it. If several match, it is an error. */
static int find_digest(const struct mor_kzip *kzip, const char *what, const char *typed, size_t count,
		       digest_fn *digest_of, size_t *ret, mortise_error *err)
{
	size_t len = strlen(typed), found = 0;

	for (size_t i = 0; i < count; i++) {
		if (strncmp(digest_of(kzip, i), typed, len) != 0)
			continue;
		*ret = i;
		found++;
	}
	if (found == 1)
		return 0;
	if (found == 0)
		return mor_fail(err, MORTISE_ENOTFOUND, "%s: no %s %s in it", mor_kzip_path(kzip), what, typed);
	return mor_fail(err, MORTISE_EINPUT, "%s: %zu %ss begin with %s: write more of it", mor_kzip_path(kzip),
			found, what, typed);
}

/* As spelled, or as the same path from the working directory, or as the path of its VName. */
static bool is_path(const struct mor_unit *unit, const struct mor_input *input, const char *typed)
{
	MOR_CLEAN(mor_buf) struct mor_buf a = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf b = MOR_BUF_INIT;

	if (strcmp(input->path, typed) == 0 || strcmp(input->vname.path, typed) == 0)
		return true;
	mor_path_clean(unit->working_directory, input->path, &a);
	mor_path_clean(unit->working_directory, typed, &b);
	return !mor_buf_failed(&a) && !mor_buf_failed(&b) && mor_slice_eq(mor_buf_view(&a), mor_buf_view(&b));
}

/* Notes the digest that this unit has for the path. If another unit has a different one, it is an error. */
static int look_in_unit(struct mor_kzip *kzip, size_t number, const char *typed, char digest[65],
			mortise_error *err)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	int r = mor_kzip_unit_read(kzip, number, &unit, err);

	for (size_t i = 0; r == 0 && i < unit->input_count; i++) {
		const struct mor_input *input = &unit->inputs[i];

		if (!is_path(unit, input, typed))
			continue;
		if (*digest && strcmp(digest, input->digest) != 0)
			return mor_fail(err, MORTISE_EINPUT,
					"%s: units have different contents for the path %s: choose one with "
					"--unit DIGEST",
					mor_kzip_path(kzip), typed);
		mor_printable(mor_slice_of(input->digest), digest, 65);
	}
	return r;
}

static int find_path(struct mor_kzip *kzip, size_t first, size_t end, const char *typed, char ret_digest[65],
		     mortise_error *err)
{
	int r = 0;

	for (size_t i = first; r == 0 && i < end; i++)
		r = look_in_unit(kzip, i, typed, ret_digest, err);
	if (r == 0 && !*ret_digest)
		r = mor_fail(err, MORTISE_ENOTFOUND, "%s: no file %s in it", mor_kzip_path(kzip), typed);
	return r;
}

int mor_kzip_find_typed(struct mor_kzip *kzip, const char *unit, const char *word, struct mor_kzip_found *ret,
			mortise_error *err)
{
	size_t first = 0, end = mor_kzip_unit_count(kzip), number = 0, digits = word ? mor_hex_count(word) : 0;
	int r = 0;

	*ret->file = '\0';
	if (unit) {
		r = find_digest(kzip, "unit", unit, end, mor_kzip_unit_digest, &ret->unit, err);
		first = ret->unit;
		end = first + 1;
	} else if (digits >= 8 && digits <= 64 && word[digits] == '\0') {
		r = find_digest(kzip, "file", word, mor_kzip_file_count(kzip), mor_kzip_file_digest, &number,
				err);
		if (r == 0)
			snprintf(ret->file, sizeof(ret->file), "%s", mor_kzip_file_digest(kzip, number));
		return r;
	}
	return r < 0 || !word ? r : find_path(kzip, first, end, word, ret->file, err);
}
