/* SPDX-License-Identifier: Apache-2.0 */
#include "console/warned.h"

#include <string.h>

#include "base/alloc.h"

void mor_warned_keep(struct mor_console *console, const char *text)
{
	struct mor_text_list *list = &console->warned;
	char *copy;

	if (!console->json || list->count == MOR_WARNED_MAX)
		return;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->item[i], text) == 0)
			return;
	copy = mor_strndup(text, strlen(text));
	if (!copy || mor_text_list_add(list, copy) < 0)
		mor_free(copy);
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
	mor_w_key(w, "warnings");
	mor_w_array(w);
	mor_warned_write_items(console, w);
	mor_w_end(w);
}
