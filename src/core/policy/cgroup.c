/* SPDX-License-Identifier: Apache-2.0 */
/* See cgroup.h. */
#include "policy/cgroup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "policy/policy.h"

#define LARGE (256 * 1024)

static const struct {
	const char *name;
	unsigned flag;
} controllers[] = { { "pids", MOR_CGROUP_PIDS },
		    { "memory", MOR_CGROUP_MEMORY },
		    { "cpuacct", MOR_CGROUP_CPU } }; /* version 2 counts time without a controller */
enum { CONTROLLERS = sizeof(controllers) / sizeof(*controllers) };

/* Is the word in a list with this separator? */
static bool has_word(const char *list, const char *word, char separator)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, separator)) {
		at += *at == separator;
		if (strncmp(at, word, len) == 0 && (!at[len] || at[len] == separator || at[len] == '\n'))
			return true;
	}
	return false;
}

static unsigned known_words(const char *list, char separator)
{
	unsigned found = 0;

	for (size_t i = 0; i < CONTROLLERS; i++)
		if (has_word(list, controllers[i].name, separator))
			found |= controllers[i].flag;
	return found;
}

static bool has_file(const char *dir, const char *name, int mode)
{
	char path[320];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, mode) == 0;
}

static bool can_write(const char *dir, const char *name)
{
	return access(dir, W_OK | X_OK) == 0 && has_file(dir, name, W_OK);
}

/* ---- the two tables of the kernel ---- */

struct cgroup_mount {
	bool second;    /* cgroup2 */
	unsigned known; /* version 1: its controllers */
	char root[200], point[200];
};

/* "36 25 0:31 / /sys/fs/cgroup rw,... - cgroup2 cgroup2 rw"; version 1 names its controllers in
 * the last word. */
static bool read_mount(const char *line, struct cgroup_mount *ret)
{
	const char *dash = strstr(line, " - cgroup");
	char type[16], options[200];

	if (!dash || sscanf(line, "%*s %*s %*s %199s %199s", ret->root, ret->point) != 2 ||
	    sscanf(dash + 3, "%15s %*s %199s", type, options) != 2)
		return false;
	ret->second = strcmp(type, "cgroup2") == 0;
	ret->known = ret->second ? 0 : known_words(options, ',');
	return ret->second || ret->known;
}

/* "8:pids:/user.slice", "0::/user.slice" (version 2): the group of this mount, or NULL. */
static const char *group_of(const char *line, const struct cgroup_mount *mount)
{
	const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
	char names[100];

	if (!path || (size_t)(path - list) > sizeof(names))
		return NULL;
	snprintf(names, sizeof(names), "%.*s", (int)(path - list - 1), list + 1);
	return mount->second ? (names[0] ? NULL : path + 1) :
			       (known_words(names, ',') & mount->known ? path + 1 : NULL);
}

/* A container may show only a part of the tree: then the mount's root is where its names begin. A group outside
 * of it begins with "/..": nothing there belongs to us. */
static bool place_of(const struct cgroup_mount *mount, const char *group, char *ret, size_t size)
{
	size_t len = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);

	if (strncmp(group, "/..", 3) == 0 || strncmp(group, mount->root, len) != 0)
		return false;
	group += len;
	return snprintf(ret, size, "%s%s", mount->point, strcmp(group, "/") == 0 ? "" : group) < (int)size;
}

/* ---- what is usable ---- */

static void add_place(struct mor_cgroups *ret, unsigned version, unsigned known, const char *path)
{
	struct mor_cgroup_place *place = &ret->places[ret->count];

	if (ret->count == MOR_CGROUP_PLACES)
		return;
	*place = (struct mor_cgroup_place){ .version = version, .controllers = known };
	snprintf(place->path, sizeof(place->path), "%s", path);
	ret->count++;
}

static unsigned shared_out(const char *group, const char *file)
{
	MOR_CLEAN_TEXT char *text = NULL;
	char path[320];
	size_t len;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return mor_fd_read_file(path, 4096, &text, &len) < 0 ? 0 : known_words(text, ' ');
}

/* A group that has processes hands out no controllers (but for the root): so the new one is mostly not a child
 * of ours, but of the nearest group above us that hands them out to its children and that we may write. Time is
 * counted in every group: if none hands out anything, the nearest one is good for that. */
