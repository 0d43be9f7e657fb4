/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that gets single bytes must say the same as one that gets everything at once. So each verdict
 * depends only on the bytes from the window's beginning up to a place that those bytes themselves fix, and
 * it is given when that place has been seen. No later byte may count. So sizes of noise and of oversize
 * lines are cut at fixed places, never at the present end of the data. The end of the stream may only decide
 * what would otherwise stay MORE. tests/fuzz/fuzz_framing.c checks this.
 */
#include "wire/framing.h"

#include <string.h>
#include <strings.h>

#include "base/apart.h"
#include "base/text.h"

void mor_deframer_init(struct mor_deframer *deframer, enum mor_framing framing, size_t limit, unsigned flags)
{
	/* A limit that no window can reach means no limit; sums with it would overflow. */
	if (limit > SIZE_MAX / 2)
		limit = 0;
	*deframer = (struct mor_deframer){ .framing = framing, .flags = flags, .limit = limit };
}

/* What the reader works on: the deframer and the arguments of one call. */
struct header_look {
	struct mor_deframer *d;
	const char *window;
	size_t len;
	bool at_eof;
	struct mor_item *item;
};

/* ---- Verdicts. After each of them except MORE, a new item begins. ---- */

static enum mor_item_kind say_more(const struct header_look *look, size_t scanned, size_t want)
{
	look->d->scanned = scanned;
	look->item->want = want;
	return MOR_ITEM_MORE;
}

static enum mor_item_kind found_item(const struct header_look *look, enum mor_item_kind kind, size_t body,
				     size_t len, size_t used)
{
	look->d->scanned = look->d->blanks = look->d->depth = 0;
	look->d->in_string = look->d->escaped = false;
	look->item->body = (struct mor_slice){ look->window + body, len };
	look->item->used = used;
	return kind;
}

static enum mor_item_kind say_corrupt(const struct header_look *look, const char *why)
{
	look->item->why = why;
	return found_item(look, MOR_ITEM_CORRUPT, 0, look->len, look->len);
}

/* The first `used` bytes are not a frame. */
static enum mor_item_kind say_noise(const struct header_look *look, size_t used)
{
	size_t len = used;

	if (len && look->window[len - 1] == '\n')
		len--;
	if (len && look->window[len - 1] == '\r')
		len--;
	return found_item(look, MOR_ITEM_NOISE, 0, len, used);
}

/* ---- Parts that several framings share ---- */

/* Index of the first newline; no byte is read twice. SIZE_MAX: none so far. */
static size_t find_newline(const struct header_look *look)
{
	size_t from = look->d->scanned;
	const char *found = from < look->len ? memchr(look->window + from, '\n', look->len - from) : NULL;

	return found ? (size_t)(found - look->window) : SIZE_MAX;
}

/* Index of the first byte that is not a blank, or MOR_NOISE_MAX; no byte is read twice. */
static size_t pass_blanks(const struct header_look *look)
{
	const char *w = look->window;
	size_t i = look->d->blanks;

	while (i < look->len && i < MOR_NOISE_MAX && (w[i] == ' ' || w[i] == '\t' || w[i] == '\r'))
		i++;
	look->d->blanks = i;
	return i;
}

/* The line at the beginning of the window is known not to be a frame. */
static enum mor_item_kind noise_line(const struct header_look *look, const char *why)
{
	size_t newline;

	if (look->d->flags & MOR_DEFRAME_STRICT)
		return say_corrupt(look, why);
	newline = find_newline(look);
	if (newline <= MOR_NOISE_MAX)
		return say_noise(look, newline + 1);
	if (look->len > MOR_NOISE_MAX) {
		look->d->skip_line = true;
		return say_noise(look, MOR_NOISE_MAX);
	}
	return look->at_eof ? say_noise(look, look->len) : say_more(look, look->len, 0);
}

static const char over_limit[] = "announces a message over the limit (limits.frame)";

static size_t limit_of(const struct mor_deframer *deframer)
{
	return deframer->limit ? deframer->limit : SIZE_MAX / 2;
}

