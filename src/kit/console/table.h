/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of short texts in columns. Cells are made printable and cut; nothing stands behind the last one, which
 * is cut on a terminal only. */
#ifndef MOR_CONSOLE_TABLE_H
#define MOR_CONSOLE_TABLE_H

#include "console/console.h"

#define MOR_TABLE_COLUMNS 8

struct mor_table {
	char **cells; /* row by row, `columns` each */
	size_t columns, count, cap;
	size_t width[MOR_TABLE_COLUMNS];
	bool failed; /* no memory: _print() says so */
};

/* One row: texts up to NULL, as many as in the first row. They are copied. */
void mor_table_add(struct mor_table *table, const char *const *cells);
int mor_table_print(const struct mor_table *table, struct mor_console *console, mortise_error *err);
void mor_table_fini(struct mor_table *table);

#endif
