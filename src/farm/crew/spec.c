/* SPDX-License-Identifier: Apache-2.0 */
#include "crew/spec.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "content/content.h"

#define VERSION    3
#define SPEC_LIMIT ((size_t)16 << 20)

/* The members of the first line, by their types. */
#define AT(name) offsetof(struct mor_crew_spec, name)
struct spec_member {
	const char *name;
	size_t offset;
};
/* clang-format off */
static const struct spec_member texts[] = {
	{ "analyzer", AT(analyzer) }, { "level", AT(level) }, { "on_denial", AT(on_denial) },
	{ "view", AT(view) }, { "dialect", AT(dialect) }, { "source", AT(source) },
};
static const struct spec_member flags[] = {
	{ "confine", AT(confine) }, { "unconfined", AT(unconfined) }, { "lenient", AT(lenient) },
	{ "strict", AT(strict) }, { "picked", AT(picked) }, { "metadata", AT(metadata) }, { "json", AT(json) },
};
static const struct spec_member numbers[] = { { "retries", AT(retries) }, { "unit_ms", AT(unit_ms) } };
static const struct spec_member digests[] = { { "files", AT(files) }, { "vnames", AT(vnames) } };
static const struct spec_member lists[] = {
	{ "set", AT(set) }, { "config", AT(config) }, { "timeout", AT(timeout) }, { "network", AT(network) },
	{ "types", AT(types) }, { "plugins", AT(plugins) }, { "options", AT(options) },
};
/* clang-format on */
#define FOR_EACH(item, table) \
	for (const struct spec_member *item = table; item < (table) + sizeof(table) / sizeof(*(table)); item++)

static void *member_of(const struct mor_crew_spec *spec, const struct spec_member *member)
{
	return (char *)spec + member->offset;
}

/* ---- writing ---- */

static void write_texts(struct mor_writer *w, const char *name, const char *const *items)
{
	mor_w_key(w, name);
	mor_w_array(w);
	for (; items && *items; items++)
		mor_w_string(w, *items);
	mor_w_end(w);
}

static void write_work(const struct mor_crew_spec *spec, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair_int(&w, "version", VERSION);
	mor_w_pair(&w, "command", spec->command);
	FOR_EACH(item, texts)
	mor_w_pair(&w, item->name, *(const char **)member_of(spec, item));
	FOR_EACH(item, flags)
	mor_w_pair_bool(&w, item->name, *(bool *)member_of(spec, item));
	FOR_EACH(item, numbers)
	mor_w_pair_int(&w, item->name, *(uint32_t *)member_of(spec, item));
	FOR_EACH(item, digests)
	mor_w_pair(&w, item->name, member_of(spec, item));
	FOR_EACH(item, lists)
	write_texts(&w, item->name, ((struct mor_text_list *)member_of(spec, item))->item);
	write_texts(&w, "argv", spec->argv);
	mor_w_end(&w);
}

static void write_inputs(const struct mor_crew_spec *spec, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_array(&w);
	for (size_t i = 0; i < spec->input_count; i++) {
		mor_w_object(&w);
		mor_w_pair(&w, "digest", spec->inputs[i].digest);
		mor_w_pair_int(&w, "units", (int64_t)spec->inputs[i].units);
		mor_w_end(&w);
	}
	mor_w_end(&w);
}

int mor_crew_spec_put(struct mor_depot *depot, struct mor_crew_spec *spec, char ret_run[MOR_DIGEST_SIZE],
		      mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	write_work(spec, &text);
	if (!mor_buf_failed(&text))
		mor_digest_of(text.data, text.len, spec->work);
	mor_buf_byte(&text, '\n');
	write_inputs(spec, &text);
	if (mor_buf_failed(&text))
		return mor_fail_memory(err);
	return mor_depot_put_text(depot, MOR_DEPOT_SPEC, mor_buf_view(&text), ret_run, err);
}

/* ---- reading ---- */

static int read_list(const struct mor_value *array, struct mor_text_list *ret)
{
	struct mor_json_iter it = mor_json_iter(array);
	int r = 0;

	while (r == 0 && mor_json_next(&it))
		r = mor_text_list_add(ret, mor_json_text(it.value, ""));
	return r;
}

static int read_work(const struct mor_value *work, struct mor_crew_spec *spec)
{
	struct mor_text_list words = { 0 };
	int r = 0;

	spec->command = mor_json_text(mor_json_get(work, "command"), "");
	FOR_EACH(item, texts)
	*(const char **)member_of(spec, item) = mor_json_text(mor_json_get(work, item->name), NULL);
	FOR_EACH(item, flags)
	*(bool *)member_of(spec, item) = mor_json_bool(mor_json_get(work, item->name), false);
	FOR_EACH(item, numbers)
	*(uint32_t *)member_of(spec, item) = (uint32_t)mor_json_int(mor_json_get(work, item->name), 0);
	FOR_EACH(item, digests)
	{
		const char *text = mor_json_text(mor_json_get(work, item->name), "");

		if (mor_digest_valid(text))
			memcpy(member_of(spec, item), text, MOR_DIGEST_SIZE);
	}
	for (size_t i = 0; r == 0 && i < sizeof(lists) / sizeof(*lists); i++)
		r = read_list(mor_json_get(work, lists[i].name), member_of(spec, &lists[i]));
	if (r == 0)
		r = read_list(mor_json_get(work, "argv"), &words);
	spec->words = words.item;
	spec->argv = words.count ? (const char *const *)words.item : NULL;
	return r;
}

