/* SPDX-License-Identifier: Apache-2.0 */
/* A table below a title. libsmartcols knows how wide a character is on the screen. NULL, no memory: every
 * function accepts it. */
#ifndef MOR_ABOUT_COLUMNS_H
#define MOR_ABOUT_COLUMNS_H

#include <libsmartcols/libsmartcols.h>

#include "console/console.h"

struct libscols_table *mor_columns_new(const char *const *titles, size_t count);
struct libscols_line *mor_columns_add(struct libscols_table *table, const char *const *cells);
/* Frees it. */
void mor_columns_print(struct mor_console *out, struct libscols_table *table);

#endif
