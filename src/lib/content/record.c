/* SPDX-License-Identifier: Apache-2.0 */
/* The list as JSON, and back. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "content/inside.h"
#include "wire/json.h"

static void write_identity(struct mor_writer *w, const struct mor_content_identity *id)
{
	mor_w_pair_array(w, "id");
	mor_w_uint(w, id->device);
	mor_w_uint(w, id->inode);
	mor_w_uint(w, id->size);
	mor_w_int(w, id->mtime_ns);
	mor_w_int(w, id->ctime_ns);
	mor_w_end(w);
}

static void write_file(struct mor_writer *w, const struct mor_content_file *file, bool identities)
{
	mor_w_object(w);
	mor_w_pair(w, "path", file->path);
	if (file->target) {
		mor_w_pair(w, "link", file->target);
	} else {
		mor_w_pair(w, "mode", file->executable ? "x" : "-");
		mor_w_key(w, "size");
		mor_w_uint(w, file->size);
		mor_w_pair(w, "sha256", file->sha256);
		if (identities)
			write_identity(w, &file->identity);
	}
	mor_w_end(w);
}

int mor_content_write(const struct mor_content *content, bool identities, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair(&w, "digest", content->digest);
	if (identities)
		mor_w_pair_int(&w, "made", content->made_ns);
	mor_w_pair_array(&w, "files");
	for (size_t i = 0; i < content->count; i++)
		write_file(&w, &content->files[i], identities);
	mor_w_end(&w);
	mor_w_end(&w);
	return out->status < 0 ? MORTISE_ENOMEM : 0;
}

/* ---- reading ---- */

/* Inode numbers may be larger than any int64_t: then they are written as such, and read as no identity at all,
 * so that the file is hashed. */
static struct mor_content_identity read_identity(const struct mor_value *id)
{
	int64_t part[5];

	for (size_t i = 0; i < 5; i++) {
		part[i] = mor_json_int(mor_json_item(id, i), -1);
		if (part[i] < 0)
			return (struct mor_content_identity){ 0 };
	}
	return (struct mor_content_identity){ (uint64_t)part[0], (uint64_t)part[1], (uint64_t)part[2], part[3],
					      part[4] };
}

static bool read_entry(const struct mor_value *value, struct mor_content_file *ret)
{
	const char *mode = mor_json_text(mor_json_get(value, "mode"), "");
	const char *sum = mor_json_text(mor_json_get(value, "sha256"), "");
	int64_t size = mor_json_int(mor_json_get(value, "size"), -1);

	ret->path = (char *)mor_json_text(mor_json_get(value, "path"), NULL);
	ret->target = (char *)mor_json_text(mor_json_get(value, "link"), NULL);
	if (!ret->path || ret->target)
		return ret->path;
	if ((strcmp(mode, "x") != 0 && strcmp(mode, "-") != 0) || size < 0 || !mor_digest_valid(sum))
		return false;
	ret->executable = *mode == 'x';
	ret->size = (uint64_t)size;
	memcpy(ret->sha256, sum, MOR_DIGEST_SIZE);
	ret->identity = read_identity(mor_json_get(value, "id"));
	return true;
}

static int read_files(const struct mor_value *files, struct mor_content *content, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(files);
	int r = 0;

	if (mor_json_type(files) != MOR_JSON_ARRAY)
		return mor_fail(err, MORTISE_EPROTO, "\"files\" is no array");
	while (r == 0 && mor_json_next(&it)) {
		struct mor_content_file file = { 0 };

		r = read_entry(it.value, &file) ?
			    mor_content_add(content, &file, err) :
			    mor_fail(err, MORTISE_EPROTO, "file %zu is not described completely",
				     content->count + 1);
	}
	return r;
}

int mor_content_read(struct mor_slice json, struct mor_content *ret, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_content) struct mor_content content = { 0 };
	int r = mor_doc_parse(json, 0, 0, &doc, err);

	if (r < 0)
		return r;
	content.made_ns = mor_json_int(mor_json_get(mor_doc_root(doc), "made"), 0);
	r = read_files(mor_json_get(mor_doc_root(doc), "files"), &content, err);
	if (r == 0)
		r = mor_content_seal(&content, "the list", err);
	if (r < 0)
		return r;
	if (strcmp(content.digest, mor_json_text(mor_json_get(mor_doc_root(doc), "digest"), "")) != 0)
		return mor_fail(err, MORTISE_EPROTO, "its digest is not that of its files");
	*ret = content;
	content = (struct mor_content){ 0 };
	return 0;
}