/* A frame whose size comes before it, in `head` bytes. */
static enum mor_item_kind sized(const struct header_look *look, size_t head, uint64_t size)
{
	/* With STRICT it is reported: an empty body is a frame, but not a message. */
	if (size == 0)
		return found_item(look, look->d->flags & MOR_DEFRAME_STRICT ? MOR_ITEM_FRAME : MOR_ITEM_BLANK,
				  head, 0, head);
	if (size > limit_of(look->d) && (look->d->flags & MOR_DEFRAME_STRICT))
		return say_corrupt(look, over_limit);
	if (size > limit_of(look->d)) {
		look->d->skip = size;
		look->item->size = size;
		return found_item(look, MOR_ITEM_TOO_BIG, head, 0, head);
	}
	if (size > look->len - head)
		return look->at_eof ? say_corrupt(look, "truncated") : say_more(look, 0, head + (size_t)size);
	return found_item(look, MOR_ITEM_FRAME, head, (size_t)size, head + (size_t)size);
}

static enum mor_item_kind skip_some(const struct header_look *look)
{
	struct mor_deframer *d = look->d;
	size_t used = look->len;

	if (d->skip_line) {
		const char *newline = memchr(look->window, '\n', look->len);

		d->skip_line = !newline;
		if (newline)
			used = (size_t)(newline - look->window) + 1;
	} else {
		if (used > d->skip)
			used = (size_t)d->skip;
		d->skip -= used;
	}
	return found_item(look, MOR_ITEM_SKIP, 0, 0, used);
}

/* ---- lines ---- */

/* A line that begins like JSON. Whether it is too big is decided from its first limit + 2 bytes, so that the
 * verdict does not depend on how much is here. A CR at the limit may still belong to the line end. */
static enum mor_item_kind json_line(const struct header_look *look)
{
	size_t limit = look->d->limit, newline = find_newline(look);
	size_t seen = newline == SIZE_MAX ? look->len : newline;

	if (limit && (seen > limit + 1 || (seen == limit + 1 && look->window[limit] != '\r'))) {
		look->d->skip_line = true;
		return found_item(look, MOR_ITEM_TOO_BIG, 0, limit + 1, limit + 1);
	}
	if (newline == SIZE_MAX)
		return look->at_eof ? say_corrupt(look, "truncated") : say_more(look, look->len, 0);
	if (look->window[newline - 1] == '\r')
		seen--;
	return found_item(look, MOR_ITEM_FRAME, 0, seen, newline + 1);
}

/* Counts brackets opened and closed up to `end`, from the place of the last look. */
static void count_brackets(const struct header_look *look, size_t end)
{
	struct mor_deframer *d = look->d;

	for (size_t i = d->scanned; i < end; i++) {
		char c = look->window[i];

		if (d->in_string) {
			d->in_string = d->escaped || c != '"';
			d->escaped = !d->escaped && c == '\\';
		} else if (c == '"') {
			d->in_string = true;
		} else if (c == '{' || c == '[') {
			d->depth++;
		} else if ((c == '}' || c == ']') && d->depth) {
			d->depth--;
		}
	}
}

/* The first `len` bytes without the blanks at their end. */
static enum mor_item_kind whole_text(const struct header_look *look, size_t len, size_t used)
{
	const char *w = look->window;

	while (len && (w[len - 1] == ' ' || w[len - 1] == '\t' || w[len - 1] == '\r' || w[len - 1] == '\n'))
		len--;
	return found_item(look, MOR_ITEM_FRAME, 0, len, used);
}

/* A JSON text over as many lines as its brackets need. A string cannot contain a raw newline, so an open
 * quote ends with its line. */
static enum mor_item_kind json_text(const struct header_look *look)
{
	struct mor_deframer *d = look->d;
	size_t newline;

	while ((newline = find_newline(look)) != SIZE_MAX && !d->single) {
		if (d->limit && newline > d->limit)
			break;
		count_brackets(look, newline);
		d->in_string = d->escaped = false;
		d->scanned = newline + 1;
		if (d->depth == 0)
			return whole_text(look, newline, newline + 1);
	}
	if (d->limit && (newline == SIZE_MAX ? look->len : newline) > d->limit) {
		d->skip_line = true;
		return found_item(look, MOR_ITEM_TOO_BIG, 0, d->limit + 1, d->limit + 1);
	}
	if (!d->single)
		count_brackets(look, look->len);
	if (!look->at_eof)
		return say_more(look, look->len, 0);
	if (d->depth == 0 && newline == SIZE_MAX)
		return whole_text(look, look->len, look->len);
	/* From now on each line alone: searching for the end of every bracket again could take unlimited
	 * time. */
	d->single = true;
	d->scanned = 0;
	newline = find_newline(look);
	return newline == SIZE_MAX ? say_corrupt(look, "truncated") : whole_text(look, newline, newline + 1);
}

