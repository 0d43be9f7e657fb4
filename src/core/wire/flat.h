/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual params and results: one object of at most 64 bytes, whose members are strings, whole numbers, true,
 * false and null, all ASCII, without escapes, and with no blanks but one after a colon or a comma. One look at
 * all of its bytes finds the ends of its strings, and the rest is a few comparisons per member: a third of what
 * the general scan needs.
 *
 * It says only "valid" or "not known". A caller that gets the second asks the general scan (scan.h), which has
 * the last word and tells faults. What is valid here is valid there, with the same end: tests/fuzz/fuzz_flat.c.
 */
#ifndef MOR_WIRE_FLAT_H
#define MOR_WIRE_FLAT_H

#include "wire/scan.h"

/* p at a '{'. The position after its '}', or NULL: not known. Reads nothing from `end` on. */
mor_spot mor_flat_object(mor_spot p, mor_spot end);

#endif
