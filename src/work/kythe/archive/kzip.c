/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening. libzip parses the archive's directory. The names in it are checked once, when the archive is
 * opened. After that we use only numbers and digests.
 */
#include "kythe/archive/kzip_own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

const char *const mor_kzip_places[MOR_KZIP_PLACES] = { "files/", "pbunits/", "units/" };

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

static int add_item(struct mor_kzip_entries *items, const char *digest, uint64_t index, uint64_t size)
{
	if (mor_grow(&items->item, items->count, &items->room, sizeof(*items->item)) < 0)
		return MORTISE_ENOMEM;
	items->item[items->count] =
		(struct mor_kzip_entry){ .index = index, .size = size, .number = items->count };
	memcpy(items->item[items->count++].digest, digest, MOR_DIGEST_SIZE);
	return 0;
}

/* Of entries, which begin with their digest, or of a digest. */
static int by_digest(const void *a, const void *b)
{
	return strcmp(a, b);
}

const struct mor_kzip_entry *mor_kzip_find(const struct mor_kzip_entries *items, const char *digest)
{
	return items->count ? bsearch(digest, items->item, items->count, sizeof(*items->item), by_digest) :
			      NULL;
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
		return refuse_entry(name, "comes first, but the first entry must be the root directory", err);
	kzip->root = mor_strndup(name, len - 1);
	return kzip->root ? 0 : mor_fail_memory(err);
}

/* The part of the name after the root; NULL if it is outside the root. */
static const char *below_root(const struct mor_kzip *kzip, const char *name)
{
	size_t len = strlen(kzip->root);

	return strncmp(name, kzip->root, len) == 0 && name[len] == '/' ? name + len + 1 : NULL;
}

/* Entries elsewhere are ignored. But one wrong bit in the name of a directory must not hide a unit. */
static bool is_damaged(const char *rest)
{
	for (int place = 0; place < MOR_KZIP_PLACES; place++) {
		const char *name = mor_kzip_places[place];
		size_t len = strlen(name);
		int bits = 0;

		if (strlen(rest) < len || !mor_digest_valid(rest + len))
			continue;
		for (size_t i = 0; i < len; i++)
			bits += __builtin_popcount((unsigned char)(rest[i] ^ name[i]));
		if (bits == 1)
			return true;
	}
	return false;
}

/* Entries that are neither units nor files are allowed and ignored. */
static int take_entry(struct mor_kzip *kzip, const char *name, const zip_stat_t *stat, mortise_error *err)
{
	const char *rest = below_root(kzip, name);
	enum mor_kzip_place place = MOR_KZIP_IN_FILES;

	if (!rest)
		return refuse_entry(name, "lies outside the root directory", err);
	while (place < MOR_KZIP_PLACES &&
	       strncmp(rest, mor_kzip_places[place], strlen(mor_kzip_places[place])) != 0)
		place++;
	if (place == MOR_KZIP_PLACES)
		return is_damaged(rest) ?
			       refuse_entry(name, "is damaged: one bit away from files/, pbunits/ or units/",
					    err) :
			       0;
	rest += strlen(mor_kzip_places[place]);
	if (*rest == '\0')
		return 0;
	if (!mor_digest_valid(rest))
		return refuse_entry(name, "is not named by a SHA-256 digest", err);
	if (add_item(&kzip->items[place], rest, stat->index, stat->size) < 0)
		return mor_fail_memory(err);
	return 0;
}

static int take_entries(struct mor_kzip *kzip, mortise_error *err)
{
	zip_int64_t count = zip_get_num_entries(kzip->zip, 0);
	int r = 0;

	if (count <= 0)
		return mor_fail(err, MORTISE_EINPUT, "the archive is empty: it has no root directory");
	if ((uint64_t)count > kzip->opt.max_entries)
		return mor_fail(err, MORTISE_EINPUT, "%" PRId64 " entries are over the limit of %" PRIu64,
				(int64_t)count, kzip->opt.max_entries);
	for (zip_uint64_t i = 0; r == 0 && i < (zip_uint64_t)count; i++) {
		/* Raw: names are compared byte by byte, in every encoding. */
		const char *name = zip_get_name(kzip->zip, i, ZIP_FL_ENC_RAW);
		zip_stat_t stat;

		if (!name || zip_stat_index(kzip->zip, i, 0, &stat) < 0)
			return mor_fail(err, MORTISE_EINPUT, "its directory cannot be read: %s",
					zip_strerror(kzip->zip));
		stat.index = i;
		r = i == 0 ? take_root(kzip, name, err) : take_entry(kzip, name, &stat, err);
	}
	return r;
}

