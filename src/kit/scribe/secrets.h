/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets by their names. A member whose name looks like that of a secret (docs/reference/talk.md has the list)
 * loses its value: in its place stands a name of the .talk format, `$secret_token_1`. The same value gets the
 * same name everywhere in a file, so that a replay still knows which values must be equal. null, true, false
 * and "" stay.
 */
#ifndef MOR_SCRIBE_SECRETS_H
#define MOR_SCRIBE_SECRETS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

#define MOR_SECRET_NAME   56
#define MOR_SECRETS_KNOWN 1024 /* values that are recognized again */

struct mor_secrets {
	const char *const *more, *const *keep; /* names that are secret too, and names that are not; or NULL */
	struct mor_secret {
		uint64_t hash; /* of the value */
		char name[MOR_SECRET_NAME];
	} * known;
	size_t count, cap; /* count: since the start */
};

void mor_secrets_fini(struct mor_secrets *secrets);
/* Appends a valid JSON text on one line, with secrets replaced. 0 or the buffer's status. */
int mor_secrets_json(struct mor_secrets *secrets, struct mor_slice json, struct mor_buf *out);
/* The same for any other bytes, as far as a name with "=" or ":" and a value can be recognized: the value
 * becomes ***. */
#define MOR_SECRETS_STARS "***"
int mor_secrets_text(struct mor_secrets *secrets, struct mor_slice text, struct mor_buf *out);

#endif
