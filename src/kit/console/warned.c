/* SPDX-License-Identifier: Apache-2.0 */
#include "console/warned.h"

#include "base/alloc.h"

void mor_warned_keep(struct mor_console *console, const char *text)
{
	struct mor_text_list *list = &console->warned;

	if (console->json && list->count < MOR_WARNED_MAX && !mor_text_list_has(list, text))
		(void)mor_text_list_add_take(list, mor_strdup(text));
}

void mor_warned_write_items(struct mor_console *console, struct mor_writer *w)
{
	for (size_t i = 0; i < console->warned.count; i++)
		mor_w_string(w, console->warned.item[i]);
	mor_text_list_free_texts(&console->warned);
}

void mor_warned_write(struct mor_console *console, struct mor_writer *w)
{
	if (!console->warned.count)
		return;
	mor_w_pair_array(w, "warnings");
	mor_warned_write_items(console, w);
	mor_w_end(w);
}