static enum mor_item_kind deframe_line(const struct header_look *look)
{
	const char *w = look->window;
	size_t i = pass_blanks(look);

	if (i == MOR_NOISE_MAX)
		return found_item(look, MOR_ITEM_BLANK, 0, 0, i);
	if (i == look->len)
		return look->at_eof ? found_item(look, MOR_ITEM_BLANK, 0, 0, i) : say_more(look, 0, 0);
	if (w[i] == '\n')
		return found_item(look, MOR_ITEM_BLANK, 0, 0, i + 1);
	if (w[i] == '{' || w[i] == '[')
		return look->d->flags & MOR_DEFRAME_EOF_ENDS ? json_text(look) : json_line(look);
	return noise_line(look, "line is no JSON object or array");
}

/* ---- decimal ---- */

#define MOST_DIGITS 19 /* every such number fits 64 bits */

/* Wrong as soon as a digit shows it: the newline at the end may never come. */
static enum mor_item_kind deframe_decimal(const struct header_look *look)
{
	static const char why[] = "length tag is no minimum-width decimal number";
	bool strict = look->d->flags & MOR_DEFRAME_STRICT;
	const char *w = look->window;
	uint64_t size = 0;
	size_t i = 0;

	for (; i < look->len && w[i] >= '0' && w[i] <= '9'; i++) {
		if (i == MOST_DIGITS || (i && w[0] == '0' && !(look->d->flags & MOR_DEFRAME_LEADING_ZEROS)))
			return noise_line(look, why);
		size = size * 10 + (uint64_t)(w[i] - '0');
		if (strict && size > limit_of(look->d))
			return say_corrupt(look, over_limit);
	}
	if (i == look->len)
		return look->at_eof ? say_corrupt(look, "truncated") : say_more(look, 0, 0);
	if (i == 0 && w[0] == '\n' && !strict)
		return found_item(look, MOR_ITEM_BLANK, 0, 0, 1);
	if (i == 0 || w[i] != '\n')
		return noise_line(look, why);
	return sized(look, i + 1, size);
}

/* ---- be32 ---- */

