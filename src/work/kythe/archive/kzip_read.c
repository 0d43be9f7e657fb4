/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: the bytes of an entry, checked while they come; units and files. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "kythe/archive/kzip_own.h"

#define RATIO_FROM ((uint64_t)1 << 20) /* for entries up to this size the packing ratio is not checked */
#define READ_PIECE ((size_t)64 << 10)

/* ---- reading an entry ---- */

struct pull {
	struct mor_kzip *kzip;
	const struct mor_kzip_entry *item;
	enum mor_kzip_place place;
	mor_kzip_sink_fn *sink;
	void *arg;
	mortise_error *err;
};

static int damaged(const struct pull *pull, const char *why)
{
	return mor_fail(pull->err, MORTISE_EINPUT, "%s: %s%s: %s", pull->kzip->path,
			mor_kzip_places[pull->place], pull->item->digest, why);
}

static int check_ratio(const struct pull *pull, const zip_stat_t *stat)
{
	char why[100];

	if (stat->size <= RATIO_FROM || stat->size / pull->kzip->opt.max_ratio <= stat->comp_size)
		return 0;
	snprintf(why, sizeof(why), "packed more than %" PRIu64 " to 1", pull->kzip->opt.max_ratio);
	return damaged(pull, why);
}

/* The size in the directory. The bytes are counted again while they are read. */
static int check_stat(const struct pull *pull, zip_stat_t *stat)
{
	const struct mor_kzip_options *opt = &pull->kzip->opt;
	uint64_t limit = pull->place == MOR_KZIP_IN_FILES ? opt->max_file_bytes : opt->max_unit_bytes;
	char why[100], shown[2][32];

	if (zip_stat_index(pull->kzip->zip, pull->item->index, 0, stat) < 0)
		return damaged(pull, zip_strerror(pull->kzip->zip));
	if (stat->encryption_method != ZIP_EM_NONE)
		return damaged(pull, "it is encrypted");
	if (stat->comp_method != ZIP_CM_STORE && stat->comp_method != ZIP_CM_DEFLATE)
		return damaged(pull, "packed with another method than store or deflate");
	if (stat->size > limit) {
		snprintf(why, sizeof(why), "its %s are over the limit of %s",
			 mor_format_bytes(stat->size, shown[0]), mor_format_bytes(limit, shown[1]));
		return damaged(pull, why);
	}
	return check_ratio(pull, stat);
}

static int pump(const struct pull *pull, zip_file_t *file, uint64_t size, char *piece, struct sha256_ctx *sha)
{
	uint64_t total = 0;
	zip_int64_t n;
	int r;

	while ((n = zip_fread(file, piece, READ_PIECE)) > 0) {
		total += (uint64_t)n;
		if (total > size)
			return damaged(pull, "it holds more than the archive's directory says");
		if (sha)
			mor_digest_add(sha, piece, (size_t)n);
		if ((r = pull->sink(piece, (size_t)n, pull->arg)) < 0)
			return r;
	}
	if (n < 0)
		return damaged(pull, zip_file_strerror(file));
	return total == size ? 0 : damaged(pull, "it holds less than the archive's directory says");
}

/* ret_digest NULL: the digest is not wanted. */
static int pull_entry(const struct pull *pull, char *ret_digest)
{
	struct sha256_ctx sha;
	zip_file_t *file;
	zip_stat_t stat;
	char *piece;
	int r = check_stat(pull, &stat);

	if (r < 0)
		return r;
	file = zip_fopen_index(pull->kzip->zip, pull->item->index, 0);
	if (!file)
		return damaged(pull, zip_strerror(pull->kzip->zip));
	piece = mor_alloc(READ_PIECE);
	mor_digest_begin(&sha);
	r = piece ? pump(pull, file, stat.size, piece, ret_digest ? &sha : NULL) : mor_fail_memory(pull->err);
	mor_free(piece);
	zip_fclose(file);
	if (r == 0 && ret_digest)
		mor_digest_end(&sha, ret_digest);
	return r;
}

static int sink_into_buf(const void *bytes, size_t len, void *arg)
{
	return mor_buf_append(arg, bytes, len);
}

/* ---- units ---- */

const char *mor_kzip_path(const struct mor_kzip *kzip)
{
	return kzip->path;
}

const char *mor_kzip_root(const struct mor_kzip *kzip)
{
	return kzip->root;
}

enum mor_kzip_encoding mor_kzip_encoding(const struct mor_kzip *kzip)
{
	return kzip->encoding;
}

