/* SPDX-License-Identifier: Apache-2.0 */
/* A list of borrowed texts, such as the words of a command line. */
#ifndef MOR_BASE_TEXTLIST_H
#define MOR_BASE_TEXTLIST_H

#include <stdbool.h>
#include <stddef.h>

struct mor_text_list {
	const char **item; /* NULL-terminated; NULL: nothing was ever added. Free it with mor_free() */
	size_t count;
};

int mor_text_list_add(struct mor_text_list *list, const char *item); /* 0 or MORTISE_ENOMEM */
/* For a list whose texts are ours. Takes `text`, also where it fails; NULL is a failed allocation. */
int mor_text_list_add_take(struct mor_text_list *list, char *text);
void mor_text_list_sort(struct mor_text_list *list);
bool mor_text_list_has(const struct mor_text_list *list, const char *text);
/* For a list whose texts are ours: frees them and the list, which is empty then. */
void mor_text_list_free_texts(struct mor_text_list *list);

#endif
