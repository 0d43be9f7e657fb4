/* SPDX-License-Identifier: Apache-2.0 */
/* Intrusive doubly linked list. The head is a separate node. A node that is in no list points to itself. */
#ifndef MOR_BASE_LIST_H
#define MOR_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct mor_list {
	struct mor_list *next, *prev;
};

/* clang-format off */
#define mor_container_of(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
/* clang-format on */

static inline void mor_list_init(struct mor_list *node)
{
	node->next = node->prev = node;
}

static inline bool mor_list_empty(const struct mor_list *head)
{
	return head->next == head;
}

static inline void mor_list_append(struct mor_list *head, struct mor_list *node)
{
	node->prev = head->prev;
	node->next = head;
	head->prev->next = node;
	head->prev = node;
}

static inline void mor_list_prepend(struct mor_list *head, struct mor_list *node)
{
	mor_list_append(head->next, node);
}

/* Safe on a node that is in no list. */
static inline void mor_list_remove(struct mor_list *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
	mor_list_init(node);
}

/* Removes and returns the first node, or NULL. */
static inline struct mor_list *mor_list_pop(struct mor_list *head)
{
	struct mor_list *node = head->next;

	if (node == head)
		return NULL;
	mor_list_remove(node);
	return node;
}

/* `after` is the next node, so the body may remove `node`. */
#define MOR_LIST_EACH(node, after, head) \
	for (struct mor_list *node = (head)->next, *after = node->next; node != (head); \
	     node = after, after = node->next)

#endif
