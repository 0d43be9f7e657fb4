/* SPDX-License-Identifier: Apache-2.0 */
/* Finds mortise-jail, the programs of the command and the data. See helper.h. */
#include "program/helper.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that contains this code. */
struct own_file {
	char path[PATH_MAX]; /* absolute, links resolved */
	bool is_program;     /* a static program, not the shared library */
};

/* A program that came with it. */
struct companion {
	char path[PATH_MAX];
	struct own_file own;
	uid_t owner; /* of our own file */
	bool found;
};

/* The file mapped at `address`, by the kernel's name. */
static bool find_mapped(const void *address, char out[PATH_MAX])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;

	while (maps && !found && getline(&line, &size, maps) > 0) {
		uintptr_t from, to;
		char *path = strchr(line, '/');

		if (!path || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) != 2)
			continue;
		found = from <= (uintptr_t)address && (uintptr_t)address < to;
		if (found)
			snprintf(out, PATH_MAX, "%.*s", (int)strcspn(path, "\n"), path);
	}
	free(line);
	if (maps)
		fclose(maps);
	return found;
}

static bool find_program(char out[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - 1);

	if (len <= 0)
		return false;
	out[len] = '\0';
	return true;
}

/* The loader's name for the program is argv[0], which the caller chooses. So we ask the kernel. We also ask
 * it for a library that was loaded by a relative name: that name was valid only in the working directory at
 * that time. */
static bool find_own_file(struct own_file *ret)
{
	static const char here;
	struct link_map *map = NULL;
	Dl_info info;

	ret->is_program = !dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !map->l_name[0];
	if (ret->is_program)
		return find_program(ret->path);
	if (map->l_name[0] == '/')
		return realpath(map->l_name, ret->path) != NULL;
	return find_mapped(&here, ret->path);
}

static int own_dir(const struct own_file *own)
{
	return (int)(strrchr(own->path, '/') - own->path);
}

/* `place`: relative to the directory of our own file, or absolute if the layout has no common prefix. Links in
 * it stay: each directory that holds one must be checked. */
static void find_installed(const struct own_file *own, const char *place, const char *name, char out[PATH_MAX])
{
	int dir_len = own_dir(own);

	if (place[0] == '/')
		dir_len = 0;
	for (; strncmp(place, "../", 3) == 0; place += 3) /* our own path has no links */
		while (dir_len > 0 && own->path[--dir_len] != '/')
			;
	snprintf(out, PATH_MAX, "%.*s/%s/%s", dir_len, own->path, place + (place[0] == '/'), name);
}

/* Where a kind of companion may be, seen from the directory of our own file. */
struct places {
	const char *beside;              /* a build directory, a bundle */
	const char *from_bin, *from_lib; /* installed */
};
static const struct places helper_places = { "", MORTISE_HELPERS_FROM_BIN, MORTISE_HELPERS_FROM_LIB };
/* Only mortise-full uses data, and it is a helper. */
static const struct places data_places = { "share/mortise/", MORTISE_DATA_FROM_HELPERS,
					   MORTISE_DATA_FROM_HELPERS };

/* Is our own file in `place`, such as ../libexec/mortise? Then its companions are beside it, and there is no
 * second place. */
static bool is_in_place(const struct own_file *own, const char *place)
{
	size_t dir_len = (size_t)own_dir(own), len;

	while (strncmp(place, "../", 3) == 0)
		place += 3;
	place += place[0] == '/';
	len = strlen(place);
	return dir_len > len && own->path[dir_len - len - 1] == '/' &&
	       strncmp(own->path + dir_len - len, place, len) == 0;
}

static void find_companion(struct companion *ret, const struct places *places, const char *name)
{
	const char *place;
	struct stat st;

	snprintf(ret->path, PATH_MAX, "%s", name);
	ret->found = find_own_file(&ret->own);
	if (!ret->found)
		return;
	ret->owner = stat(ret->own.path, &st) == 0 ? st.st_uid : 0;
	snprintf(ret->path, PATH_MAX, "%.*s/%s%s", own_dir(&ret->own), ret->own.path, places->beside, name);
	place = ret->own.is_program ? places->from_bin : places->from_lib;
	if (access(ret->path, F_OK) < 0 && !is_in_place(&ret->own, place))
		find_installed(&ret->own, place, name, ret->path);
}

static void judge_companion(const struct companion *one, char fault[MOR_PROGRAM_FAULT])
{
	struct mor_running_code code = { one->own.path, one->owner };

	if (one->found)
		mor_file_is_ours(one->path, &code, fault);
	else
		snprintf(fault, MOR_PROGRAM_FAULT, "it is not known where this library is: mount /proc");
}

static const char *find_judged(const struct places *places, const char *name, char path[PATH_MAX],
			       char fault[MOR_PROGRAM_FAULT])
{
	struct companion one;

	find_companion(&one, places, name);
	judge_companion(&one, fault);
	memcpy(path, one.path, PATH_MAX);
	return path;
}

const char *mor_program_find(const char *name, char path[PATH_MAX], char fault[MOR_PROGRAM_FAULT])
{
	return find_judged(&helper_places, name, path, fault);
}

const char *mor_data_find(const char *name, char path[PATH_MAX], char fault[MOR_PROGRAM_FAULT])
{
	return find_judged(&data_places, name, path, fault);
}

/* ---- mortise-jail, searched once ---- */

static struct companion jail;

static void find_jail(void)
{
	find_companion(&jail, &helper_places, "mortise-jail");
}

const char *mor_helper_find(const char *asked, char fault[MOR_PROGRAM_FAULT])
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	fault[0] = '\0';
	if (asked)
		return asked;
	pthread_once(&once, find_jail);
	judge_companion(&jail, fault);
	return jail.path;
}

const char *mor_helper_missing(const char *asked, char hint[static MOR_HELPER_HINT])
{
	enum { SHOWN = 60 };
	const char *own = jail.own.path, *slash = strrchr(own, '/');
	int len = slash ? (int)(slash - own) : 0, cut = len > SHOWN ? len - SHOWN : 0;

	hint[0] = '\0';
	if (!asked)
		snprintf(hint, MOR_HELPER_HINT, ", nor in %s%.*s; install it, or name it in jail_helper",
			 cut ? "..." : "", len - cut, own + cut);
	return hint;
}
