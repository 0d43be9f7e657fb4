/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading. libzip parses the archive's directory. The names in it are checked once, when the archive is
 * opened. After that we use only numbers and digests.
 */
#include "kythe/archive/kzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <zip.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/text.h"

#define RATIO_FROM ((uint64_t)1 << 20) /* for entries up to this size the packing ratio is not checked */
#define READ_PIECE ((size_t)64 << 10)

enum place { FILES, PBUNITS, UNITS, PLACES };
static const char *const place_names[PLACES] = { "files/", "pbunits/", "units/" };

struct zipped {
	char digest[MOR_DIGEST_SIZE];
	uint64_t index, size; /* in the archive; unpacked */
	size_t number;        /* number among its kind, in the archive's order */
};

struct items {
	struct zipped *item; /* sorted by digest when all are read */
	size_t count, room;
};

struct mor_kzip {
	char *path, *root;
	zip_t *zip;
	struct mor_kzip_options opt;
	struct items items[PLACES];
	size_t *unit_order; /* number of a unit -> its index in the sorted list */
	enum mor_kzip_encoding encoding;
};

/* ---- encodings ---- */

static const char *const encoding_names[] = {
	[MOR_KZIP_JSON] = "json", [MOR_KZIP_PROTO] = "proto", [MOR_KZIP_ALL] = "all"
};

const char *mor_kzip_encoding_name(enum mor_kzip_encoding encoding)
{
	return encoding >= MOR_KZIP_JSON && encoding <= MOR_KZIP_ALL ? encoding_names[encoding] : "none";
}

bool mor_kzip_encoding_parse(const char *name, enum mor_kzip_encoding *ret)
{
	for (int i = MOR_KZIP_JSON; i <= MOR_KZIP_ALL; i++) {
		if (strcasecmp(name, encoding_names[i]) != 0)
			continue;
		*ret = (enum mor_kzip_encoding)i;
		return true;
	}
	return false;
}

/* ---- the directory ---- */

static int add_item(struct items *items, const char *digest, uint64_t index, uint64_t size)
{
	if (mor_grow(&items->item, items->count, &items->room, sizeof(*items->item)) < 0)
		return MORTISE_ENOMEM;
	items->item[items->count] = (struct zipped){ .index = index, .size = size, .number = items->count };
	memcpy(items->item[items->count++].digest, digest, MOR_DIGEST_SIZE);
	return 0;
}

static int by_digest(const void *a, const void *b)
{
	return strcmp(((const struct zipped *)a)->digest, ((const struct zipped *)b)->digest);
}

