/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that was generated from something else. #pragma kythe_metadata "FILE" names a file that says what: JSON
 * of Kythe's type kythe0. Where one of its rules covers the name of a definition, there is an edge between that
 * and what it was made of.
 */
#include "index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#define PRAGMA "kythe_metadata"

struct rule {
	struct rule *next;
	unsigned begin, end; /* of the name that is defined, in bytes */
	const char *edge;
	bool reversed;     /* from what it was made of; else to that */
	tenon_vname vname; /* of what it was made of; of an anchor: its file */
	bool is_anchor;    /* imputes: from a place in that file */
	unsigned source_begin, source_end;
};

static const char *text_of(struct index *ix, yyjson_val *object, const char *key)
{
	const char *text = yyjson_get_str(yyjson_obj_get(object, key));

	return text ? arena_copy(&ix->arena, text) : "";
}

static tenon_vname read_vname(struct index *ix, yyjson_val *object)
{
	return (tenon_vname){ text_of(ix, object, "signature"), text_of(ix, object, "corpus"),
			      text_of(ix, object, "root"), text_of(ix, object, "path"),
			      text_of(ix, object, "language") };
}

static bool read_span(yyjson_val *object, const char *begin, const char *end, unsigned *ret_begin,
		      unsigned *ret_end)
{
	yyjson_val *from = yyjson_obj_get(object, begin), *to = yyjson_obj_get(object, end);

	*ret_begin = (unsigned)yyjson_get_uint(from);
	*ret_end = (unsigned)yyjson_get_uint(to);
	return yyjson_is_uint(from) && yyjson_is_uint(to) && *ret_end > *ret_begin;
}

/* NULL with a reason: it cannot be used; NULL without one: it says nothing. */
static struct rule *read_rule(struct index *ix, yyjson_val *object, const char **ret_why)
{
	const char *type = text_of(ix, object, "type"), *edge = text_of(ix, object, "edge");
	struct rule *rule = arena_take(&ix->arena, sizeof(*rule));
	bool whole;

	*ret_why = NULL;
	if (strcmp(type, "nop") == 0)
		return NULL;
	rule->reversed = *edge == '%';
	rule->edge = edge + rule->reversed;
	rule->is_anchor = strcmp(type, "anchor_anchor") == 0;
	rule->vname = read_vname(ix, yyjson_obj_get(object, rule->is_anchor ? "source_vname" : "vname"));
	if (rule->is_anchor)
		whole = read_span(object, "target_begin", "target_end", &rule->begin, &rule->end) &&
			read_span(object, "source_begin", "source_end", &rule->source_begin, &rule->source_end);
	else if (strcmp(type, "anchor_defines") == 0)
		whole = read_span(object, "begin", "end", &rule->begin, &rule->end);
	else
		return *ret_why = arena_printf(&ix->arena, "rules of type \"%.40s\" are not supported", type),
		       NULL;
	if (whole && *rule->edge == '/')
		return rule;
	*ret_why = "a rule without its places or its edge";
	return NULL;
}

static void read_rules(struct index *ix, struct file *file, const char *path, yyjson_doc *doc)
{
	yyjson_val *root = yyjson_doc_get_root(doc), *object;
	const char *type = text_of(ix, root, "type"), *why = NULL;
	yyjson_arr_iter it = yyjson_arr_iter_with(yyjson_obj_get(root, "meta"));

	if (strcmp(type, "kythe0") != 0) {
		tenon_diagnose(ix->analyzer, path, 0, 0, "no metadata of type kythe0");
		return;
	}
	while ((object = yyjson_arr_iter_next(&it))) {
		struct rule *rule = read_rule(ix, object, &why);

		if (why)
			tenon_diagnose(ix->analyzer, path, 0, 0, "metadata: %s", why);
		if (!rule)
			continue;
		rule->next = file->rules;
		file->rules = rule;
	}
}

/* As an #include "FILE" would find it: beside the file, else from the working directory. */
static void load(struct index *ix, struct file *file, const char *name)
{
	const char *slash = strrchr(file->path, '/');
	char *beside =
		arena_printf(&ix->arena, "%.*s%s", slash ? (int)(slash - file->path) + 1 : 0, file->path, name);
	yyjson_read_err why;
	yyjson_doc *doc = yyjson_read_file(beside, 0, NULL, &why);

	if (!doc && why.code == YYJSON_READ_ERROR_FILE_OPEN)
		doc = yyjson_read_file(name, 0, NULL, &why);
	if (doc)
		read_rules(ix, file, beside, doc);
	else
		tenon_diagnose(ix->analyzer, file->path, 0, 0, "metadata %s: %s", name, why.msg);
	yyjson_doc_free(doc);
}

/* Between #if and #endif that the compiler skipped it is not there. */
static bool is_skipped(struct index *ix, const struct file *file, unsigned at)
{
	CXSourceRangeList *skipped = clang_getSkippedRanges(ix->tu, file->handle);
	bool found = false;

	for (unsigned i = 0; skipped && i < skipped->count && !found; i++) {
		unsigned start = 0, end = 0;

		clang_getFileLocation(clang_getRangeStart(skipped->ranges[i]), NULL, NULL, NULL, &start);
		clang_getFileLocation(clang_getRangeEnd(skipped->ranges[i]), NULL, NULL, NULL, &end);
		found = at >= start && at < end;
	}
	clang_disposeSourceRangeList(skipped);
	return found;
}

/* "#pragma kythe_metadata "FILE"", with the name at `at`. NULL: it is not that. */
static const char *pragma_file(struct index *ix, const struct file *file, const char *at)
{
	const char *end = file->text + file->len, *line = at, *quote, *close;

	while (line > file->text && line[-1] != '\n')
		line--;
	line += strspn(line, " \t");
	if (*line != '#' || strncmp(line + 1 + strspn(line + 1, " \t"), "pragma", 6) != 0)
		return NULL;
	quote = at + strlen(PRAGMA);
	quote += strspn(quote, " \t");
	close = quote < end && *quote == '"' ? memchr(quote + 1, '"', (size_t)(end - quote - 1)) : NULL;
	return close ? arena_printf(&ix->arena, "%.*s", (int)(close - quote - 1), quote + 1) : NULL;
}

void load_metadata(struct index *ix, struct file *file)
{
	const char *at = file->text, *end = file->text + file->len;

	while ((at = memmem(at, (size_t)(end - at), PRAGMA, strlen(PRAGMA)))) {
		const char *name = pragma_file(ix, file, at);

		if (name && !is_skipped(ix, file, (unsigned)(at - file->text)))
			load(ix, file, name);
		at += strlen(PRAGMA);
	}
}

/* The place in the source that it was made of: an anchor there, as its own indexer would have it. */
static const tenon_vname *source_anchor(struct index *ix, const struct rule *rule)
{
	struct file source = { .vname = rule->vname };

	return anchor(ix, &(struct range){ &source, rule->source_begin, rule->source_end });
}

void emit_generated(struct index *ix, const struct range *name, const tenon_vname *node)
{
	for (const struct rule *rule = name->file->rules; rule; rule = rule->next) {
		const tenon_vname *other = rule->is_anchor ? NULL : &rule->vname;

		if (rule->begin != name->start || rule->end != name->end)
			continue;
		if (rule->is_anchor)
			emit_edge(ix, source_anchor(ix, rule), rule->edge, node);
		else if (rule->reversed)
			emit_edge(ix, other, rule->edge, node);
		else
			emit_edge(ix, node, rule->edge, other);
	}
}
