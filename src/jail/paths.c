/* SPDX-License-Identifier: Apache-2.0 */
/* See paths.h. Why these lists: docs/design/0003-jail.md, "What may be read". */
#include "jail/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/slice.h"
#include "base/text.h"
#include "jail/quota.h"

#define R MOR_MAY_READ
#define W MOR_MAY_WRITE
#define X MOR_MAY_EXECUTE

/* Files of the caller's own /proc. */
#define OWN_READABLE \
	"maps|smaps|smaps_rollup|status|stat|statm|cgroup|fd|limits|auxv|cmdline|comm|mountinfo|mounts|io|" \
	"oom_score_adj|task|coredump_filter|environ"

/* ---- building ---- */

/* The canonical name of an open handle. Length or -errno. */
static ssize_t name_of(int fd, char *name, size_t size)
{
	char link[32] = "/proc/self/fd/", digits[12];
	size_t at = sizeof(digits), len;
	unsigned n = (unsigned)fd;
	ssize_t got;

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	len = strlen(link);
	memcpy(link + len, digits + at, sizeof(digits) - at);
	link[len + sizeof(digits) - at] = 0;
	if ((got = readlink(link, name, size - 1)) < 0)
		return -errno;
	if ((size_t)got >= size - 1)
		return -ENAMETOOLONG;
	name[got] = 0;
	return got;
}

static struct mor_path_rule *find_rule(const struct mor_paths *paths, const char *name, size_t len)
{
	for (size_t i = 0; i < paths->count; i++)
		if (paths->rules[i].len == len && memcmp(paths->rules[i].path, name, len) == 0)
			return &paths->rules[i];
	return NULL;
}

static int append_rule(struct mor_paths *paths, const struct mor_path_rule *rule)
{
	if (mor_grow(&paths->rules, paths->count, &paths->room, sizeof(*paths->rules)) < 0)
		return -ENOMEM;
	paths->rules[paths->count++] = *rule;
	return 0;
}

/* No "//", "." or ".." in it, and no slash at its end. */
static bool is_plain(const char *path)
{
	while (*path == '/') {
		size_t len = strcspn(++path, "/");

		if (len == 0 || (path[0] == '.' && (len == 1 || (len == 2 && path[1] == '.'))))
			return false;
		path += len;
	}
	return !*path;
}

/* The handle, and its canonical name; or -errno. A plain name without links is canonical, and opening it
 * shows that. Asking /proc is more expensive: the kernel sets up a file there for each handle. */
static int open_named(const char *path, char name[PATH_MAX])
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = is_plain(path) ? (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)) : -1;
	ssize_t len;

	if (fd >= 0) {
		memcpy(name, path, strlen(path) + 1); /* what was opened is shorter than PATH_MAX */
		return fd;
	}
	if (is_plain(path) && errno == ENOENT)
		return -ENOENT;
	if ((fd = open(path, O_PATH | O_CLOEXEC)) < 0)
		return -errno;
	len = name_of(fd, name, PATH_MAX);
	if (len < 0) {
		close(fd);
		return (int)len;
	}
	return fd;
}

/* Takes the handle. */
static int add_handle_take(struct mor_paths *paths, int fd, const char *name, unsigned access,
			   enum mor_path_origin origin)
{
	struct mor_path_rule rule = { .access = (uint8_t)access, .origin = (uint8_t)origin, .fd = fd }, *old;
	size_t len = strlen(name);
	struct stat st = { 0 };
	int status = fstat(fd, &st) ? -errno : 0;

	if (status == 0) {
		rule.len = len == 1 ? 0 : len; /* "/" is a prefix of everything, and has no slash to remove */
		old = find_rule(paths, name, rule.len);
		if (old) {
			old->access |= rule.access;
			if (rule.origin != MOR_PATH_DEFAULT && rule.origin != MOR_PATH_SPAWN &&
			    old->origin != MOR_PATH_WORKSPACE)
				old->origin = rule.origin;
			close(fd);
			return 0;
		}
		rule.directory = S_ISDIR(st.st_mode);
		rule.device = st.st_dev;
		rule.inode = st.st_ino;
		rule.path = mor_strndup(name, rule.len);
		status = rule.path ? append_rule(paths, &rule) : -ENOMEM;
	}
	if (status < 0) {
		mor_free(rule.path);
		close(fd);
	}
	return status;
}

