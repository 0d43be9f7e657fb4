/* SPDX-License-Identifier: Apache-2.0 */
/* See entry.h. */
#include "jail/entry.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

#define SCRIPTS_MAX 4 /* as in the kernel: a script's interpreter may be a script */
#define HEAD_SIZE   512

#if UINTPTR_MAX == UINT64_MAX
typedef Elf64_Ehdr elf_head;
typedef Elf64_Phdr elf_part;
#else
typedef Elf32_Ehdr elf_head;
typedef Elf32_Phdr elf_part;
#endif

/* As the launcher will see it, after its chdir. */
static int open_entry(const struct mor_plan *plan, const char *path, char whole[PATH_MAX])
{
	int len = path[0] == '/' || !plan->cwd ? snprintf(whole, PATH_MAX, "%s", path) :
						 snprintf(whole, PATH_MAX, "%s/%s", plan->cwd, path);

	if (len < 0 || len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* ---- script lines ---- */

static const char *env_value(const struct mor_plan *plan, const char *name)
{
	size_t len = strlen(name);

	for (char **env = plan->env; env && *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* As env would find it. */
static char *search(const struct mor_plan *plan, const char *name)
{
	const char *path = env_value(plan, "PATH");
	char full[PATH_MAX];

	if (strchr(name, '/'))
		return mor_strdup(name);
	for (path = path ? path : "/usr/bin:/bin"; *path; path += strspn(path, ":")) {
		size_t len = strcspn(path, ":");

		if ((size_t)snprintf(full, sizeof(full), "%.*s/%s", (int)len, path, name) < sizeof(full) &&
		    access(full, X_OK) == 0)
			return mor_strdup(full);
		path += len;
	}
	return mor_strdup(name); /* execve will report that it does not exist */
}

static bool is_env(const char *path)
{
	return strcmp(path, "/usr/bin/env") == 0 || strcmp(path, "/bin/env") == 0;
}

/* Splits the line into words, in place: the interpreter, and its one argument; with env -S every word. */
static size_t split_line(char *line, char *words[8])
{
	size_t count = 0;
	bool all = false;

	for (char *at = line; count < 8;) {
		at += strspn(at, " \t");
		if (!*at)
			break;
		words[count++] = at;
		if (count == 2 && is_env(words[0]) && strncmp(at, "-S", 2) == 0) {
			all = true;
			count--;
			at += 2;
			continue;
		}
		/* the kernel passes the rest as one argument, without blanks at its end */
		if (count == 2 && !all) {
			size_t len = strlen(at);

			while (len && (at[len - 1] == ' ' || at[len - 1] == '\t'))
				at[--len] = 0;
			break;
		}
		at += strcspn(at, " \t");
		if (*at)
			*at++ = 0;
	}
	return count;
}

/* words + argv; argv[0] is the script's own name. */
static int put_before(struct mor_plan *plan, char **words, size_t count)
{
	char **argv = mor_alloc((plan->argc + count + 1) * sizeof(*argv));

	if (!argv)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (!(argv[i] = mor_strdup(words[i])))
			return -ENOMEM;
	memcpy(argv + count, plan->argv, (plan->argc + 1) * sizeof(*argv));
	plan->argv = argv; /* the old array is small, and lives as long as the program */
	plan->argc += count;
	return 0;
}

static int use_script(struct mor_plan *plan, char *line)
{
	char *words[8];
	size_t count = split_line(line, words), first = 0;
	int status;

	if (count == 0)
		return -ENOEXEC;
	if (is_env(words[0]) && count > 1) {
		first = 1;
		words[1] = search(plan, words[1]);
		if (!words[1])
			return -ENOMEM;
	}
	status = put_before(plan, words + first, count - first);
	if (first)
		mor_free(words[1]);
	return status;
}

/* ---- ELF ---- */

/* The loader that the kernel will open. 0 also if it needs no loader (static). */
static int add_loader(struct mor_paths *paths, int fd, const char head[HEAD_SIZE], size_t got)
{
	char name[PATH_MAX];
	elf_head elf;

	if (got < sizeof(elf))
		return 0;
	memcpy(&elf, head, sizeof(elf));
	for (unsigned i = 0; i < elf.e_phnum && i < 64; i++) {
		elf_part part;
		ssize_t len;

		if (pread(fd, &part, sizeof(part), (off_t)(elf.e_phoff + i * sizeof(part))) != sizeof(part))
			return 0; /* execve will report it */
		if (part.p_type != PT_INTERP || part.p_filesz >= sizeof(name))
			continue;
		len = pread(fd, name, part.p_filesz, (off_t)part.p_offset);
		if (len <= 0)
			return 0;
		name[len] = 0;
		return mor_paths_add(paths, name, MOR_MAY_READ | MOR_MAY_EXECUTE, MOR_PATH_LOADER);
	}
	return 0;
}

/* PREFIX/lib of an interpreter PREFIX/bin/x outside the system's directories (pyenv, nvm). */
static int add_prefix(struct mor_paths *paths, const char *path)
{
	char real[PATH_MAX], *slash;
	int fd = open(path, O_PATH | O_CLOEXEC);
	char link[32];
	ssize_t len;

	if (fd < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, real, sizeof(real) - 8);
	close(fd);
	if (len <= 0)
		return 0;
	real[len] = 0;
	slash = strrchr(real, '/');
	if (!slash || slash - real < 5 || strncmp(slash - 4, "/bin", 4) != 0 || strncmp(real, "/usr/", 5) == 0)
		return 0;
	memcpy(slash - 4, "/lib", 5);
	return mor_paths_add(paths, real, MOR_MAY_READ, MOR_PATH_DEFAULT);
}

/* One file that is executed or interpreted. *line is its script line, "" for a program. */
static int look_at(struct mor_plan *plan, struct mor_paths *paths, const char *path, char line[HEAD_SIZE],
		   struct mor_setup_failure *failure)
{
	char whole[PATH_MAX], head[HEAD_SIZE];
	int fd = open_entry(plan, path, whole), status;
	ssize_t got;

	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return mor_setup_fail(failure, MOR_AT_CONFINE, errno,
				      "%s cannot be read: the guardian could not look into such a process",
				      path);
	if (fd < 0)
		return mor_setup_fail(failure, MOR_AT_EXEC, errno, "%s", path);
	got = read(fd, head, sizeof(head) - 1);
	line[0] = 0;
	if (got > 2 && memcmp(head, "#!", 2) == 0) {
		head[got] = 0;
		head[strcspn(head, "\n")] = 0;
		memcpy(line, head + 2, strlen(head + 2) + 1);
	}
	status = mor_paths_add(paths, whole, MOR_MAY_READ | MOR_MAY_EXECUTE, MOR_PATH_DEFAULT);
	if (status == 0 && got > 4 && memcmp(head, ELFMAG, SELFMAG) == 0)
		status = add_loader(paths, fd, head, (size_t)got);
	if (status == 0)
		status = add_prefix(paths, whole);
	close(fd);
	return status < 0 ? mor_setup_fail(failure, MOR_AT_CONFINE, -status, "the rules for %s", path) : 0;
}

int mor_launch_resolve(struct mor_plan *plan, struct mor_paths *paths, struct mor_setup_failure *failure)
{
	char line[HEAD_SIZE];

	for (int depth = 0; depth <= SCRIPTS_MAX; depth++) {
		int status;

		line[0] = '\0';
		if (look_at(plan, paths, plan->argv[0], line, failure) < 0)
			return -1;
		if (!line[0])
			return 0;
		if ((status = use_script(plan, line)) < 0)
			return mor_setup_fail(failure, MOR_AT_EXEC, -status, "%s", plan->argv[0]);
	}
	return mor_setup_fail(failure, MOR_AT_EXEC, ELOOP, "%s", plan->argv[0]);
}
