/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From what a program needed to the smallest policy that covers it (`mortise jail --learn`, `--audit`). Texts
 * in, texts out: the file system is seen only through the caller's two functions.
 *
 * How paths become rules:
 *  - What may be secret is withheld: keys, tokens, cookies, other users' files. So is what cannot be written
 *    down, and a directory that holds something secret, or that is too wide: "/", those right below it,
 *    /home/X, a home directory and its collections (.config, .local/share, .cache and so on).
 *  - Three or more paths right in one directory become that directory, again and again upwards, unless it
 *    is one of those.
 *  - What lies below another rule is left out; so is what `spawn` grants, if the program needs that anyway.
 */
#ifndef MOR_POLICY_LEARN_H
#define MOR_POLICY_LEARN_H

#include "policy/forbidden.h"

enum { MOR_LEARN_FOLD = 3 }; /* so many in one directory become the directory */

/* Why something that was asked for is not granted. */
enum mor_learn_why {
	MOR_LEARN_GRANTED,
	MOR_LEARN_SECRET,  /* by its name it may be a key, a token, a cookie */
	MOR_LEARN_OTHERS,  /* another user's */
	MOR_LEARN_WIDE,    /* too much lies in it */
	MOR_LEARN_HOLDS,   /* something secret lies in it */
	MOR_LEARN_ODD,     /* its name cannot be written down in a text */
	MOR_LEARN_NETWORK, /* only --network grants it */
	MOR_LEARN_PLACE,   /* the same; the path is the place */
	MOR_LEARN_OUTSIDE, /* a write outside of the workspace */
	MOR_LEARN_TOOL,    /* a write to what tools run by themselves */
	MOR_LEARN_NEVER,   /* no permission allows it; the path is what it tried */
	MOR_LEARN_WHYS
};
/* For people: "may be secret: keys, tokens, cookies". */
const char *mor_learn_why_text(enum mor_learn_why why);

struct mor_learn_path {
	char *path;
	enum mor_learn_why why;
	bool with_spawn;
};
struct mor_learn {
	const char *home;                                 /* $HOME; NULL: none */
	const char *login;                                /* as the machine has it; NULL: the same */
	bool (*is_others)(const char *path, void *arg);   /* NULL: none is */
	bool (*holds_secret)(const char *dir, void *arg); /* NULL: none does */
	void *arg;
	bool spawn, write, git;       /* needed */
	struct mor_learn_path *paths; /* after mor_learn_finish(): sorted, each once */
	size_t count, room;
};

void mor_learn_fini(struct mor_learn *learn);
/* Something was needed. with_spawn: see MORTISE_JAIL_LEARN. 0 or MORTISE_ENOMEM. */
int mor_learn_add(struct mor_learn *learn, enum mor_forbidden what, const char *path, bool with_spawn);
/* After the last one: folds. */
void mor_learn_finish(struct mor_learn *learn);

/* The home directory that a path is judged by: $HOME may be another than the user's own. */
const char *mor_learn_home(const struct mor_learn *learn, const char *path);
/* Does it lie where programs are installed for everybody? */
bool mor_learn_is_installed(const char *path);
/* Does a file of this name look like a key, a token, a cookie? */
bool mor_learn_is_secret(const char *path, const char *home);
/* Is it a directory that no rule should open as a whole? */
bool mor_learn_is_wide(const char *path, const char *home);

#endif