static int sort_items(struct mor_kzip *kzip, enum mor_kzip_place place, mortise_error *err)
{
	struct mor_kzip_entries *items = &kzip->items[place];

	if (items->count)
		qsort(items->item, items->count, sizeof(*items->item), by_digest);
	for (size_t i = 1; i < items->count; i++)
		if (strcmp(items->item[i - 1].digest, items->item[i].digest) == 0)
			return mor_fail(err, MORTISE_EINPUT, "%s%s is in it twice", mor_kzip_places[place],
					items->item[i].digest);
	return 0;
}

static int check_subset(const struct mor_kzip *kzip, enum mor_kzip_place of, enum mor_kzip_place in,
			mortise_error *err)
{
	for (size_t i = 0; i < kzip->items[of].count; i++)
		if (!mor_kzip_find(&kzip->items[in], kzip->items[of].item[i].digest))
			return mor_fail(err, MORTISE_EINPUT,
					"%s%s is missing in %s: both must hold the same units",
					mor_kzip_places[of], kzip->items[of].item[i].digest,
					mor_kzip_places[in]);
	return 0;
}

struct mor_kzip_entries *mor_kzip_units(const struct mor_kzip *kzip)
{
	return (struct mor_kzip_entries *)(uintptr_t)&kzip
		->items[kzip->encoding & MOR_KZIP_PROTO ? MOR_KZIP_IN_PBUNITS : MOR_KZIP_IN_UNITS];
}

static int number_units(struct mor_kzip *kzip)
{
	struct mor_kzip_entries *units = mor_kzip_units(kzip);

	kzip->unit_order = mor_alloc(units->count * sizeof(*kzip->unit_order));
	if (!kzip->unit_order)
		return MORTISE_ENOMEM;
	for (size_t i = 0; i < units->count; i++)
		kzip->unit_order[units->item[i].number] = i;
	return 0;
}

void mor_kzip_warn(const struct mor_kzip *kzip, const char *text)
{
	if (kzip->opt.on_warning)
		kzip->opt.on_warning(text, kzip->opt.arg);
}

static int judge_contents(struct mor_kzip *kzip, mortise_error *err)
{
	int r = take_entries(kzip, err);

	for (int place = 0; r == 0 && place < MOR_KZIP_PLACES; place++)
		r = sort_items(kzip, (enum mor_kzip_place)place, err);
	if (r < 0)
		return r;
	kzip->encoding =
		(enum mor_kzip_encoding)((kzip->items[MOR_KZIP_IN_UNITS].count ? MOR_KZIP_JSON : 0) |
					 (kzip->items[MOR_KZIP_IN_PBUNITS].count ? MOR_KZIP_PROTO : 0));
	if (kzip->encoding == MOR_KZIP_ALL) {
		r = check_subset(kzip, MOR_KZIP_IN_UNITS, MOR_KZIP_IN_PBUNITS, err);
		r = r ? r : check_subset(kzip, MOR_KZIP_IN_PBUNITS, MOR_KZIP_IN_UNITS, err);
	}
	if (r == 0 && number_units(kzip) < 0)
		r = mor_fail_memory(err);
	if (r == 0 && !kzip->encoding)
		mor_kzip_warn(kzip, "there is no unit in it");
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
		return mor_fail(err, MORTISE_EINPUT, "not a kzip: it is not a regular file");
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
	if ((r = open_kzip(kzip, name, bytes, err)) < 0) {
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
	for (int place = 0; place < MOR_KZIP_PLACES; place++)
		mor_free(kzip->items[place].item);
	mor_free(kzip->unit_order);
	mor_free(kzip->root);
	mor_free(kzip->path);
	return mor_free(kzip);
}