static void add_second(const struct cgroup_mount *mount, char *path, struct mor_cgroups *ret)
{
	size_t least = strlen(mount->point);
	char nearest[256] = "";

	ret->mounted |= shared_out(mount->point, "cgroup.controllers") | MOR_CGROUP_CPU;
	for (;;) {
		unsigned out = shared_out(path, "cgroup.subtree_control");
		unsigned timed = has_file(path, "cpu.stat", R_OK) ? MOR_CGROUP_CPU : 0;
		bool ours = can_write(path, "cgroup.procs");
		char *slash = strrchr(path, '/');

		if (ours && out) {
			add_place(ret, 2, out | timed, path);
			return;
		}
		if (ours && timed && !nearest[0])
			snprintf(nearest, sizeof(nearest), "%s", path);
		if (!slash || (size_t)(slash - path) < least)
			break;
		*slash = '\0';
	}
	if (nearest[0])
		add_place(ret, 2, MOR_CGROUP_CPU, nearest);
}

static void add_mount(const struct cgroup_mount *mount, const char *membership, struct mor_cgroups *ret)
{
	char path[256];

	for (const char *line = membership; *line;) {
		const char *end = strchr(line, '\n');
		char one[400];

		snprintf(one, sizeof(one), "%.*s", (int)strcspn(line, "\n"), line);
		line = end ? end + 1 : line + strlen(line);
		if (!group_of(one, mount) || !place_of(mount, group_of(one, mount), path, sizeof(path)))
			continue;
		ret->mounted |= mount->known;
		if (mount->second)
			add_second(mount, path, ret);
		else if (can_write(path, "tasks"))
			add_place(ret, 1, mount->known, path);
		return;
	}
}

void mor_cgroup_find(const char *mountinfo, const char *membership, struct mor_cgroups *ret)
{
	MOR_CLEAN_TEXT char *mounts = NULL, *groups = NULL;
	char *save = NULL;
	struct cgroup_mount mount;
	size_t len;

	*ret = (struct mor_cgroups){ 0 };
	if (mor_fd_read_file(mountinfo, LARGE, &mounts, &len) < 0 ||
	    mor_fd_read_file(membership, LARGE, &groups, &len) < 0)
		return;
	for (char *line = strtok_r(mounts, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (read_mount(line, &mount))
			add_mount(&mount, groups, ret);
}

void mor_cgroup_find_own(struct mor_cgroups *ret)
{
	mor_cgroup_find("/proc/self/mountinfo", "/proc/self/cgroup", ret);
}

unsigned mor_cgroup_held(const struct mor_cgroups *groups)
{
	unsigned held = 0;

	for (size_t i = 0; i < groups->count; i++)
		held |= groups->places[i].controllers;
	return held;
}

/* A plugin with one process needs no group for its time: RLIMIT_CPU counts all of its threads. */
unsigned mor_cgroup_wanted(const struct mor_policy *policy)
{
	const struct mor_limits *limits = &policy->limits;
	bool many = !mor_policy_confined(policy) || policy->spawn || policy->learn;

	return (limits->threads ? MOR_CGROUP_PIDS : 0u) | (limits->memory_bytes ? MOR_CGROUP_MEMORY : 0u) |
	       (limits->cpu_s && many ? MOR_CGROUP_CPU : 0u);
}

const char *mor_cgroup_loose(const struct mor_policy *policy, unsigned held, size_t number)
{
	static const struct {
		unsigned flag;
		const char *text;
	} rows[] = {
		{ MOR_CGROUP_PIDS,
		  "the limit of threads is not enforced: only a confined program's are counted, and no control "
		  "group can be made here (see mortise doctor)" },
		{ MOR_CGROUP_MEMORY,
		  "the limit of memory holds for each process alone, and not for shared mappings, memfds and "
		  "pipes: no control group can be made here (see mortise doctor)" },
		{ MOR_CGROUP_CPU, "the limit of cpu holds for each process alone, and not for all of them "
				  "together: no control group can be made here (see mortise doctor)" },
	};
	unsigned loose = mor_cgroup_wanted(policy) & ~held;

	if (mor_policy_confined(policy))
		loose &= ~(unsigned)MOR_CGROUP_PIDS; /* the broker counts them */
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (loose & rows[i].flag && number-- == 0)
			return rows[i].text;
	return NULL;
}
