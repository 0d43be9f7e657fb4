/* SPDX-License-Identifier: Apache-2.0 */
/* The names of dialects, and what the library says of one. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/near.h"
#include "dialect/dialect.h"
#include "runner/runner.h"
#include "wire/json.h"

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

bool mor_runner_dialect_exists(const char *name)
{
	return mor_dialect_find(name);
}

int mor_runner_dialect_names(const char *separator, struct mor_buf *out)
{
	for (const struct mor_dialect *const *dialect = mor_dialects(); *dialect; dialect++)
		mor_buf_printf(out, "%s%s", dialect == mor_dialects() ? "" : separator, (*dialect)->name);
	return out->status;
}

int mor_runner_dialect_unknown(const char *name, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	struct mor_nearest nearest = { .word = name };
	const char *best;

	for (const struct mor_dialect *const *dialect = mor_dialects(); *dialect; dialect++)
		mor_nearest_offer(&nearest, (*dialect)->name);
	best = mor_nearest_best(&nearest);
	mor_runner_dialect_names(", ", &names);
	return mor_fail(err, MORTISE_ENOTFOUND, "no dialect \"%s\"%s%s%s %.*s", name,
			best ? "; did you mean " : "", best ? best : "",
			best ? "? There are:" : "; there are:", (int)names.len, names.data ? names.data : "");
}
