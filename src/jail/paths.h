/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a confined plugin may read, write and run: rules for canonical names, the longest one wins;
 * the default readable set; names where a refusal is quiet because interpreters try them; the protected
 * ones.
 */
#ifndef MOR_JAIL_PATHS_H
#define MOR_JAIL_PATHS_H

#include <limits.h>
#include <sys/types.h>

#include "jail/landlock.h"
#include "jail/protect.h"
#include "policy/forbidden.h"

/* struct mor_op_path.flags, and the source of a rule. */
enum mor_path_origin {
	MOR_PATH_ASKED,
	MOR_PATH_WORKSPACE,
	MOR_PATH_DEFAULT,
	MOR_PATH_SPAWN, /* while learning: what spawn would grant, and nobody has asked for spawn */
	MOR_PATH_SCRATCH,
	MOR_PATH_VIEW,    /* belongs to a view */
	MOR_PATH_MADE_UP, /* a file of ours under a name of the machine's: mor_paths_make_up() */
	MOR_PATH_PRIVATE, /* the same, a directory: only at t1, in the plugin's own tree */
	MOR_PATH_LOADER   /* the kernel executes it together with a program; alone it would run any readable
			   * file */
};

struct mor_quota;
struct mor_path_rule {
	char *path; /* canonical, no slash at the end */
	size_t len;
	uint8_t access, origin;
	bool directory;
	bool outer; /* another rule is below it */
	char *text; /* the file that is shown instead of the machine's; else NULL */
	int fd;     /* O_PATH, until mor_paths_close() */
	int near;   /* O_PATH, as the plugin sees it; the broker opens it when it is first needed; 0: not yet */
	dev_t device; /* its state when the rule was made */
	ino_t inode;
};

struct mor_paths {
	struct mor_quota *quota; /* of the scratch directory, or NULL */
	struct mor_path_rule *rules;
	size_t count, room;
	struct mor_path_rule *last; /* the rule of the last name that was read: the next one is often near */
	struct mor_protects protects;
	char **aliases; /* given names that are not the true ones, because of links */
	size_t alias_count;
	bool learning;       /* MOR_JAIL_LEARN: what it lacks is told by mor_ruling.needs */
	bool network;        /* granted */
	bool quiet_tmp;      /* a write directly in /tmp that no rule allows is refused quietly */
	bool quiet_software; /* a search for software in places that are not allowed is also refused quietly:
			      * compilers search */
};

/* 0 or -errno. A path that does not exist or cannot be reached gives no rule and no error. */
int mor_paths_add(struct mor_paths *paths, const char *path, unsigned access, enum mor_path_origin origin);
/* While learning, what spawn adds is added too, marked if it was not asked for. */
int mor_paths_add_defaults(struct mor_paths *paths, bool network, bool spawn);
/* A rule without a handle, for a canonical name in a view; it wins over another rule for the same name.
 * Sorts. */
int mor_paths_add_view(struct mor_paths *paths, const char *path, unsigned access);
void mor_paths_forget(struct mor_paths *paths, enum mor_path_origin origin);
/* A rule without a handle: with `text` a file that the broker answers opens with (MOR_PATH_MADE_UP), without
 * one a directory that t1 makes in the plugin's own tree (MOR_PATH_PRIVATE). No lock ever grants the machine's
 * own file of that name. Nothing is added where a rule that was asked for covers it. Call it after
 * mor_paths_sort(), and sort again. */
int mor_paths_make_up(struct mor_paths *paths, const char *path, unsigned access, const char *text);
/* With a list of places: a /etc/hosts of that text, and what TLS reads. Like mor_paths_make_up(). */
int mor_paths_add_hosts(struct mor_paths *paths, const char *text);
/* Is it looked for by habit, so that a refusal to read it is ENOENT and no violation? */
bool mor_paths_is_quiet(const struct mor_paths *paths, const char *name);
/* Would the network permission open it? Then that permission is missing. */
bool mor_paths_serves_network(const char *name);
/* The true name of a path, or of its nearest existing parent with the missing rest appended. 0 or -errno. */
int mor_paths_canonical(const char *path, char name[PATH_MAX]);
void mor_paths_sort(struct mor_paths *paths); /* call it after the last one */
/* The rules that grant one of `mask`, with that part of their access. */
int mor_paths_allow(const struct mor_paths *paths, const struct mor_landlock *lock, unsigned mask);
/* Closes the handles. If asked, those of rules to execute stay open, for the launcher's own lock. */
void mor_paths_close(struct mor_paths *paths, bool keep_executable);
void mor_paths_fini(struct mor_paths *paths);

enum mor_ruling_kind { MOR_RULING_PERFORM, MOR_RULING_QUIET, MOR_RULING_VIOLATION };
struct mor_ruling {
	enum mor_ruling_kind kind;
	struct mor_path_rule *under; /* a read, PERFORM: by this rule                                     */
	bool inert;                  /* one of the system's own, where nobody puts a FIFO or a device */
	int error;                   /* QUIET: the answer */
	enum mor_forbidden what;     /* VIOLATION */
	bool lenient;                /* VIOLATION: it kills in no mode */
	/* PERFORM, while learning: a bit for each kind (enum mor_forbidden) that no rule allows; under: for a
	 * write, its rule */
	uint64_t needs;
	bool with_spawn; /* needs: spawn would allow it */
};
/* `name` is canonical; the caller's own files in /proc begin with /proc/self. */
struct mor_ruling mor_paths_read(struct mor_paths *paths, const char *name);
struct mor_ruling mor_paths_execute(const struct mor_paths *paths, const char *name);
struct mor_ruling mor_paths_write(const struct mor_paths *paths, const char *name, enum mor_write_kind kind);
/* Are there names that are protected wherever they are, also in this directory? */
bool mor_paths_searched(const struct mor_paths *paths, const char *name);
/* Are both under the same rule? A directory may not move from one to another: it could have been filled where
 * less is protected. */
bool mor_paths_together(const struct mor_paths *paths, const char *a, const char *b);

#endif