static int add_text(char ***list, size_t *count, const char *text, size_t len)
{
	char **longer = mor_realloc(*list, (*count + 1) * sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	*list = longer;
	longer[*count] = mor_strndup(text, len);
	return longer[*count] ? (++*count, 0) : -ENOMEM;
}

int mor_paths_add(struct mor_paths *paths, const char *path, unsigned access, enum mor_path_origin origin)
{
	char name[PATH_MAX];
	int fd = open_named(path, name), status;

	if (fd < 0)
		return fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM ? fd : 0;
	status = add_handle_take(paths, fd, name, access, origin);
	if (status == 0 && !find_rule(paths, path, strlen(path)))
		status = add_text(&paths->aliases, &paths->alias_count, path, strlen(path));
	return status;
}

/* A rule can end only where the name has a slash: that excludes nearly all rules without a comparison. */
static struct mor_path_rule *rule_for(const struct mor_paths *paths, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < paths->count; i++) {
		struct mor_path_rule *rule = &paths->rules[i];

		if (rule->len <= len && (name[rule->len] == '/' || !name[rule->len]) &&
		    memcmp(name, rule->path, rule->len) == 0)
			return rule;
	}
	return NULL;
}

int mor_paths_canonical(const char *path, char name[PATH_MAX])
{
	char head[PATH_MAX];
	size_t len = strlen(path), got;

	if (len == 0 || len >= sizeof(head) || path[0] != '/')
		return -EINVAL;
	memcpy(head, path, len + 1);
	for (size_t cut = len; cut > 0; cut = (size_t)(strrchr(head, '/') - head)) {
		int fd;

		head[cut] = 0;
		if ((fd = open_named(head, name)) < 0)
			continue;
		close(fd);
		got = strlen(name);
		if (got + len - cut >= PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(name + got, path + cut, len - cut + 1);
		return 0;
	}
	memcpy(name, path, len + 1);
	return 0;
}

/* Not for a name that somebody has asked for: then the machine's own file is meant. */
int mor_paths_make_up(struct mor_paths *paths, const char *path, unsigned access, const char *text)
{
	struct mor_path_rule rule = { .access = (uint8_t)access,
				      .origin = text ? MOR_PATH_MADE_UP : MOR_PATH_PRIVATE,
				      .directory = !text,
				      .fd = -1 };
	const struct mor_path_rule *old;
	char name[PATH_MAX];
	int status = mor_paths_canonical(path, name);

	if (status < 0)
		return status;
	old = rule_for(paths, name);
	if (old && old->origin != MOR_PATH_DEFAULT && old->origin != MOR_PATH_SPAWN)
		return 0;
	rule.len = strlen(name);
	rule.path = mor_strndup(name, rule.len);
	rule.text = text ? mor_strdup(text) : NULL;
	status = rule.path && (rule.text || !text) ? append_rule(paths, &rule) : -ENOMEM;
	if (status < 0) {
		mor_free(rule.path);
		mor_free(rule.text);
	}
	return status;
}

static int longer_first(const void *a, const void *b)
{
	size_t x = ((const struct mor_path_rule *)a)->len, y = ((const struct mor_path_rule *)b)->len;

	return (x < y) - (x > y);
}

/* After any change of the rules. */
static void relate(struct mor_paths *paths)
{
	paths->last = NULL;
	for (size_t i = 0; i < paths->count; i++) {
		struct mor_path_rule *rule = &paths->rules[i];

		rule->outer = false;
		for (size_t k = 0; k < i && !rule->outer; k++) /* longer ones come first */
			rule->outer = mor_path_len_is_within(paths->rules[k].path, paths->rules[k].len,
							     rule->path, rule->len);
	}
}

void mor_paths_sort(struct mor_paths *paths)
{
	if (paths->count)
		qsort(paths->rules, paths->count, sizeof(*paths->rules), longer_first);
	relate(paths);
}

static void free_rule(struct mor_path_rule *rule)
{
	if (rule->near > 0)
		close(rule->near);
	mor_free(rule->path);
	mor_free(rule->text);
}

int mor_paths_add_view(struct mor_paths *paths, const char *path, unsigned access)
{
	struct mor_path_rule rule = { .len = strlen(path),
				      .access = (uint8_t)access,
				      .origin = MOR_PATH_VIEW,
				      .directory = true,
				      .fd = -1 };
	size_t at = 0;
	int status;

	rule.path = mor_strndup(path, rule.len);
	status = rule.path ? append_rule(paths, &rule) : -ENOMEM;
	if (status < 0) {
		mor_free(rule.path);
		return status;
	}
	while (paths->rules[at].len > rule.len)
		at++;
	memmove(&paths->rules[at + 1], &paths->rules[at], (paths->count - 1 - at) * sizeof(rule));
	paths->rules[at] = rule;
	relate(paths);
	return 0;
}

void mor_paths_forget(struct mor_paths *paths, enum mor_path_origin origin)
{
	size_t kept = 0;

	for (size_t i = 0; i < paths->count; i++) {
		if (paths->rules[i].origin == origin)
			free_rule(&paths->rules[i]);
		else
			paths->rules[kept++] = paths->rules[i];
	}
	paths->count = kept;
	relate(paths);
}

int mor_paths_allow(const struct mor_paths *paths, const struct mor_landlock *lock, unsigned mask)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < paths->count; i++)
		if (paths->rules[i].access & mask && paths->rules[i].fd >= 0)
			status = mor_landlock_allow(lock, paths->rules[i].fd, paths->rules[i].directory,
						    paths->rules[i].access & mask);
	return status;
}

