/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two files that undo: play.c does it, names.c knows what there is to tell. */
#ifndef MOR_UNDO_PLAY_H
#define MOR_UNDO_PLAY_H

#include "undo/undo.h"

struct mor_undo_state; /* of a thing; see play.c */

/* One name that the entries have. */
struct mor_undo_told {
	const char *path;
	size_t order;
	bool existed, there;               /* before the first of them; after the last */
	const char *why;                   /* it stays as it is                        */
	const struct mor_undo_entry *held; /* with what it held before                 */
};

struct mor_undo_playing {
	const struct mor_undo_store *store;
	const struct mor_undo_player *player;
	struct mor_undo_result *ret;
	struct mor_undo_list list;
	int root;
	struct mor_undo_map state_of, anew_of; /* -> states; -> anew */
	struct mor_undo_state *states;
	struct mor_undo_id *anew;              /* what was removed is another thing when it has been made anew */
	size_t state_count, state_room, anew_count, anew_room;
	struct mor_undo_told *names;           /* sorted */
	size_t name_count, searched;
};

/* A name in its directory. */
struct mor_undo_place {
	int parent;
	const char *name;
	bool there;
	struct mor_undo_look look;
};

/* 0: place->there tells whether it is, and parent is to be closed. A directory on the way that is gone, or has become a link,
 * is an error. */
int mor_undo_go_to(const struct mor_undo_playing *play, const char *path, struct mor_undo_place *place);
/* What the file of the entry held, into a file that is as long as it then. 0 or -errno. */
int mor_undo_fill(const struct mor_undo_playing *play, int fd, const struct mor_undo_entry *entry);

/* Every name, before anything is undone. 0 or -ENOMEM. */
int mor_undo_gather(struct mor_undo_playing *play);
/* This one stays as it is. */
void mor_undo_leave(struct mor_undo_playing *play, const struct mor_undo_entry *entry, const char *path, const char *why);
/* All is undone that could be: counts, and tells what was left. */
void mor_undo_tell(struct mor_undo_playing *play);

#endif