static const struct zipped *find_item(const struct items *items, const char *digest)
{
	size_t low = 0, high = items->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(items->item[middle].digest, digest);

		if (order == 0)
			return &items->item[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static int refuse_entry(const char *name, const char *why, mortise_error *err)
{
	char shown[200];

	return mor_fail(err, MORTISE_EINPUT, "entry \"%s\" %s",
			mor_excerpt(mor_slice_of(name), shown, sizeof(shown)), why);
}

/* The first entry is the root directory, with one path element: "root/". */
static int take_root(struct mor_kzip *kzip, const char *name, mortise_error *err)
{
	size_t len = strlen(name);

	if (len < 2 || strchr(name, '/') != name + len - 1)
		return refuse_entry(name, "comes first, where a kzip has its root directory", err);
	kzip->root = mor_strndup(name, len - 1);
	return kzip->root ? 0 : mor_fail_memory(err);
}

/* The part of the name after the root; NULL if it is outside the root. */
static const char *below_root(const struct mor_kzip *kzip, const char *name)
{
	size_t len = strlen(kzip->root);

	return strncmp(name, kzip->root, len) == 0 && name[len] == '/' ? name + len + 1 : NULL;
}

/* Entries that are neither units nor files are allowed and ignored. */
static int take_entry(struct mor_kzip *kzip, const char *name, const zip_stat_t *stat, mortise_error *err)
{
	const char *rest = below_root(kzip, name);
	enum place place = FILES;

	if (!rest)
		return refuse_entry(name, "lies outside the root directory", err);
	while (place < PLACES && strncmp(rest, place_names[place], strlen(place_names[place])) != 0)
		place++;
	if (place == PLACES)
		return 0;
	rest += strlen(place_names[place]);
	if (*rest == '\0')
		return 0;
	if (!mor_digest_valid(rest))
		return refuse_entry(name, "is not named by a SHA-256 digest", err);
	if (add_item(&kzip->items[place], rest, stat->index, stat->size) < 0)
		return mor_fail_memory(err);
	return 0;
}

static int bad_zip(zip_t *zip, const char *what, mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT, "%s: %s", what, zip_strerror(zip));
}

static int take_entries(struct mor_kzip *kzip, mortise_error *err)
{
	zip_int64_t count = zip_get_num_entries(kzip->zip, 0);
	int r = 0;

	if (count <= 0)
		return mor_fail(err, MORTISE_EINPUT, "the archive is empty: not even a root directory");
	if ((uint64_t)count > kzip->opt.max_entries)
		return mor_fail(err, MORTISE_EINPUT, "%" PRId64 " entries are over the limit of %" PRIu64,
				(int64_t)count, kzip->opt.max_entries);
	for (zip_uint64_t i = 0; r == 0 && i < (zip_uint64_t)count; i++) {
		/* Raw: names are compared byte by byte, in every encoding. */
		const char *name = zip_get_name(kzip->zip, i, ZIP_FL_ENC_RAW);
		zip_stat_t stat;

		if (!name || zip_stat_index(kzip->zip, i, 0, &stat) < 0)
			return bad_zip(kzip->zip, "its directory cannot be read", err);
		stat.index = i;
		r = i == 0 ? take_root(kzip, name, err) : take_entry(kzip, name, &stat, err);
	}
	return r;
}

static int sort_items(struct mor_kzip *kzip, enum place place, mortise_error *err)
{
	struct items *items = &kzip->items[place];

	if (items->count)
		qsort(items->item, items->count, sizeof(*items->item), by_digest);
	for (size_t i = 1; i < items->count; i++)
		if (strcmp(items->item[i - 1].digest, items->item[i].digest) == 0)
			return mor_fail(err, MORTISE_EINPUT, "%s%s is there twice", place_names[place],
					items->item[i].digest);
	return 0;
}

static int check_subset(const struct mor_kzip *kzip, enum place of, enum place in, mortise_error *err)
{
	for (size_t i = 0; i < kzip->items[of].count; i++)
		if (!find_item(&kzip->items[in], kzip->items[of].item[i].digest))
			return mor_fail(err, MORTISE_EINPUT,
					"%s%s is missing in %s: both must hold the same units", place_names[of],
					kzip->items[of].item[i].digest, place_names[in]);
	return 0;
}

static struct items *units_of(const struct mor_kzip *kzip)
{
	return (struct items *)(uintptr_t)&kzip->items[kzip->encoding & MOR_KZIP_PROTO ? PBUNITS : UNITS];
}

static int number_units(struct mor_kzip *kzip)
{
	struct items *units = units_of(kzip);

	kzip->unit_order = mor_alloc(units->count * sizeof(*kzip->unit_order));
	if (!kzip->unit_order)
		return MORTISE_ENOMEM;
	for (size_t i = 0; i < units->count; i++)
		kzip->unit_order[units->item[i].number] = i;
	return 0;
}

static void warn_of(const struct mor_kzip *kzip, const char *text)
{
	if (kzip->opt.on_warning)
		kzip->opt.on_warning(text, kzip->opt.arg);
}

static int judge_contents(struct mor_kzip *kzip, mortise_error *err)
{
	int r = take_entries(kzip, err);

	for (int place = 0; r == 0 && place < PLACES; place++)
		r = sort_items(kzip, (enum place)place, err);
	if (r < 0)
		return r;
	kzip->encoding = (enum mor_kzip_encoding)((kzip->items[UNITS].count ? MOR_KZIP_JSON : 0) |
						  (kzip->items[PBUNITS].count ? MOR_KZIP_PROTO : 0));
	if (kzip->encoding == MOR_KZIP_ALL) {
		r = check_subset(kzip, UNITS, PBUNITS, err);
		if (r == 0)
			r = check_subset(kzip, PBUNITS, UNITS, err);
	}
	if (r == 0 && number_units(kzip) < 0)
		r = mor_fail_memory(err);
	if (r == 0 && !kzip->encoding)
		warn_of(kzip, "there is no unit in it");
	return r;
}

/* ---- opening ---- */

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
	return value ? value : otherwise;
}

