/* SPDX-License-Identifier: Apache-2.0 */
/* See root.h. */
#include "jail/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/fd.h"
#include "base/path.h"
#include "jail/checked.h"

#define LINKS_MAX 40
#define SAFE      MOR_MOUNT_SAFE

struct tree {
	const struct mor_paths *paths;
	int old, root; /* O_PATH: the host's tree in this namespace, and ours */
	/* size of the scratch directory if that is a tmpfs; 0: it is the host's directory */
	uint64_t scratch;
	const struct mor_plan *plan; /* NULL: the tree has no rules */
	const char **step;
};

/* ---- names ---- */

static bool in_proc(const char *name)
{
	return mor_path_is_within(name, "/proc", 5);
}

/* The rule, other than `but`, whose mount contains the name. Sorted: the longest comes first. */
static const struct mor_path_rule *covered(const struct tree *tree, const char *name,
					   const struct mor_path_rule *but)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < tree->paths->count; i++) {
		const struct mor_path_rule *rule = &tree->paths->rules[i];

		if (rule != but && mor_path_len_is_within(name, len, rule->path, rule->len))
			return rule;
	}
	return NULL;
}

/* All directories above the name, and with `self` the name too. */
static int make_directories(const struct tree *tree, const char *name, bool self)
{
	char part[PATH_MAX];
	size_t len = strlen(name);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, name, len + 1);
	if (!self)
		*strrchr(part, '/') = 0;
	return part[0] && part[1] ? mor_dir_make_all(tree->root, part + 1, 0755) : 0;
}

/* ---- mounts ---- */

