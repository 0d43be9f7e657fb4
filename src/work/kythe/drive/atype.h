/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analysis types: "/kythe/index/java". An analyzer asks for types, and a unit offers one. A missing first
 * slash and "indexer" for "index" are corrected, because the specification's own examples have them.
 */
#ifndef MOR_KYTHE_DRIVE_ATYPE_H
#define MOR_KYTHE_DRIVE_ATYPE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/slice.h"

/* "/", or words after slashes: letters and digits of any script, and -.@#$%&_+:() */
bool mor_atype_valid(struct mor_slice type);
/* The normalized form for comparing: with its slash, "/kythe/indexer/x" as "/kythe/index/x". 0 or the
 * buffer's status. */
int mor_atype_normal(struct mor_slice type, struct mor_buf *out);
/* Does `offered` match `asked`: equal, or below it? Both are normalized. "/" asks for anything. */
bool mor_atype_matches(struct mor_slice asked, struct mor_slice offered);

#endif
