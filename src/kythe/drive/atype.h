/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Analysis types: "/kythe/index/java". What an analyzer asks for and what a unit offers. Missing slashes at the front and
 * "indexer" for "index" are mended, because the specification's own examples are written so.
 */
#ifndef MOR_KYTHE_DRIVE_ATYPE_H
#define MOR_KYTHE_DRIVE_ATYPE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/slice.h"

/* "/", or words after slashes: letters and digits of any script, and -.@#$%&_+:() */
bool mor_atype_valid(struct mor_slice type);
/* As it is compared: with its slash, "/kythe/indexer/x" as "/kythe/index/x". 0 or the buffer's status. */
int mor_atype_normal(struct mor_slice type, struct mor_buf *out);
/* Whether `offered` is what `asked` means: equal, or below it. Both normal. "/" asks for anything. */
bool mor_atype_matches(struct mor_slice asked, struct mor_slice offered);

#endif