static uint32_t be32_at(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Can a body begin with this byte? memchr over the literal would also match its NUL. */
static bool body_begins(char c)
{
	return c == '{' || c == '[' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Bytes of printed text: no controls except blanks and ESC, and no byte that UTF-8 never has. */
static bool is_text(unsigned char c)
{
	return (c >= 0x20 && c != 0x7f && c != 0xc0 && c != 0xc1 && c < 0xf5) || c == '\t' || c == '\n' ||
	       c == '\r' || c == 0x1b;
}

/* Printed text has no bytes this low, but headers of frames below 144 MiB begin with one. */
static bool is_low(char c)
{
	return (unsigned char)c < 0x09;
}

static bool is_over(const struct header_look *look, uint32_t size)
{
	return look->d->limit && size > look->d->limit;
}

/* Do these five bytes begin a frame? A frame over the limit must look like JSON at once, because it is
 * skipped without reading it. */
static bool begins_frame(const struct header_look *look, const char *w)
{
	uint32_t size = be32_at(w);

	if (!size)
		return false;
	return is_over(look, size) ? w[4] == '{' || w[4] == '[' : body_begins(w[4]);
}

/* Four printable bytes are not a length ("INFO[0000] up"). And a high first byte may be the end of printed
 * text without newline, with the real header after it: reading "\n\0\0\1{{" wrongly would skip 160 MB. */
static bool is_high_header(const struct header_look *look, size_t len)
{
	const char *w = look->window;
	bool text = true;

	for (size_t i = 0; i < 4; i++)
		text = text && is_text((unsigned char)w[i]);
	for (size_t i = 1; i < 4 && !text; i++)
		text = i + 5 <= len && is_low(w[i]) && !is_over(look, be32_at(w + i)) &&
		       begins_frame(look, w + i);
	return !text && begins_frame(look, w);
}

/* Noise from the window's first byte: up to a header, a newline or the limit of one item. A length of 0 is
 * not a header here: runs of zero bytes would end the noise too early and lose the frame. */
static enum mor_item_kind be32_noise(const struct header_look *look)
{
	const char *w = look->window;
	size_t i = look->d->scanned ? look->d->scanned : 1;

	if (look->d->flags & MOR_DEFRAME_STRICT)
		return say_corrupt(look, "no length header");
	for (;; i++) {
		if (w[i - 1] == '\n' || i == MOR_NOISE_MAX)
			return say_noise(look, i);
		if (i == look->len)
			return look->at_eof ? say_noise(look, i) : say_more(look, i, 0);
		if (!is_low(w[i]))
			continue;
		if (look->len - i >= 5) {
			if (begins_frame(look, w + i))
				return say_noise(look, i);
		} else if (!look->at_eof) {
			return say_more(look, i, i + 5);
		}
	}
}

static enum mor_item_kind deframe_be32(const struct header_look *look)
{
	const char *w = look->window;
	size_t need = 8; /* bytes needed to judge a high first byte */
	bool frame;

	if (look->d->scanned) /* in the middle of noise */
		return be32_noise(look);
	if (is_low(w[0])) {
		if (look->len < 4)
			return look->at_eof ? say_corrupt(look, "truncated") : say_more(look, 0, 4);
		if (be32_at(w) == 0)
			return sized(look, 4, 0);
		need = 5;
		if (look->len < need)
			return look->at_eof ? say_corrupt(look, "truncated") : say_more(look, 0, need);
		frame = begins_frame(look, w);
	} else {
		/* A printable byte, and printable bytes after it: reported at once. */
		for (size_t i = 0, text = 0; i < look->len && i < 4; i++) {
			text += is_text((unsigned char)w[i]);
			if (text == 4)
				return be32_noise(look);
		}
		if (look->len < need && !look->at_eof)
			return say_more(look, 0, need);
		frame = look->len >= 5 && is_high_header(look, look->len);
	}
	return frame ? sized(look, 4, be32_at(w)) : be32_noise(look);
}

/* ---- headers ---- */

struct block {
	bool any;    /* a header line has been seen */
	bool length; /* Content-Length among them */
	bool bad;    /* and it was not a number, or two of them differ */
	uint64_t size;
};

/* Length of the header's name if `line` is "name:...", else 0. */
static size_t header_name(struct mor_slice line)
{
	static const char more[] = "!#$%&'*+-.^_`|~";
	size_t i = 0;

	while (i < line.len) {
		char c = line.ptr[i];

		if (c == ':')
			return i;
		if (!((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
		      (c != '\0' && strchr(more, c))))
			return 0;
		i++;
	}
	return 0;
}

static void take_header(struct block *block, struct mor_slice line, size_t name)
{
	struct mor_slice value = { line.ptr + name + 1, line.len - name - 1 };
	uint64_t size = 0;

	block->any = true;
	if (name != 14 || strncasecmp(line.ptr, "Content-Length", 14) != 0)
		return;
	while (value.len && (*value.ptr == ' ' || *value.ptr == '\t'))
		value = (struct mor_slice){ value.ptr + 1, value.len - 1 };
	while (value.len && (value.ptr[value.len - 1] == ' ' || value.ptr[value.len - 1] == '\t'))
		value.len--;
	block->bad |= !mor_parse_u64(value, &size) || (block->length && size != block->size);
	block->length = true;
	block->size = size;
}

/* The end of the block, or a line that makes it invalid: the first `used` bytes are not a frame. */
static enum mor_item_kind noise_block(const struct header_look *look, size_t used)
{
	if (look->d->flags & MOR_DEFRAME_STRICT)
		return say_corrupt(look, "no Content-Length header");
	return say_noise(look, used);
}

/* The line that begins at `at` is not complete yet. */
static enum mor_item_kind half_header(const struct header_look *look, const struct block *block, size_t at)
{
	struct mor_slice rest = { look->window + at, look->len - at };

	if (!look->at_eof)
		return say_more(look, 0, 0);
	if (block->any || header_name(rest))
		return say_corrupt(look, "truncated");
	return noise_block(look, look->len);
}

/* A line of JSON among header lines is not a header. If such lines are accepted, it must not be lost. */
static bool ends_block(const struct header_look *look, size_t at)
{
	return at && at < look->len && (look->d->reads & 1u << MOR_FRAMING_LINES) &&
	       (look->window[at] == '{' || look->window[at] == '[');
}

/* A block is small, so it is read from its first byte each time. */
static enum mor_item_kind deframe_headers(const struct header_look *look)
{
	struct block block = { 0 };
	size_t at = 0, next;

	for (;; at = next) {
		const char *newline = at < look->len ? memchr(look->window + at, '\n', look->len - at) : NULL;
		size_t end = newline ? (size_t)(newline - look->window) : look->len, name;
		struct mor_slice line = { look->window + at, end - at };

		if (ends_block(look, at))
			return noise_block(look, at);
		if (end > MOR_NOISE_MAX)
			return at ? noise_block(look, at) : noise_line(look, "header line without an end");
		if (!newline)
			return half_header(look, &block, at);
		next = end + 1;
		if (line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		if (line.len == 0)
			break;
		name = header_name(line);
		if (name == 0)
			return noise_block(look, next);
		take_header(&block, line, name);
	}
	if (!block.any)
		return found_item(look, MOR_ITEM_BLANK, 0, 0, next);
	return block.length && !block.bad ? sized(look, next, block.size) : noise_block(look, next);
}

/* ---- several framings ---- */

/* 1: yes, 0: no, -1: not enough bytes yet. */
static int begins_headers(const struct header_look *look)
{
	static const char name[] = "content-length";
	size_t len = look->len < sizeof(name) - 1 ? look->len : sizeof(name) - 1;

	if (strncasecmp(look->window, name, len) != 0)
		return 0;
	return len == sizeof(name) - 1 ? 1 : look->at_eof ? 0 : -1;
}

static int begins_json(const struct header_look *look)
{
	size_t i = pass_blanks(look);

	if (i == MOR_NOISE_MAX)
		return 0;
	if (i == look->len)
		return look->at_eof ? 0 : -1;
	return look->window[i] == '{' || look->window[i] == '[';
}

static int begins_decimal(const struct header_look *look)
{
	return look->window[0] >= '0' && look->window[0] <= '9';
}

static int begins_be32(const struct header_look *look)
{
	return look->window[0] == '\0';
}

/* The framing of the next item, or -1: not known yet. */
static int framing_of(const struct header_look *look)
{
	static int (*const begins[MOR_FRAMINGS])(const struct header_look *look) = {
		[MOR_FRAMING_LINES] = begins_json,
		[MOR_FRAMING_DECIMAL] = begins_decimal,
		[MOR_FRAMING_BE32] = begins_be32,
		[MOR_FRAMING_HEADERS] = begins_headers,
	};
	bool undecided = false;

	for (int i = 0; i < MOR_FRAMINGS; i++) {
		int said = look->d->reads & 1u << i ? begins[i](look) : 0;

		if (said > 0)
			return i;
		undecided |= said < 0;
	}
	return undecided ? -1 : (int)look->d->framing;
}

MOR_APART enum mor_item_kind mor_deframe_any(struct mor_deframer *deframer, const char *window, size_t len,
					     bool at_eof, struct mor_item *ret_item)
{
	struct header_look look = { deframer, window, len, at_eof, ret_item };

	*ret_item = (struct mor_item){ .used = 0 };
	if (len == 0)
		return MOR_ITEM_MORE;
	if (deframer->skip || deframer->skip_line)
		return skip_some(&look);
	switch (deframer->reads ? framing_of(&look) : (int)deframer->framing) {
	case -1:
		return say_more(&look, 0, 0);
	case MOR_FRAMING_DECIMAL:
		return deframe_decimal(&look);
	case MOR_FRAMING_BE32:
		return deframe_be32(&look);
	case MOR_FRAMING_HEADERS:
		return deframe_headers(&look);
	default:
		return deframe_line(&look);
	}
}