static void set_options(struct mor_kzip *kzip, const struct mor_kzip_options *opt)
{
	if (opt)
		kzip->opt = *opt;
	kzip->opt.max_entries = or_default(kzip->opt.max_entries, 4000000);
	kzip->opt.max_unit_bytes = or_default(kzip->opt.max_unit_bytes, (uint64_t)64 << 20);
	kzip->opt.max_file_bytes = or_default(kzip->opt.max_file_bytes, (uint64_t)1 << 30);
	kzip->opt.max_ratio = or_default(kzip->opt.max_ratio, 250);
}

/* If opening works, the archive owns the source. If it fails, we must free it. */
static int open_source(struct mor_kzip *kzip, zip_source_t *source, zip_error_t *why, mortise_error *err)
{
	int r;

	if (source)
		kzip->zip = zip_open_from_source(source, ZIP_RDONLY, why);
	if (kzip->zip)
		return 0;
	if (zip_error_system_type(why) == ZIP_ET_SYS && zip_error_code_system(why))
		r = mor_fail_errno(err,
				   zip_error_code_system(why) == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT,
				   zip_error_code_system(why), "it cannot be read");
	else
		r = mor_fail(err, MORTISE_EINPUT, "not a kzip: %s", zip_error_strerror(why));
	if (source)
		zip_source_free(source);
	return r;
}

static int check_path(const char *path, mortise_error *err)
{
	struct stat info;

	if (stat(path, &info) < 0)
		return mor_fail_errno(err,
				      errno == ENOENT || errno == ENOTDIR ? MORTISE_ENOTFOUND : MORTISE_EINPUT,
				      errno, "it cannot be opened");
	if (!S_ISREG(info.st_mode))
		return mor_fail(err, MORTISE_EINPUT, "not a kzip: it is no regular file");
	if (info.st_size == 0)
		return mor_fail(err, MORTISE_EINPUT, "not a kzip: the file is empty");
	return 0;
}

/* bytes absent: open the file of that name. */
static int open_kzip(struct mor_kzip *kzip, const char *name, struct mor_slice bytes, mortise_error *err)
{
	zip_source_t *source;
	zip_error_t why;
	int r = bytes.ptr ? 0 : check_path(name, err);

	if (r < 0)
		return r;
	zip_error_init(&why);
	source = bytes.ptr ? zip_source_buffer_create(bytes.ptr, bytes.len, 0, &why) :
			     zip_source_file_create(name, 0, 0, &why);
	r = open_source(kzip, source, &why, err);
	zip_error_fini(&why);
	return r < 0 ? r : judge_contents(kzip, err);
}

int mor_kzip_open_bytes(const char *name, struct mor_slice bytes, const struct mor_kzip_options *opt,
			struct mor_kzip **ret, mortise_error *err)
{
	struct mor_kzip *kzip = mor_zalloc(sizeof(*kzip));
	int r;

	if (!kzip || !(kzip->path = mor_strdup(name))) {
		mor_free(kzip);
		return mor_fail_memory(err);
	}
	set_options(kzip, opt);
	r = open_kzip(kzip, name, bytes, err);
	if (r < 0) {
		mor_fail_prefix(err, name);
		mor_kzip_free(kzip);
		return r;
	}
	*ret = kzip;
	return 0;
}

int mor_kzip_open(const char *path, const struct mor_kzip_options *opt, struct mor_kzip **ret,
		  mortise_error *err)
{
	return mor_kzip_open_bytes(path, (struct mor_slice){ 0 }, opt, ret, err);
}

struct mor_kzip *mor_kzip_free(struct mor_kzip *kzip)
{
	if (!kzip)
		return NULL;
	if (kzip->zip)
		zip_discard(kzip->zip);
	for (int place = 0; place < PLACES; place++)
		mor_free(kzip->items[place].item);
	mor_free(kzip->unit_order);
	mor_free(kzip->root);
	mor_free(kzip->path);
	mor_free(kzip);
	return NULL;
}

/* ---- reading an entry ---- */

struct pull {
	struct mor_kzip *kzip;
	const struct zipped *item;
	enum place place;
	mor_kzip_sink_fn *sink;
	void *arg;
	mortise_error *err;
};

