/* SPDX-License-Identifier: Apache-2.0 */
#include "base/textlist.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/mortise.h>

#include "base/alloc.h"

/* NULL-terminated after every step, because it is passed to the library as it is. */
int mor_text_list_add(struct mor_text_list *list, const char *item)
{
	const char **grown = mor_realloc(list->item, (list->count + 2) * sizeof(*grown));

	if (!grown)
		return MORTISE_ENOMEM;
	grown[list->count++] = item;
	grown[list->count] = NULL;
	list->item = grown;
	return 0;
}

int mor_text_list_add_take(struct mor_text_list *list, char *text)
{
	int r = text ? mor_text_list_add(list, text) : MORTISE_ENOMEM;

	if (r < 0)
		mor_free(text);
	return r;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void mor_text_list_sort(struct mor_text_list *list)
{
	if (list->count)
		qsort(list->item, list->count, sizeof(*list->item), by_text);
}

bool mor_text_list_has(const struct mor_text_list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->item[i], text) == 0)
			return true;
	return false;
}

void mor_text_list_free_texts(struct mor_text_list *list)
{
	mor_texts_free((char **)(uintptr_t)list->item);
	*list = (struct mor_text_list){ 0 };
}