size_t mor_kzip_unit_count(const struct mor_kzip *kzip)
{
	return mor_kzip_units(kzip)->count;
}

static const struct mor_kzip_entry *unit_item(const struct mor_kzip *kzip, size_t number)
{
	return &mor_kzip_units(kzip)->item[kzip->unit_order[number]];
}

const char *mor_kzip_unit_digest(const struct mor_kzip *kzip, size_t number)
{
	return unit_item(kzip, number)->digest;
}

static bool is_named_by_text(const struct mor_kzip_entry *item, struct mor_slice text)
{
	char digest[MOR_DIGEST_SIZE];

	mor_digest_of(text.ptr, text.len, digest);
	return strcmp(item->digest, digest) == 0;
}

/* Writers name units differently (some hash the text). So a name other than ours is only a warning. */
static void check_name(const struct mor_kzip *kzip, const struct mor_kzip_entry *item, struct mor_slice content,
		       const struct mor_unit *unit)
{
	char digest[MOR_DIGEST_SIZE], text[sizeof(mortise_error) + 200];
	mortise_error why = { 0 };

	if (!kzip->opt.on_warning)
		return;
	if (mor_unit_digest(unit, digest, &why) < 0)
		snprintf(text, sizeof(text), "unit %s: its digest cannot be checked: %s", item->digest,
			 why.text);
	else if (strcmp(digest, item->digest) != 0)
		snprintf(text, sizeof(text), "unit %s: its digest is %s%s", item->digest, digest,
			 is_named_by_text(item, content) ? "; its name is the digest of its text" : "");
	else
		return;
	mor_kzip_warn(kzip, text);
}

int mor_kzip_unit_read(struct mor_kzip *kzip, size_t number, struct mor_unit **ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	bool proto = kzip->encoding & MOR_KZIP_PROTO;
	struct pull pull = {
		.kzip = kzip,
		.item = unit_item(kzip, number),
		.place = proto ? MOR_KZIP_IN_PBUNITS : MOR_KZIP_IN_UNITS,
		.sink = sink_into_buf,
		.arg = &bytes,
		.err = err,
	};
	char place[200];
	int r = pull_entry(&pull, NULL);

	if (r < 0)
		return r;
	r = proto ? mor_unit_read_wire(mor_buf_view(&bytes), ret, err) :
		    mor_unit_read_json(mor_buf_view(&bytes), ret, err);
	if (r < 0) {
		snprintf(place, sizeof(place), "%.100s: %s%s", kzip->path, mor_kzip_places[pull.place],
			 pull.item->digest);
		mor_fail_prefix(err, place);
		return r;
	}
	check_name(kzip, pull.item, mor_buf_view(&bytes), *ret);
	return 0;
}

/* ---- files ---- */

size_t mor_kzip_file_count(const struct mor_kzip *kzip)
{
	return kzip->items[MOR_KZIP_IN_FILES].count;
}

const char *mor_kzip_file_digest(const struct mor_kzip *kzip, size_t number)
{
	return kzip->items[MOR_KZIP_IN_FILES].item[number].digest;
}

uint64_t mor_kzip_file_size(const struct mor_kzip *kzip, size_t number)
{
	return kzip->items[MOR_KZIP_IN_FILES].item[number].size;
}

bool mor_kzip_file_find(const struct mor_kzip *kzip, const char *digest, size_t *ret_number)
{
	const struct mor_kzip_entry *item = mor_kzip_find(&kzip->items[MOR_KZIP_IN_FILES], digest);

	if (item)
		*ret_number = (size_t)(item - kzip->items[MOR_KZIP_IN_FILES].item);
	return item != NULL;
}

int mor_kzip_file_read(struct mor_kzip *kzip, const char *digest, mor_kzip_sink_fn *sink, void *arg,
		       mortise_error *err)
{
	struct pull pull = {
		.kzip = kzip,
		.item = mor_kzip_find(&kzip->items[MOR_KZIP_IN_FILES], digest),
		.place = MOR_KZIP_IN_FILES,
		.sink = sink,
		.arg = arg,
		.err = err,
	};
	char content[MOR_DIGEST_SIZE], shown[100];
	int r;

	if (!pull.item)
		return mor_fail(err, MORTISE_ENOTFOUND, "%s: no file %s in it", kzip->path,
				mor_excerpt(mor_slice_of(digest), shown, sizeof(shown)));
	r = pull_entry(&pull, content);
	if (r == 0 && strcmp(content, digest) != 0)
		r = damaged(&pull, "its content has another digest");
	return r;
}
