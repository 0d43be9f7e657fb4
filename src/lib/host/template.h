/* SPDX-License-Identifier: Apache-2.0 */
/* A row's template with its ${words} replaced by JSON values; dialect.h explains the words. */
#ifndef MOR_HOST_TEMPLATE_H
#define MOR_HOST_TEMPLATE_H

#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"

struct mor_template_words {
	int64_t id;
	const char *action;
	struct mor_slice params, extra;
};

/* `words` may be NULL if the row uses none of them. */
int mor_template_fill(mortise_plugin *plugin, const char *template, const struct mor_template_words *words,
		      struct mor_buf *out);

#endif
