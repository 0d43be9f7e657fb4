/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a confined plugin may read, write and run: rules on canonical names, the longest one wins; the default
 * readable set; the names where a refusal is quiet because interpreters probe them; the protected ones.
 */
#ifndef MOR_JAIL_PATHS_H
#define MOR_JAIL_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail/landlock.h"
#include "policy/plan.h"

/* struct mor_op_path.flags, and where a rule comes from. */
enum mor_path_origin { MOR_PATH_ASKED, MOR_PATH_WORKSPACE, MOR_PATH_DEFAULT, MOR_PATH_SCRATCH,
	MOR_PATH_VIEW, /* comes and goes with a view */
	MOR_PATH_LOADER /* the kernel executes it with a program; by itself it would run any file that can be read */ };

struct mor_path_rule {
	char *path; /* canonical, no slash at the end */
	size_t len;
	uint8_t access, origin;
	bool directory;
	bool outer; /* another rule lies below it */
	int fd;   /* O_PATH, until mor_paths_close() */
	int near; /* O_PATH, the same as the plugin sees it: the broker's, who opens it when it is first needed; 0: not yet */
	dev_t device; /* what it was when the rule was made */
	ino_t inode;
};

struct mor_paths {
	struct mor_path_rule *rules;
	size_t count, room;
	struct mor_path_rule *last; /* that a name to read was found under: the next one is mostly near */
	char **protects;
	size_t protect_count;
	char **aliases; /* names as given that are not the true ones: links on the way */
	size_t alias_count;
	bool network;   /* granted */
	bool quiet_tmp; /* a write right in /tmp that no rule permits is refused quietly */
	bool quiet_software; /* so is to look for software where none is allowed: analyzers are compilers, and those search */
};

/* 0 or -errno. What is not there, or not within reach, gives no rule and no error. */
int mor_paths_add(struct mor_paths *paths, const char *path, unsigned access, enum mor_path_origin origin);
int mor_paths_add_defaults(struct mor_paths *paths, bool network, bool spawn);
/* A rule without a handle, for what a view shows under this canonical name; it wins over one on the same name. Sorts. */
int mor_paths_add_view(struct mor_paths *paths, const char *path, unsigned access);
void mor_paths_forget_view(struct mor_paths *paths);
/* Protects the name as it is written below its canonical parent, and what it leads to today. Whose rule it lies under is
 * the workspace. After mor_paths_sort(). */
int mor_paths_protect(struct mor_paths *paths, const char *path);
void mor_paths_sort(struct mor_paths *paths); /* after the last one */
/* Those rules that grant one of `mask`, with that part of their access. */
int mor_paths_allow(const struct mor_paths *paths, const struct mor_landlock *lock, unsigned mask);
/* Closes the handles; those of rules to execute stay if asked, for the launcher's own lock. */
void mor_paths_close(struct mor_paths *paths, bool keep_executable);
void mor_paths_fini(struct mor_paths *paths);

enum mor_ruling_kind { MOR_RULING_PERFORM, MOR_RULING_QUIET, MOR_RULING_VIOLATION };
struct mor_ruling {
	enum mor_ruling_kind kind;
	struct mor_path_rule *under; /* a read, PERFORM: by this rule                                     */
	bool inert;       /* of the system's own, where nobody puts a FIFO or a device            */
	int error;        /* QUIET: to answer     */
	const char *rule; /* VIOLATION: for people */
};
/* `name` is canonical; what belongs to the caller in /proc begins with /proc/self. */
struct mor_ruling mor_paths_read(struct mor_paths *paths, const char *name);
struct mor_ruling mor_paths_execute(const struct mor_paths *paths, const char *name);
/* What the write does there: changes a file, or a directory that stays (its mode, a nameless file in it); makes a
 * directory; removes; makes, moves or replaces anything else. */
enum mor_write_kind { MOR_WRITE_CONTENT, MOR_WRITE_INSIDE, MOR_WRITE_MKDIR, MOR_WRITE_REMOVE, MOR_WRITE_PLACE };
struct mor_ruling mor_paths_write(const struct mor_paths *paths, const char *name, enum mor_write_kind kind);

#endif
