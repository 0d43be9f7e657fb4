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
#include "crew/inside.h"

#define VERSION    3
#define SPEC_LIMIT ((size_t)16 << 20)

enum field_type { TEXT, FLAG, NUMBER, DIGEST, LIST, FIRST /* of a list: a text */ };

/* The first line: its members in their order. Those of a kind are in kind->members; a kind without this member
 * writes what says nothing: null, false, 0, "" or []. */
#define AT(name) offsetof(struct mor_crew_spec, name)
#define OF_KIND  SIZE_MAX
/* clang-format off */
static const struct spec_field {
	const char *name;
	enum field_type type;
	size_t offset;
} fields[] = {
	{ "analyzer", FIRST, OF_KIND }, { "level", TEXT, AT(plugin.level) },
	{ "on_denial", TEXT, AT(plugin.on_denial) }, { "view", TEXT, OF_KIND },
	{ "dialect", TEXT, AT(plugin.dialect) }, { "source", TEXT, OF_KIND },
	{ "confine", FLAG, AT(plugin.confine) }, { "unconfined", FLAG, AT(plugin.unconfined) },
	{ "lenient", FLAG, OF_KIND }, { "strict", FLAG, AT(plugin.strict) }, { "picked", FLAG, OF_KIND },
	{ "metadata", FLAG, OF_KIND }, { "json", FLAG, OF_KIND }, { "retries", NUMBER, AT(retries) },
	{ "unit_ms", NUMBER, OF_KIND }, { "files", DIGEST, AT(files) }, { "vnames", DIGEST, OF_KIND },
	{ "set", LIST, AT(plugin.set) }, { "config", LIST, AT(plugin.config) },
	{ "timeout", LIST, AT(plugin.timeout) }, { "network", LIST, AT(plugin.network) },
	{ "types", LIST, OF_KIND }, { "plugins", LIST, OF_KIND }, { "options", LIST, OF_KIND },
};
/* clang-format on */
#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))

/* NULL: its kind has no such field. */
static void *field_place(const struct mor_crew_spec *spec, const struct spec_field *field)
{
	const struct mor_crew_member *member = spec->kind->members;

	if (field->offset != OF_KIND)
		return (char *)spec + field->offset;
	if (strcmp(field->name, spec->kind->programs) == 0)
		return (void *)&spec->programs;
	while (member->name && strcmp(member->name, field->name) != 0)
		member++;
	return member->name ? (char *)spec->own + member->offset : NULL;
}

static const struct mor_crew_kind *find_kind(const char *command)
{
	static const struct mor_crew_kind *const kinds[] = { &mor_crew_kind_index, &mor_crew_kind_extract };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(command, kinds[i]->command) == 0)
			return kinds[i];
	return NULL;
}

/* ---- writing ---- */

static void write_texts(struct mor_writer *w, const char *name, const char *const *items)
{
	mor_w_pair_array(w, name);
	for (; items && *items; items++)
		mor_w_string(w, *items);
	mor_w_end(w);
}

static void write_field(const struct spec_field *field, const void *place, struct mor_writer *w)
{
	static const struct mor_text_list nothing; /* zeros, for any type */
	const struct mor_text_list *list;

	list = place = place ? place : &nothing;
	if (field->type == FLAG)
		mor_w_pair_bool(w, field->name, *(const bool *)place);
	else if (field->type == NUMBER)
		mor_w_pair_int(w, field->name, *(const uint32_t *)place);
	else if (field->type == LIST)
		write_texts(w, field->name, list->item);
	else
		mor_w_pair(w, field->name,
			   field->type == DIGEST ? place :
			   field->type == TEXT   ? *(const char *const *)place :
			   list->item            ? list->item[0] :
						   NULL);
}

static void write_work(const struct mor_crew_spec *spec, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair_int(&w, "version", VERSION);
	mor_w_pair(&w, "command", spec->kind->command);
	for (size_t i = 0; i < FIELD_COUNT; i++)
		write_field(&fields[i], field_place(spec, &fields[i]), &w);
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

static int read_field(const struct mor_value *value, enum field_type type, void *place)
{
	const char *text = mor_json_text(value, NULL);

	if (type == FLAG)
		*(bool *)place = mor_json_bool(value, false);
	else if (type == NUMBER)
		*(uint32_t *)place = (uint32_t)mor_json_int(value, 0);
	else if (type == TEXT)
		*(const char **)place = text;
	else if (type == DIGEST && text && mor_digest_valid(text))
		memcpy(place, text, MOR_DIGEST_SIZE);
	else if (type == FIRST && text)
		return mor_text_list_add(place, text);
	return type == LIST ? read_list(value, place) : 0;
}

static int read_work(const struct mor_value *work, struct mor_crew_spec *spec, mortise_error *err)
{
	struct mor_text_list words = { 0 };
	int r = 0;

	spec->kind = find_kind(mor_json_text(mor_json_get(work, "command"), ""));
	if (!spec->kind)
		return mor_fail(err, MORTISE_EINPUT, "it needs another version of mortise");
	spec->own = mor_zalloc(spec->kind->own_size);
	if (!spec->own)
		return mor_fail_memory(err);
	for (size_t i = 0; r == 0 && i < FIELD_COUNT; i++) {
		void *place = field_place(spec, &fields[i]);

		if (place)
			r = read_field(mor_json_get(work, fields[i].name), fields[i].type, place);
	}
	r = r ? r : read_list(mor_json_get(work, "argv"), &words);
	spec->words = words.item;
	spec->argv = words.count ? (const char *const *)words.item : NULL;
	if (r < 0)
		return mor_fail_memory(err);
	return spec->kind->check ? spec->kind->check(spec->own, err) : 0;
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
	r = read_work(mor_doc_root(spec->docs[0]), spec, err);
	if (r == 0 && !read_inputs(mor_doc_root(spec->docs[1]), spec))
		r = mor_fail(err, MORTISE_EINPUT, "its list of inputs is wrong");
	return r;
}

int mor_crew_spec_get(const struct mor_depot *depot, const char *run, struct mor_crew_spec *ret,
		      mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r = mor_depot_get_text(depot, MOR_DEPOT_SPEC, run, SPEC_LIMIT, &text, err);

	*ret = (struct mor_crew_spec){ 0 };
	r = r ? r : parse_spec(mor_buf_view(&text), ret, err);
	if (r < 0)
		mor_crew_spec_fini(ret);
	return r;
}

void mor_crew_spec_fini(struct mor_crew_spec *spec)
{
	for (size_t i = 0; spec->own && i < FIELD_COUNT; i++)
		if (fields[i].type >= LIST && field_place(spec, &fields[i]))
			mor_free(((struct mor_text_list *)field_place(spec, &fields[i]))->item);
	mor_free(spec->own);
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
	for (size_t i = 0; i < spec->programs.count; i++)
		add_place(&sha, spec->programs.item[i]);
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
