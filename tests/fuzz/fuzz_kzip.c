/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives. Byte 0: 0, the rest is an archive; else the rest is the names of an archive's entries, one per
 * line, each with its line as content. Whatever comes: what is opened has units and files that are named by
 * digests, and a file that is read to its end is what its digest says.
 */
#include "fuzz.h"

#include "../unit/kythe/bytes.h"

#include <string.h>

#include <zip.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "kythe/archive/kzip.h"

static void ignore(const char *text, void *arg)
{
	(void)arg;
	CHECK(text[0] && !strchr(text, '\n'));
}

static void check_file(struct mor_kzip *kzip, size_t number)
{
	MOR_CLEAN(mor_buf) struct mor_buf content = MOR_BUF_INIT;
	const char *digest = mor_kzip_file_digest(kzip, number);
	char hex[MOR_DIGEST_SIZE];
	struct sha256_ctx sha;
	size_t found = SIZE_MAX;

	CHECK(mor_digest_valid(digest));
	CHECK(mor_kzip_file_find(kzip, digest, &found) && found == number);
	if (bytes_of(kzip, digest, &content, NULL) < 0)
		return;
	mor_digest_begin(&sha);
	mor_digest_add(&sha, content.data, content.len);
	mor_digest_end(&sha, hex);
	CHECK(strcmp(hex, digest) == 0);
}

static void check_unit(struct mor_kzip *kzip, size_t number)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	mortise_error err = { 0 };
	int r = mor_kzip_unit_read(kzip, number, &unit, &err);

	CHECK(mor_digest_valid(mor_kzip_unit_digest(kzip, number)));
	CHECK(r == 0 ? unit != NULL : err.text[0] != '\0');
}

static void check_archive(struct mor_slice bytes)
{
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	struct mor_kzip_options opt = { .max_file_bytes = 1 << 20,
					.max_unit_bytes = 1 << 20,
					.on_warning = ignore };
	mortise_error err = { 0 };
	int r = mor_kzip_open_bytes("x", bytes, &opt, &kzip, &err);

	CHECK(r == 0 || ((r == MORTISE_EINPUT || r == MORTISE_ENOTFOUND) && err.text[0]));
	if (r < 0)
		return;
	for (size_t i = 0; i < mor_kzip_file_count(kzip); i++)
		check_file(kzip, i);
	for (size_t i = 0; i < mor_kzip_unit_count(kzip); i++)
		check_unit(kzip, i);
}

/* The archive that libzip makes of these names; nothing when it refuses one. */
static bool add_names(zip_t *zip, struct mor_slice names)
{
	while (names.len) {
		const char *newline = memchr(names.ptr, '\n', names.len);
		size_t len = newline ? (size_t)(newline - names.ptr) : names.len;
		zip_source_t *content = zip_source_buffer(zip, names.ptr, len, 0);
		char name[300];

		snprintf(name, sizeof(name), "%.*s", (int)(len < 290 ? len : 290), names.ptr);
		if (zip_file_add(zip, name, content, ZIP_FL_ENC_RAW) < 0) {
			zip_source_free(content);
			return false;
		}
		names.ptr += len + (newline != NULL);
		names.len -= len + (newline != NULL);
	}
	return true;
}

static void check_names(struct mor_slice names)
{
	zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, NULL);
	zip_t *zip = zip_open_from_source(source, ZIP_TRUNCATE, NULL);
	zip_stat_t stat;
	char *bytes;

	CHECK(zip);
	zip_source_keep(source);
	if (!add_names(zip, names) || zip_close(zip) < 0) {
		zip_discard(zip);
		zip_source_free(source);
		return;
	}
	if (zip_source_stat(source, &stat) == 0 && stat.size && zip_source_open(source) == 0) {
		bytes = malloc(stat.size);
		CHECK(bytes && zip_source_read(source, bytes, stat.size) == (zip_int64_t)stat.size);
		zip_source_close(source);
		check_archive((struct mor_slice){ bytes, stat.size });
		free(bytes);
	}
	zip_source_free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mor_slice rest = { (const char *)data + 1, size - 1 };

	if (size < 1 || size > 65536)
		return 0;
	if (data[0] == 0 || data[0] == '0')
		check_archive(rest);
	else
		check_names(rest);
	return 0;
}
