/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON texts that somebody has checked: pieces of them are found and copied, nothing is parsed. A result with a
 * text of a megabyte in it goes from the plugin to the output this way.
 */

#include "base/alloc.h"
#include "base/text.h"
#include "wire/scan.h"

#define OUTLINE_FROM 65536 /* smaller texts are parsed as fast as they are cut */

/* ---- members ---- */

static bool name_is(const char *name, struct mor_slice key, bool escaped)
{
	char plain[64];

	if (!escaped)
		return mor_slice_is(key, name);
	mor_scan_unescape(key, plain, sizeof(plain));
	return strcmp(plain, name) == 0;
}

static void take_member(struct mor_json_pick *picks, struct mor_slice key, bool escaped, struct mor_slice value)
{
	for (; picks->name; picks++)
		if (!picks->value.ptr && name_is(picks->name, key, escaped))
			picks->value = value;
}

/* A string is skipped, not scanned again: only its end matters. */
static mor_spot value_end(struct mor_scan *scan, mor_spot value)
{
	if (mor_scan_peek(value, scan->end) == '"')
		return (mor_spot)mor_scan_skip_string((const char *)value + 1, (const char *)scan->end);
	return mor_scan_value(scan, value, 1);
}

void mor_json_pick(struct mor_slice text, struct mor_json_pick *picks)
{
	struct mor_scan scan = mor_scan_init(text, MOR_ENV_NAN, MOR_JSON_DEPTH_MAX);
	mor_spot p = mor_scan_blanks(scan.begin, scan.end);

	for (struct mor_json_pick *pick = picks; pick->name; pick++)
		pick->value = (struct mor_slice){ 0 };
	if (mor_scan_peek(p, scan.end) != '{')
		return;
	do {
		struct mor_slice key;
		mor_spot value = mor_scan_key(&scan, p + 1, &key);
		bool escaped = scan.escaped;

		p = value ? value_end(&scan, value) : NULL;
		if (!p)
			return;
		take_member(picks, key, escaped,
			    (struct mor_slice){ (const char *)value, (size_t)(p - value) });
		p = mor_scan_blanks(p, scan.end);
	} while (mor_scan_peek(p, scan.end) == ',');
}

/* ---- strings ---- */

static struct mor_slice content_of(struct mor_slice string)
{
	return (struct mor_slice){ string.ptr + 1, string.len - 2 };
}

int mor_json_string_plain(struct mor_slice string, struct mor_buf *out)
{
	struct mor_slice content = content_of(string);
	mor_spot p = (mor_spot)content.ptr, end = p + content.len;
	int r = mor_buf_reserve(out, content.len); /* an escape is longer than what it stands for */
	char *to;

	if (r < 0 || !content.len)
		return r;
	to = out->data + out->len;
	while (p < end) {
		mor_spot escape = memchr(p, '\\', (size_t)(end - p));
		size_t plain = (size_t)((escape ? escape : end) - p), n;
		char piece[4];

		memcpy(to, p, plain);
		to += plain;
		p += plain;
		if (!escape)
			break;
		p += mor_scan_take_escape(p, end, piece, &n);
		memcpy(to, piece, n);
		to += n;
	}
	out->len = (size_t)(to - out->data);
	return 0;
}

/* Would we write this escape in the same way? */
static bool is_our_escape(mor_spot p, mor_spot end)
{
	static const char shorts[] = "\"\\bfnrt";
	int low;

	if (memchr(shorts, p[1], sizeof(shorts) - 1))
		return true;
	if (p[1] != 'u' || end - p < 6 || p[2] != '0' || p[3] != '0' || (p[4] != '0' && p[4] != '1'))
		return false;
	low = mor_hex_value((char)p[5]);
	if (low < 0 || (p[5] >= 'A' && p[5] <= 'F')) /* ours are small */
		return false;
	return !memchr("\b\f\n\r\t", (p[4] - '0') << 4 | low, 5);
}

static bool is_our_spelling(struct mor_slice content)
{
	mor_spot p = (mor_spot)content.ptr, end = p + content.len;

	while (p < end && (p = memchr(p, '\\', (size_t)(end - p)))) {
		if (!is_our_escape(p, end))
			return false;
		p += p[1] == 'u' ? 6 : 2;
	}
	return true;
}

int mor_json_string_again(struct mor_slice string, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf plain = MOR_BUF_INIT;
	int r;

	if (is_our_spelling(content_of(string)))
		return mor_buf_slice(out, string);
	r = mor_json_string_plain(string, &plain);
	return r < 0 ? (out->status = r) : mor_buf_json_string(out, mor_buf_view(&plain));
}

/* ---- outlines ---- */

/* Where a long content can be cut: between two characters, none of which is one half of an escape. */
static size_t cut_at(mor_spot p, mor_spot end)
{
	mor_spot begin = p;
	char piece[4];
	size_t n;

	while (p < end && p - begin < MOR_JSON_LONG) {
		n = *p == '\\' ? mor_scan_take_escape(p, end, piece, &n) :
				 mor_utf8_sequence((const char *)p, (size_t)(end - p));
		p += n ? n : 1;
	}
	return (size_t)(p - begin);
}

/* Copies the text without the rest of its long strings; nothing if it has none. `check`: of a text that
 * nobody has checked; false: one of its strings is wrong. */
static bool write_outline(struct mor_slice text, struct mor_scan *check, struct mor_buf *out)
{
	const char *p = text.ptr, *end = p + text.len, *kept = p;

	while (p < end && (p = memchr(p, '"', (size_t)(end - p)))) {
		const char *content = p + 1;

		p = check ? (const char *)mor_scan_string(check, (mor_spot)p) :
			    mor_scan_skip_string(content, end);
		if (!p)
			return false;
		if (p - content <= 2 * MOR_JSON_LONG)
			continue;
		content += cut_at((mor_spot)content, (mor_spot)p - 1);
		mor_buf_append(out, kept, (size_t)(content - kept));
		kept = p - 1; /* its closing quote */
	}
	if (kept > text.ptr)
		mor_buf_append(out, kept, (size_t)(end - kept));
	return true;
}

bool mor_json_outline(struct mor_slice text, struct mor_buf *out)
{
	struct mor_scan scan = mor_scan_init(text, 0, 0);

	if (write_outline(text, &scan, out) && out->len && !mor_buf_failed(out))
		return true;
	mor_buf_reset(out, 0);
	return false;
}

int mor_doc_outline(struct mor_slice text, unsigned flags, unsigned max_depth, struct mor_doc **ret,
		    mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf outline = MOR_BUF_INIT;

	if (text.len >= OUTLINE_FROM)
		write_outline(text, NULL, &outline);
	if (outline.len && !mor_buf_failed(&outline))
		text = mor_buf_view(&outline);
	return mor_doc_parse(text, flags, max_depth, ret, err);
}