static bool read_inputs(const struct mor_value *array, struct mor_crew_spec *spec)
{
	struct mor_json_iter it = mor_json_iter(array);

	spec->inputs = mor_zalloc((mor_json_size(array) + 1) * sizeof(*spec->inputs));
	while (spec->inputs && mor_json_next(&it)) {
		struct mor_crew_input *input = &spec->inputs[spec->input_count++];
		const char *digest = mor_json_text(mor_json_get(it.value, "digest"), "");
		int64_t units = mor_json_int(mor_json_get(it.value, "units"), -1);

		if (!mor_digest_valid(digest) || units < 0)
			return false;
		memcpy(input->digest, digest, MOR_DIGEST_SIZE);
		input->units = (uint64_t)units;
	}
	return spec->inputs != NULL;
}

static bool has_source(const struct mor_crew_spec *spec)
{
	return strcmp(spec->command, "extract") != 0 ||
	       (spec->source && (strcmp(spec->source, "bytes") == 0 || strcmp(spec->source, "path") == 0));
}

static int parse_spec(struct mor_slice text, struct mor_crew_spec *spec, mortise_error *err)
{
	const char *end = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
	struct mor_slice first = { text.ptr, end ? (size_t)(end - text.ptr) : 0 };
	int r;

	if (!end)
		return mor_fail(err, MORTISE_EINPUT, "this is not what a run is");
	mor_digest_of(first.ptr, first.len, spec->work);
	r = mor_doc_parse(first, 0, 0, &spec->docs[0], err);
	if (r == 0)
		r = mor_doc_parse((struct mor_slice){ end + 1, text.len - first.len - 1 }, 0, 0, &spec->docs[1],
				  err);
	if (r < 0)
		return r;
	if (mor_json_int(mor_json_get(mor_doc_root(spec->docs[0]), "version"), 0) != VERSION)
		return mor_fail(err, MORTISE_EINPUT, "this run was made by another version of mortise");
	if (read_work(mor_doc_root(spec->docs[0]), spec) < 0)
		return mor_fail_memory(err);
	if (!has_source(spec))
		return mor_fail(err, MORTISE_EINPUT, "its source is neither bytes nor path");
	if (!read_inputs(mor_doc_root(spec->docs[1]), spec))
		return mor_fail(err, MORTISE_EINPUT, "its list of inputs is wrong");
	return 0;
}

int mor_crew_spec_get(const struct mor_depot *depot, const char *run, struct mor_crew_spec *ret,
		      mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r = mor_depot_get_text(depot, MOR_DEPOT_SPEC, run, SPEC_LIMIT, &text, err);

	*ret = (struct mor_crew_spec){ 0 };
	if (r == 0)
		r = parse_spec(mor_buf_view(&text), ret, err);
	if (r < 0)
		mor_crew_spec_fini(ret);
	return r;
}

void mor_crew_spec_fini(struct mor_crew_spec *spec)
{
	FOR_EACH(item, lists)
	mor_free(((struct mor_text_list *)member_of(spec, item))->item);
	mor_free(spec->words);
	mor_free(spec->inputs);
	mor_doc_free(spec->docs[0]);
	mor_doc_free(spec->docs[1]);
	*spec = (struct mor_crew_spec){ 0 };
}

uint64_t mor_crew_spec_units(const struct mor_crew_spec *spec)
{
	uint64_t units = 0;

	for (size_t i = 0; i < spec->input_count; i++)
		units += spec->inputs[i].units;
	return units;
}

/* ---- digests ---- */

/* What cannot be read counts as nothing: the command that runs it will say so. */
static void add_place(struct sha256_ctx *sha, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char digest[MOR_DIGEST_SIZE] = "";
	struct mor_content content = { 0 };
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		mor_content_hash_fd(fd, (uint64_t)st.st_size, digest, path, NULL);
	else if (fd >= 0 && S_ISDIR(st.st_mode) && mor_content_scan_source(fd, path, &content, NULL) == 0)
		memcpy(digest, content.digest, sizeof(digest));
	mor_content_fini(&content);
	mor_fd_close(&fd);
	mor_digest_text(sha, digest);
}

void mor_crew_spec_files(const struct mor_crew_spec *spec, char ret[MOR_DIGEST_SIZE])
{
	const char *const *argv = spec->argv;
	struct sha256_ctx sha;

	mor_digest_begin(&sha);
	if (spec->analyzer)
		add_place(&sha, spec->analyzer);
	for (size_t i = 0; i < spec->plugins.count; i++)
		add_place(&sha, spec->plugins.item[i]);
	for (; argv && *argv; argv++) {
		struct stat st;

		mor_digest_text(&sha, *argv);
		if (strchr(*argv, '/') && stat(*argv, &st) == 0 && S_ISREG(st.st_mode))
			add_place(&sha, *argv);
	}
	mor_digest_end(&sha, ret);
}

void mor_crew_key(const char *work, uint64_t first, uint32_t count, mor_crew_digest_fn *digest, void *arg,
		  char ret[MOR_DIGEST_SIZE])
{
	struct sha256_ctx sha;

	mor_digest_begin(&sha);
	mor_digest_add(&sha, work, MOR_DIGEST_HEX);
	for (uint32_t i = 0; i < count; i++)
		mor_digest_text(&sha, digest(first + i, arg));
	mor_digest_end(&sha, ret);
}
