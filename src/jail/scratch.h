/* The private directory of a confined plugin: made before the start, removed with all that is in it. By the guardian, or
 * by the host if the guardian has been killed. */
#ifndef MOR_JAIL_SCRATCH_H
#define MOR_JAIL_SCRATCH_H

#include <limits.h>

struct mor_scratch {
	int parent, dir; /* O_PATH and O_RDONLY; -1: there is none of ours */
	char name[32], path[PATH_MAX];
};
#define MOR_SCRATCH_INIT { .parent = -1, .dir = -1 }
#define MOR_SCRATCH_PARENT "/tmp"

/* A new one below `parent`, mode 0700. 0 or -errno. */
int mor_scratch_make(struct mor_scratch *scratch, const char *parent);
/* Whatever is in there, however deep: never follows a link, never needs more than a few descriptors. */
void mor_scratch_remove(struct mor_scratch *scratch);

#endif
