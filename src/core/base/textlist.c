/* SPDX-License-Identifier: Apache-2.0 */
#include "base/textlist.h"

#include <stdint.h>

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

void mor_text_list_free_texts(struct mor_text_list *list)
{
	mor_texts_free((char **)(uintptr_t)list->item);
	*list = (struct mor_text_list){ 0 };
}
