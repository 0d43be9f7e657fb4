/* SPDX-License-Identifier: Apache-2.0 */
/* Our cgroup: its place, and whether a group below it can be made, used and killed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "policy/probe.h"

#define LARGE (256 * 1024)

/* /proc/self/mountinfo: "36 25 0:31 / /sys/fs/cgroup rw,... - cgroup2 cgroup2 rw". */
static bool find_mount(char *out, size_t size)
{
	MOR_CLEAN_TEXT char *text = NULL;
	char *save = NULL;
	size_t len;

	if (mor_fd_read_file("/proc/self/mountinfo", LARGE, &text, &len) < 0)
		return false;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *dash = strstr(line, " - cgroup2 ");
		char point[200];

		if (!dash || sscanf(line, "%*s %*s %*s %*s %199s", point) != 1)
			continue;
		snprintf(out, size, "%s", point);
		return true;
	}
	return false;
}

/* /proc/self/cgroup: "0::/user.slice/..."; "/" is the root of our cgroup namespace. */
static bool find_group(char *out, size_t size)
{
	MOR_CLEAN_TEXT char *text = NULL;
	const char *at;
	size_t len;

	if (mor_fd_read_file("/proc/self/cgroup", LARGE, &text, &len) < 0)
		return false;
	at = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!at)
		return false;
	at += *at == '\n' ? 4 : 3;
	snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}

static void read_controllers(const char *group, char *out, size_t size)
{
	MOR_CLEAN_TEXT char *text = NULL;
	char path[320];
	size_t len;

	out[0] = '\0';
	snprintf(path, sizeof(path), "%s/cgroup.controllers", group);
	if (mor_fd_read_file(path, 4096, &text, &len) == 0)
		snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Makes a group, looks at it and removes it. To move a process into it, cgroup.procs of the common ancestor
 * must be writable too: that is our group. */
static int try_child(const char *group, bool *ret_kill)
{
	char path[320], file[340];
	int r = 0;

	snprintf(file, sizeof(file), "%s/cgroup.procs", group);
	if (access(file, W_OK) < 0)
		return errno;
	snprintf(path, sizeof(path), "%s/mortise-doctor-%d", group, (int)getpid());
	if (mkdir(path, 0700) < 0)
		return errno;
	snprintf(file, sizeof(file), "%s/cgroup.kill", path);
	*ret_kill = access(file, W_OK) == 0;
	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	if (access(file, W_OK) < 0)
		r = errno;
	rmdir(path);
	return r;
}

void mor_probe_cgroup(struct mor_probe_cgroup *ret)
{
	char mount[200], group[200];

	*ret = (struct mor_probe_cgroup){ .delegated = ENOENT };
	ret->v2 = find_mount(mount, sizeof(mount));
	if (!ret->v2 || !find_group(group, sizeof(group)))
		return;
	/* A group outside our cgroup namespace is shown as "/..": nothing there belongs to us. */
	if (strncmp(group, "/..", 3) == 0)
		return;
	if (snprintf(ret->path, sizeof(ret->path), "%s%s", mount, strcmp(group, "/") == 0 ? "" : group) >=
	    (int)sizeof(ret->path)) {
		ret->delegated = ENAMETOOLONG;
		return;
	}
	read_controllers(ret->path, ret->controllers, sizeof(ret->controllers));
	ret->delegated = try_child(ret->path, &ret->kill);
}
