/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of mortise_plugin_set_view(), as an embedder calls it and as the plugin (tests/plugins/eye.py) sees it.
 *
 *	TEST LEVEL          guarded or t1
 *	TEST LEVEL nobody   the same as an ordinary user, where we are root
 *	TEST LEVEL mounts   in a mount namespace of our own, where mounts can be made
 *	TEST LEVEL listed   the same, and every order names the directories of its stage
 *	TEST LEVEL refused  in a user namespace that lets nobody make mount namespaces
 */
#ifndef TESTS_API_VIEW_H
#define TESTS_API_VIEW_H

#include <mortise/view.h>

#include "api.h"

extern char top[64]; /* all that we make lies below; its top-level directory is "var" */
extern const char *level;
bool confined(void);

/* One of the last eight texts. */
char *path_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A file; STAGE is a name below our own directory. */
void put(const char *stage, const char *name, const char *text);

void open_eye(struct rig *rig, const char *const *set);
void open_here(struct rig *rig); /* with a view, at our level, and running */
/* What the plugin says about a path. */
void expect(struct rig *rig, const char *action, const char *path, const char *want);

struct answer {
	int count, status, order;
	mortise_error error;
};
extern int answers; /* so far: their order */
/* that an order of the world "listed" names, though they do not exist; up to 800 */
extern size_t more_directories;

/* The stage whole; NULL: none. The answer comes later. */
void order(struct rig *rig, const char *stage, const char *const *writable, struct answer *answer);
/* The stage by its name below our own directory, or whole; NULL: none. */
struct answer try_view(struct rig *rig, const char *stage, const char *const *writable);
/* ... that must succeed. */
void view(struct rig *rig, const char *stage);

/* Each test program's own: called by main() once there is a directory. */
int run_in(const char *world);

#endif
