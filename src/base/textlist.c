/* SPDX-License-Identifier: Apache-2.0 */
#include "base/textlist.h"

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
