/* SPDX-License-Identifier: Apache-2.0 */
#include "store/semver.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define DECIMALS "0123456789"
#define WORD     DECIMALS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"

/* ---- versions ---- */

/* Without zeros before it. Returns its length, 0: not a number. */
static size_t number_length(const char *text)
{
	size_t len = strspn(text, DECIMALS);

	return len > 1 && *text == '0' ? 0 : len;
}

/* "rc.1" up to the end or to one of `ends`. `strict`: numbers have no zeros before them. NULL:
 * not such a text. */
static const char *skip_words(const char *text, const char *ends, bool strict)
{
	for (;; text++) {
		size_t len = strspn(text, WORD);

		if (!len || (strict && strspn(text, DECIMALS) == len && !number_length(text)))
			return NULL;
		text += len;
		if (!*text || strchr(ends, *text))
			return text;
		if (*text != '.')
			return NULL;
	}
}

/* What follows the numbers. */
static bool tail_valid(const char *text)
{
	if (text && *text == '-')
		text = skip_words(text + 1, "+", true);
	if (text && *text == '+')
		text = skip_words(text + 1, "", false);
	return text && !*text;
}

bool mor_semver_valid(const char *version)
{
	const char *at = version;

	for (int part = 0; part < 3; part++) {
		size_t len = number_length(at);

		if (!len || (part < 2 && at[len] != '.'))
			return false;
		at += len + (part < 2);
	}
	return strlen(version) <= MOR_STORE_VERSION_MAX && tail_valid(at);
}

/* ---- ranges ---- */

/* A version that may lack its last numbers. */
struct partial {
	uint64_t number[3];
	int parts;        /* how many there are */
	const char *tail; /* "-rc.1", or "" */
};

static bool parse_partial(const char *text, struct partial *ret)
{
	struct partial found = { .parts = 0 };

	for (; found.parts < 3; text++) {
		size_t len = number_length(text);
		uint64_t *number = &found.number[found.parts];

		if (!len || !mor_parse_u64((struct mor_slice){ text, len }, number) || *number == UINT64_MAX)
			return false;
		found.parts++;
		text += len;
		if (*text != '.')
			break;
	}
	found.tail = text;
	*ret = found;
	return found.parts == 3 ? tail_valid(text) : !*text;
}

static void add_bound(struct mor_semver_range *range, enum mor_semver_order order, const uint64_t number[3],
		      const char *tail)
{
	struct mor_semver_bound *bound = &range->bounds[range->count++];

	bound->order = order;
	snprintf(bound->version, sizeof(bound->version), "%" PRIu64 ".%" PRIu64 ".%" PRIu64 "%s", number[0],
		 number[1], number[2], tail);
}

/* From it on, and before the next one whose number `part` is larger. */
static void add_span(struct mor_semver_range *range, const struct partial *from, int part)
{
	uint64_t next[3] = { 0, 0, 0 };

	for (int i = 0; i <= part; i++)
		next[i] = from->number[i] + (i == part);
	add_bound(range, MOR_SEMVER_AT_LEAST, from->number, from->tail);
	add_bound(range, MOR_SEMVER_BELOW, next, "");
}

/* Only the end of that span: ">1.2" begins where "1.2" ends. */
static void add_edge(struct mor_semver_range *range, const struct partial *from, enum mor_semver_order order)
{
	uint64_t next[3] = { 0, 0, 0 };

	for (int i = 0; i < from->parts; i++)
		next[i] = from->number[i] + (i == from->parts - 1);
	add_bound(range, order, next, "");
}

/* The first number that must stay: that of the first one that is not 0, or the last one that there is. */
static int caret_part(const struct partial *from)
{
	for (int i = 0; i < from->parts; i++)
		if (from->number[i])
			return i;
	return from->parts - 1;
}

