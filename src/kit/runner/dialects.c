/* SPDX-License-Identifier: Apache-2.0 */
/* The list of dialects, as the library reports it. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "dialect/dialect.h"
#include "runner/runner.h"
#include "wire/json.h"

/* The JSON list has names, or objects with a name. */
static const char *name_of(const struct mor_value *entry)
{
	const char *name = mor_json_text(entry, NULL);

	return name ? name : mor_json_text(mor_json_get(entry, "name"), "");
}

struct mor_doc *mor_runner_dialect_table(const char *name)
{
	struct mor_doc *doc = NULL;
	char *text = NULL;

	if (mortise_dialect_describe(name, "json", &text, NULL) < 0)
		return NULL;
	mor_doc_parse(mor_slice_of(text), MOR_JSON_NAN, 0, &doc, NULL);
	mortise_free(text);
	return doc;
}

/* NULL if the library cannot list them. Then every name is unknown, and the error says so. */
static struct mor_doc *load_list(void)
{
	return mor_runner_dialect_table(NULL);
}

bool mor_runner_dialect_exists(const char *name)
{
	return mor_dialect_find(name);
}

int mor_runner_dialect_names(const char *separator, struct mor_buf *out)
{
	MOR_CLEAN(mor_doc) struct mor_doc *list = load_list();
	struct mor_json_iter it = mor_json_iter(mor_doc_root(list));
	size_t start = out->len;

	while (mor_json_next(&it)) {
		if (out->len > start)
			mor_buf_text(out, separator);
		mor_buf_text(out, name_of(it.value));
	}
	return out->status;
}

int mor_runner_dialect_unknown(const char *name, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *list = load_list();
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	struct mor_json_iter it = mor_json_iter(mor_doc_root(list));
	struct mor_nearest nearest = { .word = name };
	const char *best;

	while (mor_json_next(&it))
		mor_nearest_offer(&nearest, name_of(it.value));
	best = mor_nearest_best(&nearest);
	mor_runner_dialect_names(", ", &names);
	return mor_fail(err, MORTISE_ENOTFOUND, "no dialect \"%s\"%s%s%s %.*s", name,
			best ? "; did you mean " : "", best ? best : "",
			best ? "? There are:" : "; there are:", (int)names.len, names.data ? names.data : "");
}
