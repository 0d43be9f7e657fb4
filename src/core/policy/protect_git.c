/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What git runs besides its own directory. Git's configuration is read plainly, once, before the
 * start: sections, keys, quotes and includes. Git itself is not asked: what it would run for the
 * answer is the question.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/xdg.h"
#include "policy/protect.h"

#define CONFIG_LIMIT (1024 * 1024)
enum {
	INCLUDES_MAX = 5,     /* of one another */
	DIRECTORIES_MAX = 256 /* in which nested repositories are looked for */
};

struct git_look {
	struct mor_buf *plan;
	const struct mor_policy *policy;
	const char *tree; /* the working tree of the repository that is looked at */
	int depth;        /* of includes */
	bool git;         /* repositories are looked at */
};

/* What is in a directory called .git is protected already. */
static void protect(const struct git_look *look, enum mor_protect_why why, const char *path)
{
	if (!strstr(path, "/.git/"))
		mor_protected_write_path(look->plan, look->policy, why, path);
}

/* Less must not be protected because there is no memory: the plan fails. */
static char *or_fail(const struct git_look *look, char *text)
{
	if (!text)
		look->plan->status = MORTISE_ENOMEM;
	return text;
}

/* "~/x", "/x", or "x" below `dir`. For mor_free(); NULL: no HOME, or no memory. */
static char *place_of(const struct git_look *look, const char *dir, const char *value)
{
	struct mor_buf out = MOR_BUF_INIT;
	const char *home = getenv("HOME");

	if (strncmp(value, "~/", 2) == 0) {
		if (!home)
			return NULL;
		dir = home;
		value += 2;
	}
	mor_path_clean(dir, value, &out);
	return or_fail(look, mor_buf_detach(&out));
}

/* ---- configuration ---- */

/* The value without quotes, escapes and comments, in place. */
static void unquote(char *value)
{
	char *out = value, *end = value;
	bool quoted = false;

	for (const char *at = value; *at; at++) {
		if (!quoted && (*at == '#' || *at == ';'))
			break;
		if (*at == '"') {
			quoted = !quoted;
			continue;
		}
		if (*at == '\\' && at[1])
			at++;
		*out++ = *at;
		if (quoted || (*at != ' ' && *at != '\t' && *at != '\r'))
			end = out;
	}
	*end = '\0';
}

static void read_config(struct git_look *look, const char *path);

/* "path" of [include] and [includeIf "..."]. */
static void include_file(struct git_look *look, const char *config, const char *value)
{
	const char *slash = strrchr(config, '/');
	char dir[PATH_MAX];
	MOR_CLEAN_TEXT char *path = NULL;

	if (!slash || snprintf(dir, sizeof(dir), "%.*s", (int)(slash - config), config) >= (int)sizeof(dir))
		return;
	path = place_of(look, dir[0] ? dir : "/", value);
	if (!path || look->depth >= INCLUDES_MAX)
		return;
	protect(look, MOR_PROTECT_GIT_RUNS, path);
	look->depth++;
	read_config(look, path);
	look->depth--;
}

static void take_key(struct git_look *look, const char *config, const char *section, char *line)
{
	char *value = strchr(line, '=');
	size_t len;

	if (!value)
		return;
	*value++ = '\0';
	value += strspn(value, " \t");
	len = strcspn(line, " \t");
	line[len] = '\0';
	unquote(value);
	if (strcasecmp(section, "core") == 0 && strcasecmp(line, "hookspath") == 0 && *value) {
		MOR_CLEAN_TEXT char *path = place_of(look, look->tree, value);

		if (path)
			protect(look, MOR_PROTECT_GIT_RUNS, path);
	} else if (strncasecmp(section, "include", 7) == 0 && strcasecmp(line, "path") == 0 && *value) {
		include_file(look, config, value);
	}
}

/* "[section "sub"] key = value": the name of the section, and where the line goes on. */
static char *take_section(char *line, char section[64])
{
	char *end = strchr(line, ']');

	if (!end)
		return line + strlen(line);
	snprintf(section, 64, "%.*s", (int)strcspn(line + 1, "] \t\"."), line + 1);
	return end + 1 + strspn(end + 1, " \t");
}

static void read_config(struct git_look *look, const char *path)
{
	MOR_CLEAN_TEXT char *text = NULL;
	char section[64] = "", *save = NULL;
	size_t len;

	if (mor_fd_read_file(path, CONFIG_LIMIT, &text, &len) < 0)
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t");
		if (*line == '[')
			line = take_section(line, section);
		if (*line && *line != '#' && *line != ';')
			take_key(look, path, section, line);
	}
}

static void read_general(struct git_look *look)
{
	MOR_CLEAN_TEXT char *user = NULL;
	MOR_CLEAN_TEXT char *home = place_of(look, "/", "~/.gitconfig");

	read_config(look, "/etc/gitconfig");
	if (mor_xdg_path(MOR_XDG_CONFIG, NULL, &user, "git/config") == 0)
		read_config(look, user);
	if (home)
		read_config(look, home);
}

