/* SPDX-License-Identifier: Apache-2.0 */
#include "console/table.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

#define CELL_SIZE 120
#define LAST_SIZE 4400 /* of the last column: a program behind a pipe wants all of it */

static void add_cell(struct mor_table *table, size_t column, const char *text, bool last)
{
	char shown[LAST_SIZE], *copy;
	size_t len;

	mor_printable(mor_slice_of(text), shown, last ? LAST_SIZE : CELL_SIZE);
	copy = mor_strdup(shown);
	if (!copy || mor_grow(&table->cells, table->count, &table->cap, sizeof(*table->cells)) < 0) {
		mor_free(copy);
		table->failed = true;
		return;
	}
	table->cells[table->count++] = copy;
	len = strlen(copy);
	if (!last)
		table->width[column] = len > table->width[column] ? len : table->width[column];
}

void mor_table_add(struct mor_table *table, const char *const *cells)
{
	size_t columns = 0;

	for (; columns < MOR_TABLE_COLUMNS && cells[columns]; columns++)
		add_cell(table, columns, cells[columns], !cells[columns + 1]);
	table->columns = columns;
}

static void put_cell(const struct mor_table *table, size_t row, size_t column, bool cut, struct mor_buf *out)
{
	const char *cell = table->cells[row + column];
	char shown[CELL_SIZE];

	if (cut && column + 1 == table->columns)
		cell = mor_printable(mor_slice_of(cell), shown, sizeof(shown));
	mor_buf_printf(out, "%-*s  ", (int)table->width[column], cell);
}

int mor_table_print(const struct mor_table *table, struct mor_console *console, mortise_error *err)
{
	if (table->failed)
		return mor_fail_memory(err);
	for (size_t row = 0; row < table->count; row += table->columns) {
		MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

		for (size_t i = 0; i < table->columns; i++)
			put_cell(table, row, i, console->out_terminal, &line);
		while (line.len && line.data[line.len - 1] == ' ')
			line.len--;
		mor_buf_byte(&line, '\n');
		mor_out(console, mor_buf_view(&line));
	}
	return 0;
}

void mor_table_fini(struct mor_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		mor_free(table->cells[i]);
	mor_free(table->cells);
	*table = (struct mor_table){ 0 };
}
