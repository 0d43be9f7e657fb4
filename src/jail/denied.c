/* SPDX-License-Identifier: Apache-2.0 */
/* The list of denials. See denied.h. */
#include "jail/denied.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

/* Free slots must be left, and an index must fit into one. */
enum { SLOTS = 2048, LEARN_SLOTS = 32768, ITEM_TEXT = sizeof(((struct mor_record *)0)->path) };
_Static_assert(SLOTS > MOR_PLAN_DENIED_MAX && LEARN_SLOTS > MOR_PLAN_NEEDED_MAX, "a free slot must be left");
_Static_assert(MOR_PLAN_NEEDED_MAX < UINT16_MAX, "an index must fit into a slot");

struct mor_denied_item {
	uint64_t count, told; /* how often; as the host knows it, 0: not yet */
	const char *syscall;  /* of a static table */
	enum mor_forbidden what;
	bool allowed, with_spawn;
	char path[];
};

static uint32_t hash_of(const char *syscall, const char *path, size_t len)
{
	uint32_t hash = 2166136261u;

	for (const char *at = syscall; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * 16777619u;
	return hash;
}

static bool is_this(const struct mor_denied_item *item, const struct mor_denied_deed *deed, size_t len)
{
	return item->what == deed->what && item->allowed == deed->allowed &&
	       strcmp(item->syscall, deed->syscall) == 0 && strncmp(item->path, deed->path, len) == 0 &&
	       !item->path[len];
}

static size_t slot_count(const struct mor_denied *denied)
{
	return denied->learn ? LEARN_SLOTS : SLOTS;
}

static size_t item_max(const struct mor_denied *denied)
{
	return denied->learn ? MOR_PLAN_NEEDED_MAX : MOR_PLAN_DENIED_MAX;
}

static bool make_table(struct mor_denied *denied)
{
	if (!denied->slots)
		denied->slots = mor_zalloc(slot_count(denied) * sizeof(*denied->slots));
	if (!denied->items)
		denied->items = mor_zalloc(item_max(denied) * sizeof(*denied->items));
	return denied->slots && denied->items;
}

static void add_item(struct mor_denied *denied, uint16_t *slot, const struct mor_denied_deed *deed, size_t len)
{
	struct mor_denied_item *item;
	uint64_t one = 1;

	if (denied->count == item_max(denied) || !(item = mor_alloc(sizeof(*item) + len + 1)))
		return; /* it is counted all the same */
	*item = (struct mor_denied_item){ .count = 1,
					  .syscall = deed->syscall,
					  .what = deed->what,
					  .allowed = deed->allowed,
					  .with_spawn = deed->with_spawn };
	memcpy(item->path, deed->path, len);
	item->path[len] = '\0';
	denied->items[denied->count++] = item;
	*slot = (uint16_t)denied->count;
	if (write(denied->told, &one, sizeof(one)) < 0)
		return; /* it is told of at the end */
}

void mor_denied_note(struct mor_denied *denied, const struct mor_denied_deed *deed)
{
	size_t len = strnlen(deed->path, ITEM_TEXT - 1), slots = slot_count(denied);
	size_t at = hash_of(deed->syscall, deed->path, len) % slots;

	pthread_mutex_lock(&denied->lock);
	denied->total += !deed->allowed;
	if (make_table(denied)) {
		while (denied->slots[at] && !is_this(denied->items[denied->slots[at] - 1], deed, len))
			at = (at + 1) % slots;
		if (denied->slots[at])
			denied->items[denied->slots[at] - 1]->count++;
		else
			add_item(denied, &denied->slots[at], deed, len);
	}
	pthread_mutex_unlock(&denied->lock);
}

static void fill_record(const struct mor_denied_item *item, size_t index, struct mor_record *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = MOR_RECORD_DENIED;
	ret->forbidden = (uint8_t)item->what;
	ret->index = (uint32_t)index;
	ret->count = item->count;
	ret->allowed = item->allowed;
	ret->with_spawn = item->with_spawn;
	snprintf(ret->syscall, sizeof(ret->syscall), "%s", item->syscall);
	snprintf(ret->path, sizeof(ret->path), "%s", item->path);
	snprintf(ret->rule, sizeof(ret->rule), "%s", mor_forbidden_rows[item->what].rule);
}

bool mor_denied_next(struct mor_denied *denied, bool final, struct mor_record *ret)
{
	bool found = false;

	pthread_mutex_lock(&denied->lock);
	for (size_t i = final ? 0 : denied->next; i < denied->count && !found; i++) {
		found = denied->items[i]->told != denied->items[i]->count;
		if (found)
			fill_record(denied->items[i], i, ret);
	}
	pthread_mutex_unlock(&denied->lock);
	return found;
}

void mor_denied_sent(struct mor_denied *denied, const struct mor_record *record)
{
	pthread_mutex_lock(&denied->lock);
	denied->items[record->index]->told = record->count;
	if (denied->next <= record->index)
		denied->next = record->index + 1;
	pthread_mutex_unlock(&denied->lock);
}

uint64_t mor_denied_total(struct mor_denied *denied)
{
	uint64_t total;

	pthread_mutex_lock(&denied->lock);
	total = denied->total;
	pthread_mutex_unlock(&denied->lock);
	return total;
}

void mor_denied_hear(struct mor_denied *denied)
{
	uint64_t count;

	if (read(denied->told, &count, sizeof(count)) < 0)
		return; /* it was empty */
}
