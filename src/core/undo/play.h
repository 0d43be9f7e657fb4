/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the two files that undo: play.c does it, names.c makes the report. */
#ifndef MOR_UNDO_PLAY_H
#define MOR_UNDO_PLAY_H

#include "undo/undo.h"

struct mor_undo_state; /* state of a thing; see play.c */

/* One name in the entries. */
struct mor_undo_told {
	const char *path;
	size_t order;
	bool existed, there;               /* before the first of them; after the last */
	const char *why;                   /* it stays as it is */
	const struct mor_undo_entry *held; /* with its earlier content */
};

struct mor_undo_playing {
	const struct mor_undo_store *store;
	const struct mor_undo_player *player;
	struct mor_undo_result *ret;
	struct mor_undo_list list;
	int root;
	struct mor_undo_map state_of, anew_of; /* -> states; -> anew */
	struct mor_undo_state *states;
	struct mor_undo_id *anew; /* a removed thing that was made again is another thing */
	size_t state_count, state_room, anew_count, anew_room;
	struct mor_undo_told *names; /* sorted */
	size_t name_count, searched;
};

/* A name in its directory. */
struct mor_undo_place {
	int parent;
	const char *name;
	bool there;
	struct mor_undo_look look;
};

/* 0: place->there says whether it exists; close parent. A missing directory in the path, or one that has
 * become a link, is an error. */
int mor_undo_go_to(const struct mor_undo_playing *play, const char *path, struct mor_undo_place *place);
/* Writes the saved content of the entry's file into a file, which gets its length. 0 or -errno. */
int mor_undo_fill(const struct mor_undo_playing *play, int fd, const struct mor_undo_entry *entry);

/* Collects every name, before anything is undone. 0 or -ENOMEM. */
int mor_undo_gather(struct mor_undo_playing *play);
/* This one stays as it is. */
void mor_undo_leave(struct mor_undo_playing *play, const struct mor_undo_entry *entry, const char *path,
		    const char *why);
/* Everything possible is undone: counts, and reports what is left. */
void mor_undo_tell(struct mor_undo_playing *play);

#endif
