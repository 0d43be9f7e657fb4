/* SPDX-License-Identifier: Apache-2.0 */
/* Text from a dialect's table: for people, as JSON, and as OpenRPC for other tools. Each appends to `out`,
 * and returns 0 or the buffer's status. */
#ifndef MOR_EXPLAIN_EXPLAIN_H
#define MOR_EXPLAIN_EXPLAIN_H

#include "base/buf.h"
#include "dialect/dialect.h"

int mor_explain_text(const struct mor_dialect *dialect, struct mor_buf *out);
/* The same, in the words of the command `mortise`: its options, and an example. */
int mor_explain_command(const struct mor_dialect *dialect, struct mor_buf *out);
int mor_explain_json(const struct mor_dialect *dialect, struct mor_buf *out);
int mor_explain_openrpc(const struct mor_dialect *dialect, struct mor_buf *out);

#endif