/* Longer signs first. */
static const struct range_sign {
	const char *sign;
	enum mor_semver_order order; /* of a whole version; spans have two bounds */
} signs[] = {
	{ ">=", MOR_SEMVER_AT_LEAST }, { "<=", MOR_SEMVER_UP_TO }, { ">", MOR_SEMVER_ABOVE },
	{ "<", MOR_SEMVER_BELOW },     { "^", MOR_SEMVER_EXACT },  { "~", MOR_SEMVER_EXACT },
	{ "=", MOR_SEMVER_EXACT },     { "", MOR_SEMVER_EXACT },
};

static void add_signed(struct mor_semver_range *range, const struct range_sign *sign,
		       const struct partial *from)
{
	bool partial = from->parts < 3;

	if (*sign->sign == '^')
		add_span(range, from, caret_part(from));
	else if (*sign->sign == '~')
		add_span(range, from, from->parts == 1 ? 0 : 1);
	else if (partial && sign->order == MOR_SEMVER_EXACT)
		add_span(range, from, from->parts - 1);
	else if (partial && sign->order == MOR_SEMVER_ABOVE)
		add_edge(range, from, MOR_SEMVER_AT_LEAST);
	else if (partial && sign->order == MOR_SEMVER_UP_TO)
		add_edge(range, from, MOR_SEMVER_BELOW);
	else
		add_bound(range, sign->order, from->number, from->tail);
}

static bool parse_part(struct mor_slice part, struct mor_semver_range *range)
{
	const struct range_sign *sign = signs;
	char text[MOR_STORE_VERSION_MAX + 1];
	struct partial from;

	part = mor_slice_trim(part, " ");
	while (strncmp(part.ptr, sign->sign, strlen(sign->sign)) != 0)
		sign++;
	part.ptr += strlen(sign->sign);
	part.len -= strlen(sign->sign);
	part = mor_slice_trim(part, " ");
	if (part.len >= sizeof(text) || range->count + 2 > MOR_SEMVER_BOUNDS)
		return false;
	memcpy(text, part.ptr, part.len);
	text[part.len] = '\0';
	if (!parse_partial(text, &from))
		return false;
	add_signed(range, sign, &from);
	return true;
}

int mor_semver_range_parse(const char *text, struct mor_semver_range *ret, mortise_error *err)
{
	struct mor_semver_range range = { .count = 0 };
	const char *at = text;
	char shown[100];

	if (text && strcmp(text, "*") != 0) {
		for (;;) {
			struct mor_slice part = { at, strcspn(at, ",") };

			if (!parse_part(part, &range))
				return mor_fail(err, MORTISE_EINVAL,
						"\"%s\" is no range of versions; write 1.2.3, 1.2, ^1.2, ~1.2, "
						"\">=1.2,<2\" or \"*\"",
						mor_excerpt(mor_slice_of(text), shown, sizeof(shown)));
			at += part.len;
			if (!*at++)
				break;
		}
	}
	*ret = range;
	return 0;
}

static bool bound_fits(const struct mor_semver_bound *bound, const char *version)
{
	int order = mor_store_compare_versions(version, bound->version);

	switch (bound->order) {
	case MOR_SEMVER_BELOW:
		return order < 0;
	case MOR_SEMVER_UP_TO:
		return order <= 0;
	case MOR_SEMVER_AT_LEAST:
		return order >= 0;
	case MOR_SEMVER_ABOVE:
		return order > 0;
	default:
		return order == 0;
	}
}

bool mor_semver_range_fits(const struct mor_semver_range *range, const char *version)
{
	size_t len = strcspn(version, "-+");
	/* "2.0.0-" of "2.0.0-rc.1"; 0: nothing leads to another version */
	size_t before = version[len] == '-' ? len + 1 : 0;
	bool asked = before == 0;

	for (size_t i = 0; i < range->count; i++) {
		if (!bound_fits(&range->bounds[i], version))
			return false;
		asked = asked || strncmp(range->bounds[i].version, version, before) == 0;
	}
	return asked;
}