void mor_paths_close(struct mor_paths *paths, bool keep_executable)
{
	for (size_t i = 0; i < paths->count; i++)
		if (!keep_executable || !(paths->rules[i].access & X))
			mor_fd_close(&paths->rules[i].fd);
}

void mor_paths_fini(struct mor_paths *paths)
{
	mor_paths_close(paths, false);
	for (size_t i = 0; i < paths->count; i++)
		free_rule(&paths->rules[i]);
	mor_protect_fini(&paths->protects);
	for (size_t i = 0; i < paths->alias_count; i++)
		mor_free(paths->aliases[i]);
	mor_free(paths->aliases);
	mor_free(paths->rules);
	*paths = (struct mor_paths){ 0 };
}

/* ---- judging ---- */

static struct mor_ruling perform(void)
{
	return (struct mor_ruling){ .kind = MOR_RULING_PERFORM };
}

static struct mor_ruling quiet(int error)
{
	return (struct mor_ruling){ .kind = MOR_RULING_QUIET, .error = error };
}

static struct mor_ruling violation(enum mor_forbidden what)
{
	return (struct mor_ruling){ .kind = MOR_RULING_VIOLATION, .what = what };
}

/* "maps" of /proc/self/maps and of /proc/self/task/17/maps; NULL: not one of the caller's own. */
static const char *own_proc(const char *name)
{
	static const char self[] = "/proc/self/", task[] = "task/";

	if (strncmp(name, self, sizeof(self) - 1) != 0)
		return NULL;
	name += sizeof(self) - 1;
	if (strncmp(name, task, sizeof(task) - 1) == 0) {
		const char *slash = strchr(name + sizeof(task) - 1, '/');

		if (slash)
			name = slash + 1;
	}
	return name;
}

/* Not devices, and not what others' processes show: no policy should name them. */
static bool may_be_learnt(const struct mor_paths *paths, const char *name)
{
	return paths->learning && !mor_path_is_within(name, "/dev", 4) && strcmp(name, "/proc") != 0 &&
	       !(strncmp(name, "/proc/", 6) == 0 && (name[6] < 'a' || strncmp(name, "/proc/self", 10) == 0));
}

static struct mor_ruling needed(enum mor_forbidden what, bool with_spawn)
{
	return (struct mor_ruling){ .kind = MOR_RULING_PERFORM,
				    .needs = 1ull << what,
				    .with_spawn = with_spawn };
}

/* Places where toolchains are installed beside the system's own. */
static bool in_software(const char *name)
{
	static const char *const roots[] = { "/opt", "/usr/local", "/nix", "/snap" };

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		if (mor_path_is_within(name, roots[i], strlen(roots[i])))
			return true;
	return false;
}

