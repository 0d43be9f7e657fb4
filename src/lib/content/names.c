/* SPDX-License-Identifier: Apache-2.0 */
#include "content/names.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

struct code_range {
	uint32_t first, last;
};

/* What a person does not see, or what makes a line read as another one: Unicode 15, the categories Cf, Zl
 * and Zp and the property Default_Ignorable_Code_Point, and the blanks that are no blanks (Hangul
 * fillers, the empty Braille cell). Sorted. More than what mor_printable() hides: a name must be one that
 * nobody mistakes. */
static const struct code_range invisible[] = {
	{ 0x00ad, 0x00ad },   { 0x034f, 0x034f },   { 0x0600, 0x0605 },   { 0x061c, 0x061c },
	{ 0x06dd, 0x06dd },   { 0x070f, 0x070f },   { 0x0890, 0x0891 },   { 0x08e2, 0x08e2 },
	{ 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x200b, 0x200f },
	{ 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x2800, 0x2800 },   { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb },
	{ 0xfffe, 0xffff },   { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1343f },
	{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};
/* Characters that look like the blank. */
static const struct code_range blanks[] = {
	{ 0x0020, 0x0020 }, { 0x00a0, 0x00a0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200a },
	{ 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool in_ranges(uint32_t code, const struct code_range *table, size_t count)
{
	for (size_t i = 0; i < count && code >= table[i].first; i++)
		if (code <= table[i].last)
			return true;
	return false;
}

static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

const char *mor_content_name_show(struct mor_slice name, char *out, size_t out_size)
{
	size_t used = 0, keep = 0, i = 0;

	while (out_size && i < name.len) {
		char piece[16];
		size_t n = mor_utf8_sequence(name.ptr + i, name.len - i), step = n ? n : 1, width;
		uint32_t code = n ? mor_utf8_code(name.ptr + i, n) : 0;

		if (!n || is_control(code))
			for (width = 0; width < 4 * step; width += 4)
				snprintf(piece + width, 5, "\\x%02x", (unsigned char)name.ptr[i + width / 4]);
		else if (in_ranges(code, invisible, COUNT(invisible)))
			width = (size_t)snprintf(piece, sizeof(piece), "<U+%04X>", (unsigned)code);
		else
			memcpy(piece, name.ptr + i, width = n);
		if (used + width >= out_size)
			break;
		memcpy(out + used, piece, width);
		used += width;
		i += step;
		if (used + 3 < out_size)
			keep = used; /* the last place where "..." would still fit */
	}
	if (i < name.len && out_size > 3) {
		memcpy(out + keep, "...", 3);
		used = keep + 3;
	}
	if (out_size)
		out[used] = '\0';
	return out;
}

/* Without the case of ASCII: `text` is lower-case. */
static bool same_word(struct mor_slice name, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < name.len && i < len; i++) {
		char c = name.ptr[i];

		if ((c >= 'A' && c <= 'Z' ? c | 0x20 : c) != text[i])
			return false;
	}
	return name.len == len;
}

/* "com1", "LPT9", and with the superscripts 1, 2 and 3, which Windows takes for digits (U+00B9,
 * U+00B2, U+00B3) */
static bool is_port(struct mor_slice stem)
{
	struct mor_slice word = { stem.ptr, 3 };
	const char *digit = stem.ptr + 3;

	if (stem.len < 4 || (!same_word(word, "com") && !same_word(word, "lpt")))
		return false;
	if (stem.len == 4)
		return *digit >= '0' && *digit <= '9';
	return stem.len == 5 && digit[0] == '\xc2' &&
	       (digit[1] == '\xb9' || digit[1] == '\xb2' || digit[1] == '\xb3');
}

/* Windows opens a device by such a name, in every directory and with every ending. */
static bool is_device(struct mor_slice name)
{
	static const char *const words[] = { "con", "prn", "aux", "nul", "conin$", "conout$", "clock$" };
	const char *dot = memchr(name.ptr, '.', name.len);
	struct mor_slice stem = { name.ptr, dot ? (size_t)(dot - name.ptr) : name.len };

	while (stem.len && stem.ptr[stem.len - 1] == ' ')
		stem.len--;
	for (size_t i = 0; i < COUNT(words); i++)
		if (same_word(stem, words[i]))
			return true;
	return is_port(stem);
}

static const char *character_fault(uint32_t code, bool last)
{
	if (is_control(code))
		return "has a control character";
	if (code == '\\')
		return "has a backslash, which parts directories on Windows";
	if (in_ranges(code, invisible, COUNT(invisible)))
		return "has an invisible character";
	if (last && (code == '.' || in_ranges(code, blanks, COUNT(blanks))))
		return "has a name that ends with a dot or a blank";
	return NULL;
}

/* What is wrong with one name of the path, as the end of a sentence. */
static const char *name_fault(struct mor_slice name)
{
	const char *why;

	if (name.len == 0)
		return "has an empty name";
	if (mor_slice_is(name, "."))
		return "has the name \".\"";
	if (mor_slice_is(name, ".."))
		return "leads out of the plugin with \"..\"";
	if (name.len > MOR_CONTENT_NAME_BYTES)
		return "has a name of more than 255 bytes";
	for (size_t i = 0, n; i < name.len; i += n) {
		n = mor_utf8_sequence(name.ptr + i, name.len - i);
		if (!n)
			return "is not UTF-8";
		why = character_fault(mor_utf8_code(name.ptr + i, n), i + n == name.len);
		if (why)
			return why;
	}
	if (name.len >= 2 && name.ptr[1] == ':' && (name.ptr[0] | 0x20) >= 'a' && (name.ptr[0] | 0x20) <= 'z')
		return "has a name with a drive letter";
	return is_device(name) ? "has a name that Windows reserves" : NULL;
}

static const char *path_fault(struct mor_slice path)
{
	if (path.len == 0)
		return "is empty";
	if (path.ptr[0] == '/')
		return "is an absolute path";
	if (path.len > MOR_CONTENT_PATH_BYTES)
		return "is longer than 4,096 bytes";
	if (memmem(path.ptr, path.len, " -> ", 4))
		return "has \" -> \" in it, which marks links";
	for (;;) {
		const char *slash = memchr(path.ptr, '/', path.len);
		struct mor_slice name = { path.ptr, slash ? (size_t)(slash - path.ptr) : path.len };
		const char *why = name_fault(name);

		if (why || !slash)
			return why;
		path = (struct mor_slice){ slash + 1, path.len - name.len - 1 };
	}
}

int mor_content_name_check_slice(struct mor_slice path, mortise_error *err)
{
	const char *why = path_fault(path);
	char shown[200];

	if (!why)
		return 0;
	return mor_fail(err, MORTISE_EINPUT, "\"%s\" %s", mor_content_name_show(path, shown, sizeof(shown)),
			why);
}

int mor_content_name_check(const char *path, mortise_error *err)
{
	return mor_content_name_check_slice(mor_slice_of(path), err);
}
