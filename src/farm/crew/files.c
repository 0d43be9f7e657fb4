/* SPDX-License-Identifier: Apache-2.0 */
#include "crew/files.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define LIST_LIMIT ((size_t)256 << 20)

void mor_crew_file_digest(const struct mor_crew_file *file, char ret[MOR_DIGEST_SIZE])
{
	struct sha256_ctx sha;
	char code[16];

	snprintf(code, sizeof(code), "%d", file->code);
	mor_digest_begin(&sha);
	mor_digest_text(&sha, file->name);
	mor_digest_text(&sha, file->mime);
	mor_digest_text(&sha, file->extension);
	mor_digest_text(&sha, file->place);
	mor_digest_text(&sha, file->digest);
	mor_digest_text(&sha, code);
	mor_digest_text(&sha, file->why);
	mor_digest_end(&sha, ret);
}

void mor_crew_files_add(struct mor_writer *list, const struct mor_crew_file *file)
{
	mor_w_object(list);
	mor_w_pair(list, "name", file->name);
	mor_w_pair(list, "mime", file->mime);
	mor_w_pair(list, "extension", file->extension);
	mor_w_pair(list, "place", file->place);
	mor_w_pair(list, "digest", file->digest);
	mor_w_pair_int(list, "code", file->code);
	mor_w_pair(list, "why", file->why);
	mor_w_end(list);
}

static const char *text_of(const struct mor_value *object, const char *name)
{
	return mor_json_text(mor_json_get(object, name), "");
}

static bool read_file(const struct mor_value *object, struct mor_crew_file *ret)
{
	const char *digest = text_of(object, "digest");

	*ret = (struct mor_crew_file){ .name = text_of(object, "name"),
				       .mime = text_of(object, "mime"),
				       .extension = text_of(object, "extension"),
				       .place = text_of(object, "place"),
				       .code = (int)mor_json_int(mor_json_get(object, "code"), 0),
				       .why = text_of(object, "why") };
	if (ret->code)
		return ret->code < 0;
	if (!mor_digest_valid(digest) || (*ret->place && *ret->place != '/'))
		return false;
	memcpy(ret->digest, digest, MOR_DIGEST_SIZE);
	return true;
}

int mor_crew_files_get(const struct mor_depot *depot, const char *digest, struct mor_crew_files *ret,
		       mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r = mor_depot_get_text(depot, MOR_DEPOT_SPEC, digest, LIST_LIMIT, &text, err);
	struct mor_json_iter it;
	bool good = true;

	*ret = (struct mor_crew_files){ 0 };
	r = r ? r : mor_doc_parse(mor_buf_view(&text), 0, 0, &ret->doc, err);
	if (r < 0)
		return r;
	ret->files = mor_zalloc((mor_json_size(mor_doc_root(ret->doc)) + 1) * sizeof(*ret->files));
	it = mor_json_iter(mor_doc_root(ret->doc));
	while (ret->files && good && mor_json_next(&it))
		good = read_file(it.value, &ret->files[ret->count++]);
	if (ret->files && good)
		return 0;
	r = ret->files ? mor_fail(err, MORTISE_EINPUT, "its list of files is wrong") : mor_fail_memory(err);
	mor_crew_files_fini(ret);
	return r;
}

void mor_crew_files_fini(struct mor_crew_files *files)
{
	mor_free(files->files);
	mor_doc_free(files->doc);
	*files = (struct mor_crew_files){ 0 };
}
