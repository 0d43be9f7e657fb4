/* SPDX-License-Identifier: Apache-2.0 */
#include "undo/known.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/alloc.h"

#define NONE UINT32_MAX

struct mor_undo_known *mor_undo_known_find(struct mor_undo *undo, const struct mor_undo_id *id)
{
	uint32_t at = mor_undo_map_get(&undo->index, id);

	return at == NONE ? NULL : &undo->known[at];
}

struct mor_undo_known *mor_undo_known_add(struct mor_undo *undo, const struct mor_undo_id *id, const char *path)
{
	struct mor_undo_known *known = mor_undo_known_find(undo, id);
	char *copy;

	if (known && known->path)
		return known;
	copy = mor_strdup(path);
	if (known && copy) { /* an unnamed file has got a name */
		known->path = copy;
		return known;
	}
	if (!copy || mor_grow(&undo->known, undo->count, &undo->room, sizeof(*undo->known)) < 0 ||
	    mor_undo_map_put(&undo->index, id, (uint32_t)undo->count) < 0) {
		mor_free(copy);
		return NULL;
	}
	known = &undo->known[undo->count++];
	*known = (struct mor_undo_known){ .id = *id, .path = copy, .watch = -1 };
	return known;
}

void mor_undo_hear(struct mor_undo *undo)
{
	char events[4096] __attribute__((aligned(8)));
	ssize_t got;

	pthread_mutex_lock(&undo->watch_gate);
	while (undo->watch >= 0 && (got = read(undo->watch, events, sizeof(events))) > 0) {
		for (ssize_t at = 0; at < got;) {
			const struct inotify_event *event = (const void *)(events + at);

			if (event->mask & IN_Q_OVERFLOW)
				undo->blind = true;
			else if (event->mask & IN_CLOSE_WRITE && event->wd >= 0 &&
				 (size_t)event->wd < undo->watch_room)
				undo->closes[event->wd]++;
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	pthread_mutex_unlock(&undo->watch_gate);
}

static int make_counter(struct mor_undo *undo, size_t watch)
{
	size_t room = undo->watch_room ? undo->watch_room : 64;
	uint32_t *larger;

	while (room <= watch)
		room *= 2;
	if (room == undo->watch_room)
		return 0;
	larger = mor_realloc(undo->closes, room * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	memset(larger + undo->watch_room, 0, (room - undo->watch_room) * sizeof(*larger));
	undo->closes = larger;
	undo->watch_room = room;
	return 0;
}

/* IN_OPEN only prevents that two closes become one event. */
void mor_undo_known_watch(struct mor_undo *undo, struct mor_undo_known *known, int fd)
{
	char name[32];
	int got;

	if (known->watch >= 0 || undo->watch < 0)
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	pthread_mutex_lock(&undo->watch_gate);
	got = inotify_add_watch(undo->watch, name, IN_OPEN | IN_CLOSE_WRITE);
	if (got >= 0 && make_counter(undo, (size_t)got) == 0)
		known->watch = got;
	pthread_mutex_unlock(&undo->watch_gate);
}
