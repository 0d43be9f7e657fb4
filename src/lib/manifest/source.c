/* SPDX-License-Identifier: Apache-2.0 */
/* The foreign manifest of a directory: finds it, reads its text and its tree. Its meaning is handled by its
 * own format. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "manifest/internal.h"

/* In the order of the search. manifest.json is last: many other programs have a file of that name. */
static const struct mor_format *const formats[] = { &mor_yams_format, &mor_sunscreen_format,
						    &mor_sunscreen_json_format, &mor_gassist_format };
#define FORMATS (sizeof(formats) / sizeof(*formats))

bool mor_source_is_manifest(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (strcmp(formats[i]->file, name) == 0)
			return true;
	return false;
}

void mor_source_fini(struct mor_source *source)
{
	mor_free(source->shown);
	mor_free(source->text);
	mor_doc_free(source->lines);
	*source = (struct mor_source){ 0 };
}

/* ---- text -> tree ---- */

/* The parser's "WHAT at byte N (line L, column C)" -> "FILE:L:C: WHAT". */
static int fail_json(mortise_error *err, const char *shown, const mortise_error *why)
{
	const char *at = strstr(why->text, " at byte ");
	size_t byte, line, column;

	if (!at || sscanf(at, " at byte %zu (line %zu, column %zu)", &byte, &line, &column) != 3)
		return mor_fail(err, MORTISE_EMANIFEST, "%s: %s", shown, why->text);
	return mor_fail(err, MORTISE_EMANIFEST, "%s:%zu:%zu: %.*s: correct the JSON there", shown, line, column,
			(int)(at - why->text), why->text);
}

int mor_source_no_memory(struct mor_load *load)
{
	return mor_fail_memory_of(load->err, load->source.shown);
}

static int parse_source(struct mor_load *load, struct mor_slice json, struct mor_doc **ret)
{
	mortise_error why;
	int r = mor_doc_parse(json, 0, 0, ret, &why);

	if (r == MORTISE_ENOMEM)
		return mor_source_no_memory(load);
	return r < 0 ? fail_json(load->err, load->source.shown, &why) : 0;
}

static int parse_converted(struct mor_load *load, const struct mor_format *format)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT, lines = MOR_BUF_INIT;
	struct mor_source *source = &load->source;
	int r = format->convert(source->shown, source->text, source->len, &json, &lines, load->err);

	if (r == 0)
		r = parse_source(load, mor_buf_view(&json), &load->m->doc);
	return r < 0 ? r : parse_source(load, mor_buf_view(&lines), &source->lines);
}

/* A byte order mark; editors on Windows write it. */
static void drop_bom(struct mor_source *source)
{
	if (source->len < 3 || memcmp(source->text, "\xef\xbb\xbf", 3) != 0)
		return;
	source->len -= 3;
	memmove(source->text, source->text + 3, source->len + 1);
}

/* ---- one format, all formats ---- */

static int forget_source(struct mor_load *load)
{
	mor_source_fini(&load->source);
	load->m->doc = mor_doc_free(load->m->doc);
	return 0;
}

/* Who confines asks for permissions, and what was granted is remembered by the bytes that asked for it. */
static int keep_digest(struct mor_load *load)
{
	char sha256[MOR_DIGEST_SIZE];

	mor_digest_of(load->source.text, load->source.len, sha256);
	load->m->sha256 = mor_strdup(sha256);
	return load->m->sha256 ? 0 : mor_source_no_memory(load);
}

static int read_format(struct mor_load *load, const struct mor_format *format)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(load->dir, format->file);
	struct mor_source *source = &load->source;
	int r;

	source->shown = mor_path_join(load->shown, format->file);
	if (!path || !source->shown)
		return mor_fail_memory_of(load->err, load->shown);
	r = mor_manifest_see(load, path, source->shown, &source->text, &source->len);
	if (r <= 0)
		return r < 0 ? r : forget_source(load);
	if (format->confines && (r = keep_digest(load)) < 0)
		return r;
	drop_bom(source);
	r = format->convert ?
		    parse_converted(load, format) :
		    parse_source(load, (struct mor_slice){ source->text, source->len }, &load->m->doc);
	if (r < 0)
		return r;
	if (format->is_ours && !load->only && !format->is_ours(mor_doc_root(load->m->doc)))
		return forget_source(load);
	load->format = format;
	load->m->file = mor_take(&path);
	r = format->read(load);
	return r < 0 ? r : 1;
}

/* Two manifests mean two ways to speak to the plugin: the user must know which one was used. */
static int warn_others(struct mor_load *load, size_t after)
{
	for (size_t i = after + 1; i < FORMATS && !load->only; i++) {
		MOR_CLEAN_TEXT char *path = mor_path_join(load->dir, formats[i]->file);

		if (!path)
			return mor_fail_memory_of(load->err, load->shown);
		if (!formats[i]->is_ours && mor_path_is_file(path) &&
		    mor_manifest_warn(load->m, "%s: %s is used, %s is not; to use it, name that file",
				      load->shown, load->format->file, formats[i]->file) < 0)
			return mor_fail_memory_of(load->err, load->shown);
	}
	return 1;
}

int mor_source_load(struct mor_load *load)
{
	for (size_t i = 0; i < FORMATS; i++) {
		int r;

		if (load->only && strcmp(load->only, formats[i]->file) != 0)
			continue;
		r = read_format(load, formats[i]);
		if (r != 0)
			return r < 0 ? r : warn_others(load, i);
	}
	return 0;
}

/* ---- actions ---- */

void mor_action_add(struct mor_writer *w, const struct mor_action *action)
{
	struct mor_buf name = MOR_BUF_INIT;

	mor_buf_printf(&name, "%s:%s", action->kind, action->name);
	mor_w_object(w);
	mor_w_pair_slice(w, "name", mor_buf_view(&name));
	mor_w_pair(w, "kind", action->kind);
	mor_w_pair(w, "description", action->description && *action->description ? action->description : NULL);
	mor_w_end(w);
	if (name.status)
		w->out->status = name.status;
	mor_buf_fini(&name);
}

int mor_actions_keep(struct mor_load *load, const struct mor_buf *json)
{
	int r = json->status ? json->status : mor_doc_parse(mor_buf_view(json), 0, 0, &load->m->actions, NULL);

	return r < 0 ? mor_source_no_memory(load) : 0;
}
