/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns as trees, for the files of this room. */
#ifndef MOR_TALK_INSIDE_H
#define MOR_TALK_INSIDE_H

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

/* Names and dots become strings that begin with U+0001. */
int mor_talk_pattern_parse(struct mor_slice pattern, struct mor_doc **ret, mortise_error *err);

#endif