static int bind_over(int from, int onto, uint64_t attributes)
{
	int copy = mor_mount_copy(from, attributes), status = copy < 0 ? copy : 0;

	if (copy >= 0 && move_mount(copy, "", onto, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		status = -errno;
	if (copy >= 0)
		close(copy);
	return status;
}

/* The place to mount at. Usually only the last part is missing. */
static int make_place(const struct tree *tree, const struct mor_path_rule *rule)
{
	for (int status = 0; status == 0; status = make_directories(tree, rule->path, false)) {
		if ((rule->directory ? mkdirat(tree->root, rule->path + 1, 0755) :
				       mknodat(tree->root, rule->path + 1, S_IFREG | 0444, 0)) == 0 ||
		    errno == EEXIST)
			return 0;
		if (errno != ENOENT)
			return -errno;
	}
	return -ENOENT;
}

/* Does the mount around it already allow the same? */
static bool superfluous(const struct tree *tree, const struct mor_path_rule *rule)
{
	const struct mor_path_rule *above = covered(tree, rule->path, rule);

	return above && (above->access & MOR_MAY_WRITE) == (rule->access & MOR_MAY_WRITE);
}

static uint64_t attributes_of(const struct mor_path_rule *rule, const struct stat *st)
{
	uint64_t attributes = rule->access & MOR_MAY_WRITE ? SAFE : SAFE | MOUNT_ATTR_RDONLY;

	return S_ISCHR(st->st_mode) ? attributes & ~(uint64_t)MOUNT_ATTR_NODEV : attributes;
}

/* A detached copy of what the rule names, with all mounts in it. If it is gone, or has become another thing,
 * it is left out: -ENOENT. This check makes sure that links did not change it. */
static int take_mount(const struct tree *tree, const struct mor_path_rule *rule)
{
	int copy = open_tree(tree->old, rule->path + 1,
			     OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
	struct mount_attr attr;
	struct stat st = { 0 };
	int status;

	if (copy < 0)
		return errno == ELOOP || errno == ENOTDIR ? -ENOENT : -errno;
	status = fstat(copy, &st) < 0                                  ? -errno :
		 st.st_dev != rule->device || st.st_ino != rule->inode ? -ENOENT :
									 0;
	if (status == 0) {
		attr = (struct mount_attr){ .attr_set = attributes_of(rule, &st) };
		status = mount_setattr(copy, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0 ?
				 -errno :
				 0;
	}
	if (status < 0)
		close(copy);
	return status < 0 ? status : copy;
}

/* The directory of an installed plugin: what was checked, and nothing else. A copy, unless that is too much. */
static int take_checked(const struct tree *tree, const struct mor_path_rule *rule)
{
	struct mount_attr attr = { .attr_set = SAFE | MOUNT_ATTR_RDONLY };
	uint64_t size = mor_checked_size(tree->plan);
	int from = openat(tree->old, rule->path + 1, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
	    onto = size ? mor_mount_tmpfs(size) : -1, status;

	*tree->step = rule->path;
	status = from < 0         ? -ESTALE :
		 size && onto < 0 ? onto :
				    mor_checked_take(tree->plan, from, onto, tree->step);
	if (status == 0 && size && mount_setattr(onto, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		status = -errno;
	mor_fd_close(&from);
	if (status < 0 && onto >= 0)
		close(onto);
	return status < 0 ? status : size ? onto : take_mount(tree, rule);
}

/* Inside the mount of a shorter rule the place exists already, but in a tree that others may change. All
 * else in the path is ours. */
static int hang(const struct tree *tree, const struct mor_path_rule *rule, int copy)
{
	bool within = covered(tree, rule->path, rule);
	int onto = within ? mor_mount_open(tree->root, rule->path) : make_place(tree, rule), status;

	if (onto < 0)
		return onto;
	status = move_mount(copy, "", within ? onto : tree->root, within ? "" : rule->path + 1,
			    MOVE_MOUNT_F_EMPTY_PATH | (within ? MOVE_MOUNT_T_EMPTY_PATH : 0)) < 0 ?
			 -errno :
			 0;
	if (within)
		close(onto);
	return status;
}

/* The broker answers opens of such a file with a copy; here it is for stat and access. */
static int write_text(const struct tree *tree, const struct mor_path_rule *rule)
{
	int fd = openat(tree->root, rule->path + 1, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444), status;

	if (fd < 0)
		return -errno;
	status = mor_fd_write_all(fd, rule->text, strlen(rule->text));
	close(fd);
	return status;
}

/* A directory of our own file system that stays writable when the root is closed. */
static int open_private(const struct tree *tree, const struct mor_path_rule *rule)
{
	int fd, status;

	if (mkdirat(tree->root, rule->path + 1, 0700) < 0)
		return -errno;
	if ((fd = openat(tree->root, rule->path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return -errno;
	status = bind_over(fd, fd, SAFE | MOUNT_ATTR_NOEXEC);
	close(fd);
	return status;
}

/* Inside the mount of another rule there is the machine's own, which was asked for. */
static int add_made_up(const struct tree *tree, const struct mor_path_rule *rule)
{
	int status;

	if (covered(tree, rule->path, rule))
		return 0;
	if ((status = make_directories(tree, rule->path, false)) < 0)
		return status;
	return rule->text ? write_text(tree, rule) : open_private(tree, rule);
}

static int add_rule(const struct tree *tree, const struct mor_path_rule *rule)
{
	bool own = tree->scratch && rule->origin == MOR_PATH_SCRATCH;
	bool checked = tree->plan->checked && strcmp(tree->plan->checked, rule->path) == 0;
	int copy, status;

	if (rule->origin == MOR_PATH_MADE_UP || rule->origin == MOR_PATH_PRIVATE)
		return add_made_up(tree, rule);
	if (!own && !checked && (in_proc(rule->path) || superfluous(tree, rule)))
		return 0;
	copy = own     ? mor_mount_tmpfs(tree->scratch) :
	       checked ? take_checked(tree, rule) :
			 take_mount(tree, rule);
	if (copy < 0)
		return copy == -ENOENT ? 0 : copy;
	status = hang(tree, rule, copy);
	close(copy);
	return status;
}

/* The kernel makes existing paths read-only. The broker protects missing paths and links. */
static int add_protects(const struct tree *tree)
{
	const struct mor_protects *protects = &tree->paths->protects;
	int status = 0;

	*tree->step = "a read-only mount for a protected path";
	for (size_t i = 0; status == 0 && i < protects->count; i++) {
		const char *name = protects->list[i].text;
		const struct mor_path_rule *rule = covered(tree, name, NULL);
		struct stat st;
		int fd;

		if (!rule || !(rule->access & MOR_MAY_WRITE) ||
		    !mor_protect_is_whole(protects, &protects->list[i]))
			continue;
		if ((fd = mor_mount_open(tree->root, name)) < 0)
			continue;
		if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode))
			status = bind_over(fd, fd, SAFE | MOUNT_ATTR_RDONLY);
		close(fd);
	}
	return status;
}

/* ---- links ---- */

static int add_link(const struct tree *tree, const char *name, const char *text)
{
	int status;

	if (covered(tree, name, NULL) || in_proc(name))
		return 0;
	status = make_directories(tree, name, false);
	if (status == 0 && symlinkat(text, tree->root, name + 1) < 0 && errno != EEXIST)
		status = -errno;
	return status;
}

struct trace {
	char at[PATH_MAX], rest[PATH_MAX * 2]; /* canonical so far; the rest */
	int links;
};

static void step_up(struct trace *trace)
{
	char *slash = strrchr(trace->at, '/');

	if (slash)
		*slash = 0;
}

/* 0 to go on; 1: the name does not exist. */
static int trace_part(const struct tree *tree, struct trace *trace, const char *part)
{
	size_t len = strlen(trace->at);
	char text[PATH_MAX], rest[PATH_MAX * 2];
	ssize_t got;
	int status;

	if (len + strlen(part) + 2 > sizeof(trace->at))
		return -ENAMETOOLONG;
	trace->at[len] = '/';
	memcpy(trace->at + len + 1, part, strlen(part) + 1);
	if ((got = readlinkat(tree->old, trace->at + 1, text, sizeof(text) - 1)) < 0)
		return errno == EINVAL ? 0 : 1; /* not a link; or out of reach */
	text[got] = 0;
	if (++trace->links > LINKS_MAX)
		return 1;
	if ((status = add_link(tree, trace->at, text)) < 0)
		return status;
	trace->at[text[0] == '/' ? 0 : len] = 0;
	got = snprintf(rest, sizeof(rest), "%s/%s", text, trace->rest);
	if (got < 0 || (size_t)got >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(trace->rest, rest, (size_t)got + 1);
	return 0;
}

/* Makes every link in the path of a name. ret (may be NULL): where it ends, "" if nowhere. */
static int add_links(const struct tree *tree, const char *path, char ret[PATH_MAX])
{
	struct trace trace; /* 12 KiB that need not be cleared */
	char part[NAME_MAX + 1];
	int status = 0;

	trace.links = 0;
	trace.at[0] = 0;
	if (ret)
		ret[0] = 0;
	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return 0;
	memcpy(trace.rest, path, strlen(path) + 1);
	while (status == 0) {
		size_t skip = strspn(trace.rest, "/"), len = strcspn(trace.rest + skip, "/");

		if (len == 0)
			break;
		if (len > NAME_MAX)
			return 0;
		memcpy(part, trace.rest + skip, len);
		part[len] = 0;
		memmove(trace.rest, trace.rest + skip + len, strlen(trace.rest + skip + len) + 1);
		if (strcmp(part, "..") == 0)
			step_up(&trace);
		else if (strcmp(part, ".") != 0)
			status = trace_part(tree, &trace, part);
	}
	if (status == 0 && ret)
		memcpy(ret, trace.at, strlen(trace.at) + 1);
	return status < 0 ? status : 0;
}

/* The names to start it with. Names with links are made only if a rule was given with them. Access through
 * the broker does not need them, but stat, chdir and execve do. */
static int add_names(const struct tree *tree, const struct mor_plan *plan)
{
	char where[PATH_MAX];
	int status = 0;

	*tree->step = "a link in the small tree";
	for (size_t i = 0; status == 0 && i < tree->paths->alias_count; i++)
		status = add_links(tree, tree->paths->aliases[i], NULL);
	for (size_t i = 0; status == 0 && i < plan->argc && i < 2; i++)
		status = add_links(tree, plan->argv[i], NULL);
	if (status == 0)
		status = add_links(tree, plan->cwd, where);
	/* The working directory must exist. If no rule opens it, it is empty. */
	if (status == 0 && where[0] && !covered(tree, where, NULL) && !in_proc(where))
		status = make_directories(tree, where, true);
	return status;
}

/* ---- devices and processes ---- */

static int add_own(const struct tree *tree)
{
	static const char *const links[][2] = {
		{ "dev/fd", "/proc/self/fd" },
		{ "dev/stdin", "/proc/self/fd/0" },
		{ "dev/stdout", "/proc/self/fd/1" },
		{ "dev/stderr", "/proc/self/fd/2" },
	};

	*tree->step = "a directory in the small tree";
	if ((mkdirat(tree->root, "dev", 0755) < 0 && errno != EEXIST) ||
	    (mkdirat(tree->root, "proc", 0555) < 0 && errno != EEXIST))
		return -errno;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (symlinkat(links[i][1], tree->root, links[i][0]) < 0 && errno != EEXIST)
			return -errno;
	*tree->step = "a /proc of its own (the one here must not be masked)";
	/* Read-only: even with a wrong broker, nobody can write the plugin's memory or the kernel's settings
	 * there. */
	return mount("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? -errno :
													0;
}

/* ---- the change of roots ---- */

/* Any directory is fine: it is covered only for a moment. */
static int mount_root(const char **step)
{
	static const char *const places[] = { "/tmp", "/run", "/var", "/usr" };
	int status = -ENOENT;

	*step = "a mount namespace of its own";
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	*step = "a tmpfs";
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && status == -ENOENT; i++) {
		if (mount("tmpfs", places[i], "tmpfs", MS_NOSUID | MS_NODEV,
			  "mode=0755,size=256m,nr_inodes=16k") == 0)
			return open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		status = -errno;
	}
	return status;
}

/* The host's tree can be reached by its handle until it is released. */
static int turn(struct tree *tree)
{
	tree->old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (tree->old < 0)
		return -errno;
	tree->root = mount_root(tree->step);
	if (tree->root < 0)
		return tree->root == -1 ? -errno : tree->root;
	*tree->step = "pivot_root";
	if (fchdir(tree->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return -errno;
	return 0;
}

static int make_read_only(const struct tree *tree)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	*tree->step = "making the small tree read-only";
	return mount_setattr(tree->root, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static void close_tree(struct tree *tree)
{
	mor_fd_close(&tree->old);
	mor_fd_close(&tree->root);
}

int mor_root_make(const struct mor_paths *paths, const struct mor_plan *plan, const char **step)
{
	struct tree tree = { .paths = paths, .old = -1, .root = -1, .plan = plan, .step = step };
	int status = turn(&tree);

	if (plan->scratch && !*plan->scratch)
		tree.scratch = plan->level.scratch_bytes;
	if (status == 0)
		*step = "a bind mount (mount_setattr, Linux 5.12)";
	for (size_t i = paths->count; status == 0 && i-- > 0;)
		status = add_rule(&tree, &paths->rules[i]);
	if (status == 0)
		status = add_own(&tree);
	if (status == 0)
		status = add_protects(&tree);
	if (status == 0)
		status = add_names(&tree, plan);
	if (status == 0)
		status = make_read_only(&tree);
	close_tree(&tree);
	return status;
}

/* Unmounting a name removes the topmost mount. */
int mor_root_leave(const char **step)
{
	*step = "letting go of the host's tree";
	return umount2("/", MNT_DETACH) < 0 ? -errno : 0;
}

/* ---- all that the host has ---- */

static int bind_entry(const struct tree *tree, const char *name, int from, bool directory)
{
	int onto, status;

	if (directory ? mkdirat(tree->root, name, 0755) < 0 : mknodat(tree->root, name, S_IFREG | 0444, 0) < 0)
		return -errno;
	onto = openat(tree->root, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	status = onto < 0 ? -errno : bind_over(from, onto, 0);
	if (onto >= 0)
		close(onto);
	return status;
}

/* One entry of the host's root, under the same name. An entry that cannot be reached is left out. */
static int add_entry(const struct tree *tree, const char *name)
{
	char text[PATH_MAX];
	struct stat st;
	int from = openat(tree->old, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), status = 0;
	ssize_t len;

	if (from < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	if (fstat(from, &st) < 0) {
		status = -errno;
	} else if (S_ISLNK(st.st_mode)) {
		len = readlinkat(from, "", text, sizeof(text) - 1);
		if (len > 0)
			text[len] = 0;
		if (len < 0 || symlinkat(text, tree->root, name) < 0)
			status = -errno;
	} else {
		status = bind_entry(tree, name, from, S_ISDIR(st.st_mode));
	}
	close(from);
	return status;
}

static int add_entries(const struct tree *tree)
{
	char batch[2048] __attribute__((aligned(8)));
	int dir = openat(tree->old, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = 0;
	long got = 0;

	*tree->step = "a bind mount of the host's root";
	if (dir < 0)
		return -errno;
	while (status == 0 && (got = syscall(SYS_getdents64, dir, batch, sizeof(batch))) > 0) {
		for (long at = 0; status == 0 && at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(batch + at);

			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				status = add_entry(tree, entry->d_name);
		}
	}
	if (status == 0 && got < 0)
		status = -errno;
	close(dir);
	return status;
}

int mor_root_whole(const struct mor_plan *plan, const char **step)
{
	static const struct mor_paths none;
	struct tree tree = { .paths = &none, .old = -1, .root = -1, .step = step };
	char here[PATH_MAX];
	bool known = getcwd(here, sizeof(here)) != NULL;
	int status = turn(&tree);

	if (status == 0)
		status = add_entries(&tree);
	if (status == 0)
		status = make_read_only(&tree);
	close_tree(&tree);
	if (status == 0)
		status = mor_root_leave(step);
	if (status == 0 && !plan->cwd && known && chdir(here) < 0)
		*step = "the working directory", status = -errno;
	return status;
}
