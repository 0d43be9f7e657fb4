/* SPDX-License-Identifier: Apache-2.0 */
/* Adds one unit with its files to the archive. */
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include "capture/capture.h"

/* ---- files that have been read ---- */

struct mor_capture_seen {
	char digest[MOR_DIGEST_SIZE];
	char path[];
};

static size_t slot_of(const struct mor_capture *capture, const char *path)
{
	size_t slot = (size_t)mor_hash(path, strlen(path)) & (capture->seen_slots - 1);

	while (capture->seen[slot] && strcmp(capture->seen[slot]->path, path) != 0)
		slot = (slot + 1) & (capture->seen_slots - 1);
	return slot;
}

static int make_seen_room(struct mor_capture *capture)
{
	struct mor_capture_seen **old = capture->seen;
	size_t slots = capture->seen_slots;

	if (2 * capture->seen_count < slots)
		return 0;
	capture->seen = mor_zalloc((slots ? 2 * slots : 1024) * sizeof(struct mor_capture_seen *));
	if (!capture->seen) {
		capture->seen = old;
		return MORTISE_ENOMEM;
	}
	capture->seen_slots = slots ? 2 * slots : 1024;
	for (size_t i = 0; i < slots; i++)
		if (old[i])
			capture->seen[slot_of(capture, old[i]->path)] = old[i];
	mor_free(old);
	return 0;
}

void mor_capture_forget(struct mor_capture *capture)
{
	for (size_t i = 0; i < capture->seen_slots; i++)
		mor_free(capture->seen[i]);
	capture->seen = mor_free(capture->seen);
	capture->seen_slots = capture->seen_count = 0;
}

static int read_file(struct mor_capture *capture, struct mor_slice path, struct mor_capture_seen **ret,
		     mortise_error *err)
{
	struct mor_capture_seen *file = mor_alloc(sizeof(*file) + path.len + 1);
	int r;

	if (!file)
		return mor_fail_memory(err);
	memcpy(file->path, path.ptr, path.len);
	file->path[path.len] = '\0';
	if ((r = mor_kzip_writer_add_path(capture->writer, file->path, file->digest, err)) < 0) {
		mor_free(file);
		return r;
	}
	*ret = file;
	capture->seen_count++;
	return 0;
}

/* Not cleaned: the kernel may resolve "link/../x" to another place than the text says. */
static int add_file(struct mor_capture *capture, const char *directory, const char *path,
		    const char **ret_digest, mortise_error *err)
{
	MOR_CLEAN_TEXT char *whole =
		*path == '/' ? mor_strdup(path) : mor_text_format("%s/%s", directory, path);
	size_t slot;
	int r;

	if (!whole || make_seen_room(capture) < 0)
		return mor_fail_memory(err);
	slot = slot_of(capture, whole);
	if (!capture->seen[slot] &&
	    (r = read_file(capture, mor_slice_of(whole), &capture->seen[slot], err)) < 0)
		return r;
	*ret_digest = capture->seen[slot]->digest;
	return 0;
}

/* ---- names ---- */

/* Below the working directory a file is named by its path from there; elsewhere by its absolute path without
 * the first "/", because no VName may begin with it. Rules see the "/". */
static int name_file(struct mor_capture *capture, const char *directory, const char *path,
		     struct mor_vname_own *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *whole = mor_path_cleaned(directory, path);
	const char *key;
	int r;

	if (!whole)
		return mor_fail_memory(err);
	key = mor_path_below(capture->cwd, whole);
	key = key ? key : whole;
	if ((r = mor_vname_rules_apply(capture->rules, key, ret, err)) < 0)
		return r;
	if (r == 0)
		ret->memory = mor_strdup(key + (*key == '/'));
	if (!ret->memory)
		return mor_fail_memory(err);
	if (r == 0)
		ret->vname = (struct mor_vname){ "", "", "", ret->memory, "" };
	/* A file's name has no signature and no language. */
	ret->vname.signature = "";
	return 0;
}

/* ---- the unit ---- */

struct record {
	struct mor_input *inputs;
	struct mor_vname_own *names;
	size_t count;
};

static void record_fini(struct record *record)
{
	for (size_t i = 0; i < record->count; i++)
		mor_vname_own_fini(&record->names[i]);
	mor_free(record->names);
	mor_free(record->inputs);
}

static bool is_listed(const char *path, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i], path) == 0)
			return true;
	return false;
}

static int add_input(struct mor_capture *capture, const struct mor_capture_source *what, const char *path,
		     struct record *record, mortise_error *err)
{
	struct mor_input *input = &record->inputs[record->count];
	struct mor_vname_own *name = &record->names[record->count];
	const char *digest = NULL;
	int r = name_file(capture, what->directory, path, name, err);

	if (r < 0)
		return r;
	record->count++;
	if ((r = add_file(capture, what->directory, path, &digest, err)) < 0)
		return r;
	*input = (struct mor_input){ .vname = name->vname, .path = path, .digest = digest };
	if (!*input->vname.corpus && capture->corpus)
		input->vname.corpus = capture->corpus;
	return 0;
}

static int add_inputs(struct mor_capture *capture, const struct mor_capture_source *what, struct record *record,
		      mortise_error *err)
{
	size_t most = what->source_count + what->input_count;
	int r = 0;

	record->inputs = mor_zalloc(most * sizeof(*record->inputs));
	record->names = mor_zalloc(most * sizeof(*record->names));
	if (!record->inputs || !record->names)
		return mor_fail_memory(err);
	for (size_t i = 0; r == 0 && i < what->source_count; i++)
		if (!is_listed(what->sources[i], what->sources, i))
			r = add_input(capture, what, what->sources[i], record, err);
	for (size_t i = 0; r == 0 && i < what->input_count; i++)
		if (!is_listed(what->inputs[i], what->sources, what->source_count))
			r = add_input(capture, what, what->inputs[i], record, err);
	return r;
}

static int choose_language(const struct mor_capture *capture, const struct mor_capture_source *what,
			   const char **ret, mortise_error *err)
{
	*ret = capture->language;
	for (size_t i = 0; !*ret && i < what->source_count; i++)
		*ret = mor_language_of(what->sources[i]);
	return *ret ? 0 :
		      mor_fail(err, MORTISE_EINVAL,
			       "the language cannot be told by the name of a source: use --language");
}

int mor_capture_unit(struct mor_capture *capture, const struct mor_capture_source *what, mortise_error *err)
{
	__attribute__((cleanup(record_fini))) struct record record = { 0 };
	const char *language = NULL, *corpus = capture->corpus;
	int r = choose_language(capture, what, &language, err);

	r = r ? r : add_inputs(capture, what, &record, err);
	if (r < 0)
		return r;
	return mor_kzip_writer_add_unit(capture->writer,
					&(struct mor_unit){
						.vname = { "", corpus ? corpus : "", "", "", language },
						.inputs = record.inputs,
						.input_count = record.count,
						.arguments = (const char **)(uintptr_t)what->arguments,
						.argument_count = what->argument_count,
						.sources = (const char **)(uintptr_t)what->sources,
						.source_count = what->source_count,
						.output_key = mor_compile_output(what->arguments,
										 what->argument_count),
						.working_directory = what->directory,
						.entry_context = "",
					},
					NULL, NULL, err);
}
