/* SPDX-License-Identifier: Apache-2.0 */
/* The order of versions: Semantic Versioning 2.0.0, section 11, as far as a version keeps to it. */
#include <string.h>

#include "store/store.h"

static size_t digit_count(struct mor_slice part)
{
	size_t count = 0;

	while (count < part.len && part.ptr[count] >= '0' && part.ptr[count] <= '9')
		count++;
	return count;
}

static int sign(int number)
{
	return (number > 0) - (number < 0);
}

static int compare_numbers(struct mor_slice a, struct mor_slice b)
{
	while (a.len > 1 && *a.ptr == '0')
		a = (struct mor_slice){ a.ptr + 1, a.len - 1 };
	while (b.len > 1 && *b.ptr == '0')
		b = (struct mor_slice){ b.ptr + 1, b.len - 1 };
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	return sign(memcmp(a.ptr, b.ptr, a.len));
}

/* Numbers come before words. */
static int compare_parts(struct mor_slice a, struct mor_slice b)
{
	bool a_number = a.len && digit_count(a) == a.len, b_number = b.len && digit_count(b) == b.len;
	size_t least = a.len < b.len ? a.len : b.len;
	int order;

	if (a_number && b_number)
		return compare_numbers(a, b);
	if (a_number != b_number)
		return a_number ? -1 : 1;
	order = sign(memcmp(a.ptr, b.ptr, least));
	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static struct mor_slice next_part(struct mor_slice *rest)
{
	size_t len = 0;
	struct mor_slice part;

	while (len < rest->len && rest->ptr[len] != '.')
		len++;
	part = (struct mor_slice){ rest->ptr, len };
	len += len < rest->len;
	*rest = (struct mor_slice){ rest->ptr + len, rest->len - len };
	return part;
}

/* `missing`: what a part counts as that only one has; NULL: the longer one is newer. */
static int compare_lists(struct mor_slice a, struct mor_slice b, const char *missing)
{
	int order = 0;

	while (order == 0 && (a.len || b.len)) {
		struct mor_slice one = next_part(&a), other = next_part(&b);

		if (!one.len || !other.len) {
			if (!missing)
				return one.len ? 1 : -1;
			one = one.len ? one : mor_slice_of(missing);
			other = other.len ? other : mor_slice_of(missing);
		}
		order = compare_parts(one, other);
	}
	return order;
}

/* "1.2.0-rc.1+build": what is behind "+" does not count. */
static void split_version(const char *version, struct mor_slice *release, struct mor_slice *before)
{
	size_t len = strcspn(version, "+"), dash = strcspn(version, "-+");

	*release = (struct mor_slice){ version + (*version == 'v'), dash - (*version == 'v' && dash) };
	*before = dash < len ? (struct mor_slice){ version + dash + 1, len - dash - 1 } :
			       (struct mor_slice){ NULL, 0 };
}

int mor_store_compare_versions(const char *a, const char *b)
{
	struct mor_slice a_release, a_before, b_release, b_before;
	int order;

	split_version(a, &a_release, &a_before);
	split_version(b, &b_release, &b_before);
	order = compare_lists(a_release, b_release, "0");
	if (order)
		return order;
	if (!a_before.ptr || !b_before.ptr) /* a version comes after all that lead to it */
		return (b_before.ptr != NULL) - (a_before.ptr != NULL);
	return compare_lists(a_before, b_before, NULL);
}
