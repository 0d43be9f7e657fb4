/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a JSON text a reader is, for the texts of its errors: "unit.details[2]: expected an object". */
#ifndef MOR_PB_WHERE_H
#define MOR_PB_WHERE_H

#include <stddef.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "wire/json.h"

struct mor_pb_where {
	struct mor_buf path;
	mortise_error *err;
};
/* Begin with .err and { 0 }; remember path.len, and set it back when the member is done. */
void mor_pb_where_member(struct mor_pb_where *where, struct mor_slice name);
void mor_pb_where_item(struct mor_pb_where *where, size_t index);
/* MORTISE_EINPUT, or MORTISE_ENOMEM if the path could not be kept. */
int mor_pb_refuse(struct mor_pb_where *where, const char *why);
int mor_pb_refuse_type(struct mor_pb_where *where, const char *wanted, const struct mor_value *value);

#endif