static int damaged(const struct pull *pull, const char *why)
{
	return mor_fail(pull->err, MORTISE_EINPUT, "%s: %s%s: %s", pull->kzip->path, place_names[pull->place],
			pull->item->digest, why);
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
	uint64_t limit = pull->place == FILES ? opt->max_file_bytes : opt->max_unit_bytes;
	char why[100], shown[2][32];

	if (zip_stat_index(pull->kzip->zip, pull->item->index, 0, stat) < 0)
		return damaged(pull, zip_strerror(pull->kzip->zip));
	if (stat->encryption_method != ZIP_EM_NONE)
		return damaged(pull, "it is encrypted");
	if (stat->comp_method != ZIP_CM_STORE && stat->comp_method != ZIP_CM_DEFLATE)
		return damaged(pull, "packed in another way than store or deflate");
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
		r = pull->sink(piece, (size_t)n, pull->arg);
		if (r < 0)
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
	return units_of(kzip)->count;
}

static const struct zipped *unit_item(const struct mor_kzip *kzip, size_t number)
{
	return &units_of(kzip)->item[kzip->unit_order[number]];
}

const char *mor_kzip_unit_digest(const struct mor_kzip *kzip, size_t number)
{
	return unit_item(kzip, number)->digest;
}

bool mor_kzip_unit_find(const struct mor_kzip *kzip, const char *digest, size_t *ret_number)
{
	const struct zipped *item = find_item(units_of(kzip), digest);

	if (item)
		*ret_number = item->number;
	return item != NULL;
}

static bool is_named_by_text(const struct zipped *item, struct mor_slice text)
{
	char digest[MOR_DIGEST_SIZE];
	struct sha256_ctx sha;

	mor_digest_begin(&sha);
	mor_digest_add(&sha, text.ptr, text.len);
	mor_digest_end(&sha, digest);
	return strcmp(item->digest, digest) == 0;
}

/* Writers name units differently (some hash the text). So a name other than ours is only a warning. */
static void check_name(const struct mor_kzip *kzip, const struct zipped *item, struct mor_slice content,
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
			 is_named_by_text(item, content) ? "; it is named by that of its text" : "");
	else
		return;
	warn_of(kzip, text);
}

int mor_kzip_unit_read(struct mor_kzip *kzip, size_t number, struct mor_unit **ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	bool proto = kzip->encoding & MOR_KZIP_PROTO;
	struct pull pull = {
		.kzip = kzip,
		.item = unit_item(kzip, number),
		.place = proto ? PBUNITS : UNITS,
		.sink = sink_into_buf,
		.arg = &bytes,
		.err = err,
	};
	char place[200];
	int r = pull_entry(&pull, NULL);

	if (r < 0)
		return r;
	r = proto ? mor_unit_read_wire(mor_buf_view(&bytes), ret, err) :
		    mor_unit_read_json(mor_buf_view(&bytes), kzip->opt.unit_flags, ret, err);
	if (r < 0) {
		snprintf(place, sizeof(place), "%.100s: %s%s", kzip->path, place_names[pull.place],
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
	return kzip->items[FILES].count;
}

const char *mor_kzip_file_digest(const struct mor_kzip *kzip, size_t number)
{
	return kzip->items[FILES].item[number].digest;
}

uint64_t mor_kzip_file_size(const struct mor_kzip *kzip, size_t number)
{
	return kzip->items[FILES].item[number].size;
}

bool mor_kzip_file_find(const struct mor_kzip *kzip, const char *digest, size_t *ret_number)
{
	const struct zipped *item = find_item(&kzip->items[FILES], digest);

	if (item)
		*ret_number = (size_t)(item - kzip->items[FILES].item);
	return item != NULL;
}

int mor_kzip_file_read(struct mor_kzip *kzip, const char *digest, mor_kzip_sink_fn *sink, void *arg,
		       mortise_error *err)
{
	struct pull pull = {
		.kzip = kzip,
		.item = find_item(&kzip->items[FILES], digest),
		.place = FILES,
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

int mor_kzip_file_load(struct mor_kzip *kzip, const char *digest, struct mor_buf *out, mortise_error *err)
{
	size_t before = out->len;
	int r = mor_kzip_file_read(kzip, digest, sink_into_buf, out, err);

	if (r < 0 && mor_buf_failed(out))
		mor_fail(err, r, "%s: %s: %s", kzip->path, digest, mortise_status_text(r));
	if (r < 0)
		out->len = before;
	return r;
}