/* The same as rule_for(), starting where the last name was found. */
static struct mor_path_rule *rule_near(struct mor_paths *paths, const char *name)
{
	struct mor_path_rule *last = paths->last;

	if (last && !last->outer && mor_path_is_within(name, last->path, last->len))
		return last;
	return paths->last = rule_for(paths, name);
}

/* In the default set, except /proc, /dev and the like. */
static bool is_system(const struct mor_path_rule *rule)
{
	return rule->origin == MOR_PATH_DEFAULT && !(rule->access & W) &&
	       (strncmp(rule->path, "/usr/", 5) == 0 || strncmp(rule->path, "/etc/", 5) == 0);
}

/* Nobody has one here: pagers, whose ttyname() also lists both directories, then use the descriptor that they
 * were started with. */
static bool is_terminal(const char *name)
{
	return strcmp(name, "/dev/tty") == 0 || strcmp(name, "/dev") == 0 || strcmp(name, "/dev/pts") == 0 ||
	       strncmp(name, "/dev/pts/", 9) == 0;
}

struct mor_ruling mor_paths_read(struct mor_paths *paths, const char *name)
{
	struct mor_path_rule *rule = rule_near(paths, name);
	enum mor_forbidden what;
	const char *own;

	if (rule && rule->access & R && rule->origin == MOR_PATH_SPAWN)
		return needed(MOR_FORBID_READ, true);
	if (rule && rule->access & R)
		return (struct mor_ruling){ .kind = MOR_RULING_PERFORM,
					    .under = rule,
					    .inert = is_system(rule) };
	own = own_proc(name);
	if (own && mor_text_in(mor_slice_of(own), OWN_READABLE))
		return perform();
	if (is_terminal(name))
		return quiet(ENXIO);
	if (mor_paths_is_quiet(paths, name) || (paths->quiet_software && in_software(name)))
		return quiet(ENOENT);
	what = !paths->network && mor_paths_serves_network(name) ? MOR_FORBID_NETWORK : MOR_FORBID_READ;
	return what == MOR_FORBID_READ && may_be_learnt(paths, name) ? needed(what, false) : violation(what);
}

struct mor_ruling mor_paths_execute(const struct mor_paths *paths, const char *name)
{
	const struct mor_path_rule *rule = rule_for(paths, name);

	if (rule && rule->access & X && rule->origin != MOR_PATH_LOADER)
		return perform();
	if (may_be_learnt(paths, name) && !(rule && rule->origin == MOR_PATH_LOADER))
		return needed(MOR_FORBID_PROGRAM, false);
	return violation(MOR_FORBID_PROGRAM);
}

/* What lies below a writable directory and has a rule of its own: it stays where it is. */
static enum mor_protect_why judge_rules(const struct mor_paths *paths, const struct mor_path_rule *rule,
					const char *name, enum mor_write_kind kind)
{
	for (size_t i = 0; rule->outer && i < paths->count && paths->rules[i].len > rule->len; i++) {
		const struct mor_path_rule *inner = &paths->rules[i];
		enum mor_place place = mor_protect_compare(name, rule->len, inner->path);

		/* Within it by another spelling of its name; else its own rule would judge. */
		if (place == MOR_PLACE_WITHIN && !(inner->access & W))
			return MOR_PROTECT_READ;
		if (place == MOR_PLACE_ABOVE && mor_protect_replaces(kind))
			return MOR_PROTECT_BELOW;
	}
	return MOR_PROTECT_NOT;
}

static struct mor_ruling refuse_protected(const struct mor_protects *protects, enum mor_protect_why why)
{
	static const enum mor_forbidden kinds[] = {
		[MOR_PROTECT_ASKED] = MOR_FORBID_PROTECTED, [MOR_PROTECT_POLICY] = MOR_FORBID_POLICY,
		[MOR_PROTECT_CODE] = MOR_FORBID_CODE,       [MOR_PROTECT_READ] = MOR_FORBID_WRITE,
		[MOR_PROTECT_GIT] = MOR_FORBID_GIT,         [MOR_PROTECT_GIT_RUNS] = MOR_FORBID_GIT_RUNS,
		[MOR_PROTECT_TOOL] = MOR_FORBID_TOOL,       [MOR_PROTECT_UNDO] = MOR_FORBID_PROTECTED,
		[MOR_PROTECT_BELOW] = MOR_FORBID_BELOW,
	};
	/* Announced from the beginning, and no honest plugin needs them. */
	bool announced = why == MOR_PROTECT_ASKED || why == MOR_PROTECT_GIT_RUNS || why == MOR_PROTECT_UNDO;
	struct mor_ruling ruling = violation(kinds[why]);

