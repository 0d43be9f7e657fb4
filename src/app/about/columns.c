/* SPDX-License-Identifier: Apache-2.0 */
#include "about/columns_inside.h"

#include <stdlib.h>
#include <string.h>

struct libscols_table *mor_columns_new(const char *const *titles, size_t count)
{
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; table && i < count; i++)
		scols_table_new_column(table, titles[i], 0, 0);
	return table;
}

struct libscols_line *mor_columns_add(struct libscols_table *table, const char *const *cells)
{
	struct libscols_line *line = table ? scols_table_new_line(table, NULL) : NULL;

	for (size_t i = 0; line && i < scols_table_get_ncols(table); i++)
		scols_line_set_data(line, i, cells[i]);
	return line;
}

void mor_columns_print(struct mor_console *out, struct libscols_table *table)
{
	char *text = NULL;

	if (!table)
		return;
	/* Values are never cut to the terminal's width: people read and copy them. */
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	if (!scols_table_is_empty(table) && scols_print_table_to_string(table, &text) == 0)
		for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
			size_t len = strcspn(at, "\n");

			while (len && at[len - 1] == ' ')
				len--;
			mor_outf(out, "  %.*s\n", (int)len, at);
		}
	free(text);
	scols_unref_table(table);
}