/* ---- one repository ---- */

/* The first line of a small file, without `front`; false: it is not such a file. */
static bool read_line(const char *path, const char *front, char line[PATH_MAX])
{
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len, skip = strlen(front);

	if (mor_fd_read_file(path, PATH_MAX, &text, &len) < 0 || strncmp(text, front, skip) != 0)
		return false;
	snprintf(line, PATH_MAX, "%.*s", (int)strcspn(text + skip, "\r\n"), text + skip);
	return line[0] != '\0';
}

/* .git is a directory, or a file that names one. For mor_free(), or NULL. */
static char *git_directory(const struct git_look *look, const char *tree)
{
	char path[PATH_MAX], line[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/.git", tree) >= (int)sizeof(path) || stat(path, &st) < 0)
		return NULL;
	if (S_ISDIR(st.st_mode))
		return realpath(path, line) ? or_fail(look, mor_strdup(line)) : NULL;
	return S_ISREG(st.st_mode) && read_line(path, "gitdir: ", line) ? place_of(look, tree, line) : NULL;
}

static char *common_directory(const struct git_look *look, const char *git)
{
	char path[PATH_MAX], line[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/commondir", git) < (int)sizeof(path) && read_line(path, "", line))
		return place_of(look, git, line);
	return or_fail(look, mor_strdup(git));
}

/* Hooks are often links into the working tree. */
static void follow_hooks(const struct git_look *look, const char *common)
{
	char path[PATH_MAX], real[PATH_MAX];
	const struct dirent *entry;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/hooks", common) >= (int)sizeof(path) || !(dir = opendir(path)))
		return;
	if (realpath(path, real))
		protect(look, MOR_PROTECT_GIT_RUNS, real);
	while ((entry = readdir(dir)))
		if (entry->d_type == DT_LNK &&
		    snprintf(path, sizeof(path), "%s/hooks/%s", common, entry->d_name) < (int)sizeof(path) &&
		    realpath(path, real))
			protect(look, MOR_PROTECT_GIT_RUNS, real);
	closedir(dir);
}

static void read_own_config(struct git_look *look, const char *dir, const char *name)
{
	char path[PATH_MAX], real[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return;
	if (realpath(path, real) && strcmp(path, real) != 0)
		protect(look, MOR_PROTECT_GIT_RUNS, real);
	read_config(look, path);
}

static void look_at_repository(struct git_look *look, const char *tree)
{
	MOR_CLEAN_TEXT char *git = git_directory(look, tree);
	MOR_CLEAN_TEXT char *common = git ? common_directory(look, git) : NULL;

	if (!common)
		return;
	look->tree = tree;
	if (!strstr(git, "/.git/") && strcmp(mor_base_name(git), ".git") != 0)
		protect(look, MOR_PROTECT_GIT, git);
	if (strcmp(git, common) != 0 && strcmp(mor_base_name(common), ".git") != 0)
		protect(look, MOR_PROTECT_GIT, common);
	read_own_config(look, common, "config");
	read_own_config(look, git, "config.worktree");
	read_general(look);
	follow_hooks(look, common);
}

/* ---- all of them ---- */

/* The one that the workspace itself lies in. */
static void look_above(struct git_look *look)
{
	char dir[PATH_MAX], git[PATH_MAX + 8];

	if (snprintf(dir, sizeof(dir), "%s", look->policy->workspace) >= (int)sizeof(dir))
		return;
	for (char *slash; (slash = strrchr(dir, '/')) && slash != dir;) {
		*slash = '\0';
		snprintf(git, sizeof(git), "%s/.git", dir);
		if (access(git, F_OK) == 0) {
			look_at_repository(look, dir);
			return;
		}
	}
}

/* Takes `dir`. */
static void add_directory_take(const struct git_look *look, char ***list, char *dir)
{
	if (mor_texts_push_take(list, dir) < 0)
		look->plan->status = MORTISE_ENOMEM;
}

/* Adds the directories in `dir` to the list. */
static void look_in(struct git_look *look, const char *dir, char ***list)
{
	const struct dirent *entry;
	DIR *open_dir = opendir(dir);

	while (open_dir && (entry = readdir(open_dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (strcmp(entry->d_name, ".git") != 0) {
			mor_protected_write_links(look->plan, look->policy, dir, entry->d_name);
			if (entry->d_type == DT_DIR)
				add_directory_take(look, list, mor_path_join(dir, entry->d_name));
		} else if (look->git) {
			look_at_repository(look, dir);
		}
	}
	if (open_dir)
		closedir(open_dir);
}

int mor_protected_look_around(struct mor_buf *plan, const struct mor_policy *policy, bool git)
{
	struct git_look look = { .plan = plan, .policy = policy, .git = git };
	char **list = NULL;

	if (git)
		look_above(&look);
	add_directory_take(&look, &list, mor_strdup(policy->workspace));
	for (size_t i = 0; list && list[i] && i < DIRECTORIES_MAX; i++)
		look_in(&look, list[i], &list);
	mor_texts_free(list);
	return plan->status;
}