	ruling.lenient = protects->lenient && !announced;
	return ruling;
}

/* `rule` allows to write. */
static struct mor_ruling judge_protected(const struct mor_paths *paths, const struct mor_path_rule *rule,
					 const char *name, enum mor_write_kind kind)
{
	enum mor_protect_why why = judge_rules(paths, rule, name, kind);
	struct mor_protects commits = paths->protects;
	bool named = rule->origin == MOR_PATH_WORKSPACE;

	if (why == MOR_PROTECT_NOT)
		why = mor_protect_find(&paths->protects, name, rule->len, named, kind);
	commits.commits = true;
	if (why == MOR_PROTECT_GIT && paths->learning &&
	    mor_protect_find(&commits, name, rule->len, named, kind) == MOR_PROTECT_NOT)
		return needed(MOR_FORBID_GIT, false);
	return why == MOR_PROTECT_NOT ? perform() : refuse_protected(&paths->protects, why);
}

/* Python's caches: it works without them. A thread's name: cosmetic. What a core file would hold:
 * no core file is written. */
static bool quiet_write(const char *name)
{
	const char *cache = strstr(name, "/__pycache__"), *own = own_proc(name);

	return (cache && (cache[12] == 0 || cache[12] == '/')) ||
	       (own && mor_text_in(mor_slice_of(own), "comm|coredump_filter"));
}

struct mor_ruling mor_paths_write(const struct mor_paths *paths, const char *name, enum mor_write_kind kind)
{
	struct mor_path_rule *rule = rule_for(paths, name);
	struct mor_ruling ruling;

	/* Does it allow writes, or will it when the program has been watched? */
	if (rule && (rule->access & W || (paths->learning && rule->origin == MOR_PATH_WORKSPACE))) {
		/* A rule's own directory may be filled, but not moved or removed. */
		if (kind > MOR_WRITE_INSIDE && rule->len == strlen(name))
			return violation(MOR_FORBID_RULE_ROOT);
		ruling = judge_protected(paths, rule, name, kind);
		if (ruling.kind == MOR_RULING_PERFORM && rule->origin == MOR_PATH_SCRATCH &&
		    kind != MOR_WRITE_REMOVE && paths->quota && !mor_quota_has_room(paths->quota))
			return quiet(ENOSPC);
		ruling.under = rule;
		if (ruling.kind == MOR_RULING_PERFORM && !(rule->access & W))
			ruling.needs |= 1ull << MOR_FORBID_WORKSPACE_WRITE;
		return ruling;
	}
	if (strcmp(name, "/dev/tty") == 0)
		return quiet(ENXIO);
	/* In /tmp only what is directly in it: a program that looks deeper wants another user's files. */
	if (quiet_write(name) ||
	    (paths->quiet_tmp && !rule && strncmp(name, "/tmp/", 5) == 0 && !strchr(name + 5, '/')))
		return quiet(EACCES);
	if (rule && rule->origin == MOR_PATH_VIEW) /* as the kernel would say */
		return quiet(EROFS);
	if (rule && rule->origin == MOR_PATH_WORKSPACE)
		return violation(MOR_FORBID_WORKSPACE_WRITE);
	return violation(MOR_FORBID_WRITE);
}

bool mor_paths_together(const struct mor_paths *paths, const char *a, const char *b)
{
	return rule_for(paths, a) == rule_for(paths, b);
}

bool mor_paths_searched(const struct mor_paths *paths, const char *name)
{
	const struct mor_path_rule *rule = rule_for(paths, name);

	return rule && rule->origin == MOR_PATH_WORKSPACE && paths->protects.count;
}
