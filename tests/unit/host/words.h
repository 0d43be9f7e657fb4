/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an act or event line in a .talk script. Each takes what it reads off the front of *rest. */
#ifndef TESTS_UNIT_HOST_WORDS_H
#define TESTS_UNIT_HOST_WORDS_H

#include <stdbool.h>

#include "base/slice.h"

struct mor_slice trim(struct mor_slice s);
struct mor_slice next_word(struct mor_slice *rest);
struct mor_slice next_json(struct mor_slice *rest);
/* key=value with a value that may be quoted (then its quotes go) or JSON. */
bool next_pair(struct mor_slice *rest, struct mor_slice *key, struct mor_slice *value);
bool contains(const char *text, struct mor_slice part);

#endif
