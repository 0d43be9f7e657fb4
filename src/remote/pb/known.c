/* SPDX-License-Identifier: Apache-2.0 */
#include "pb/known.h"

#include <ctype.h>
#include <stdio.h>
#include <time.h>

#include "base/text.h"

#define SECOND_MIN   (-62135596800) /* 0001-01-01T00:00:00Z */
#define SECOND_MAX   253402300799   /* 9999-12-31T23:59:59Z */
#define DURATION_MAX 315576000000   /* 10,000 years */
#define NANOS        1000000000

/* ".021", with as few groups of three digits as it needs. */
static void fraction_text(int32_t nanos, char out[16])
{
	if (nanos == 0)
		out[0] = '\0';
	else if (nanos % 1000000 == 0)
		snprintf(out, 16, ".%03d", nanos / 1000000);
	else if (nanos % 1000 == 0)
		snprintf(out, 16, ".%06d", nanos / 1000);
	else
		snprintf(out, 16, ".%09d", nanos);
}

bool mor_pb_timestamp_text(struct mor_pb_time time, char out[MOR_PB_TIME_TEXT])
{
	char fraction[16];
	time_t seconds = time.seconds;
	struct tm tm;

	if (time.seconds < SECOND_MIN || time.seconds > SECOND_MAX || time.nanos < 0 || time.nanos >= NANOS ||
	    !gmtime_r(&seconds, &tm))
		return false;
	fraction_text(time.nanos, fraction);
	snprintf(out, MOR_PB_TIME_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d%sZ", tm.tm_year + 1900, tm.tm_mon + 1,
		 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, fraction);
	return true;
}

/* Cuts `count` digits, and the character behind them unless it is NUL. -1: they are not there. */
static int cut_digits(struct mor_slice *text, unsigned count, char then)
{
	int number = 0;

	if (text->len < count + (then != '\0'))
		return -1;
	for (unsigned i = 0; i < count; i++) {
		if (!isdigit((unsigned char)text->ptr[i]))
			return -1;
		number = number * 10 + (text->ptr[i] - '0');
	}
	if (then && text->ptr[count] != then)
		return -1;
	count += then != '\0';
	*text = (struct mor_slice){ text->ptr + count, text->len - count };
	return number;
}

/* ".5" -> 500000000; no point: 0. */
static bool cut_fraction(struct mor_slice *text, int32_t *ret)
{
	int32_t nanos = 0;
	unsigned digits = 0;

	*ret = 0;
	if (!text->len || text->ptr[0] != '.')
		return true;
	*text = (struct mor_slice){ text->ptr + 1, text->len - 1 };
	for (; digits < text->len && digits < 9 && isdigit((unsigned char)text->ptr[digits]); digits++)
		nanos = nanos * 10 + (text->ptr[digits] - '0');
	*text = (struct mor_slice){ text->ptr + digits, text->len - digits };
	for (unsigned i = digits; i < 9; i++)
		nanos *= 10;
	*ret = nanos;
	return digits > 0;
}

/* "Z" or "+02:00" to the end, as seconds that the text is ahead. */
static bool cut_offset(struct mor_slice text, int64_t *ret)
{
	int sign, hours, minutes;

	*ret = 0;
	if (mor_slice_is(text, "Z"))
		return true;
	if (text.len != 6 || (text.ptr[0] != '+' && text.ptr[0] != '-'))
		return false;
	sign = text.ptr[0] == '-' ? -1 : 1;
	text = (struct mor_slice){ text.ptr + 1, 5 };
	hours = cut_digits(&text, 2, ':');
	minutes = cut_digits(&text, 2, '\0');
	*ret = (int64_t)sign * (hours * 60 + minutes) * 60;
	return hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

bool mor_pb_timestamp_parse(struct mor_slice text, struct mor_pb_time *ret)
{
	struct tm tm = { 0 }, asked;
	int64_t offset;
	int year = cut_digits(&text, 4, '-');

	tm.tm_year = year - 1900;
	tm.tm_mon = cut_digits(&text, 2, '-') - 1;
	tm.tm_mday = cut_digits(&text, 2, 'T');
	tm.tm_hour = cut_digits(&text, 2, ':');
	tm.tm_min = cut_digits(&text, 2, ':');
	tm.tm_sec = cut_digits(&text, 2, '\0');
	if (year < 1 || !cut_fraction(&text, &ret->nanos) || !cut_offset(text, &offset))
		return false;
	asked = tm;
	ret->seconds = timegm(&tm);
	/* timegm() makes a date of anything; what it had to change was no date. */
	if (tm.tm_mon != asked.tm_mon || tm.tm_mday != asked.tm_mday || tm.tm_hour != asked.tm_hour ||
	    tm.tm_min != asked.tm_min || tm.tm_sec != asked.tm_sec)
		return false;
	ret->seconds -= offset;
	return ret->seconds >= SECOND_MIN && ret->seconds <= SECOND_MAX;
}

bool mor_pb_duration_text(struct mor_pb_time time, char out[MOR_PB_TIME_TEXT])
{
	bool minus = time.seconds < 0 || time.nanos < 0;
	char fraction[16];

	if (time.seconds < -DURATION_MAX || time.seconds > DURATION_MAX || time.nanos <= -NANOS ||
	    time.nanos >= NANOS || (minus && (time.seconds > 0 || time.nanos > 0)))
		return false;
	fraction_text(minus ? -time.nanos : time.nanos, fraction);
	snprintf(out, MOR_PB_TIME_TEXT, "%s%lld%ss", minus ? "-" : "",
		 (long long)(minus ? -time.seconds : time.seconds), fraction);
	return true;
}

bool mor_pb_duration_parse(struct mor_slice text, struct mor_pb_time *ret)
{
	bool minus = text.len && text.ptr[0] == '-';
	size_t digits = 0;
	uint64_t seconds;

	if (minus)
		text = (struct mor_slice){ text.ptr + 1, text.len - 1 };
	while (digits < text.len && isdigit((unsigned char)text.ptr[digits]))
		digits++;
	if (!mor_parse_u64((struct mor_slice){ text.ptr, digits }, &seconds) || seconds > DURATION_MAX)
		return false;
	text = (struct mor_slice){ text.ptr + digits, text.len - digits };
	if (!cut_fraction(&text, &ret->nanos) || !mor_slice_is(text, "s"))
		return false;
	ret->seconds = minus ? -(int64_t)seconds : (int64_t)seconds;
	ret->nanos = minus ? -ret->nanos : ret->nanos;
	return true;
}

/* Not isupper() and its like: they know the letters of a locale. */
static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

bool mor_pb_path_to_camel(struct mor_slice path, struct mor_buf *out)
{
	for (size_t i = 0; i < path.len; i++) {
		char c = path.ptr[i];

		if (is_upper(c))
			return false;
		if (c == '_') {
			if (++i == path.len || path.ptr[i] < 'a' || path.ptr[i] > 'z')
				return false;
			c = (char)(path.ptr[i] - 'a' + 'A');
		}
		mor_buf_byte(out, c);
	}
	return mor_utf8_valid(path);
}

bool mor_pb_path_from_camel(struct mor_slice path, struct mor_buf *out)
{
	for (size_t i = 0; i < path.len; i++) {
		char c = path.ptr[i];

		if (c == '_')
			return false;
		if (is_upper(c))
			mor_buf_byte(out, '_');
		mor_buf_byte(out, is_upper(c) ? (char)(c - 'A' + 'a') : c);
	}
	return true;
}
