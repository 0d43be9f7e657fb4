/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of an installed plugin may not choose: nobody would be asked about it, and no comparison would
 * see it. The user's own configuration and the command line may. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/guarded.h"

/* Places, and what is protected in them: the plugin's permissions are words about a workspace that the user
 * chooses. */
static const char *const kept[] = { "scratch", "workspace", "unprotect", "protected_paths" };

static int check_sandbox(const struct mor_manifest *m, mortise_error *err)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		const struct mor_setting *s = mor_manifest_setting(m, "sandbox", kept[i]);

		if (s && mor_setting_came_along(s))
			return mor_fail(
				err, MORTISE_EMANIFEST,
				"%s: sandbox.%s: an installed plugin cannot choose this: nobody is asked about "
				"it; the user can, with %s or in mortise/plugins/%s.toml",
				s->origin, kept[i], m->embedded ? "a setting" : "--set", m->name);
	}
	return 0;
}

static bool is_inside(const char *path, const char *top)
{
	char real[PATH_MAX], root[PATH_MAX];

	return realpath(path, real) && realpath(top, root) && mor_path_below(root, real);
}

/* Relative words of its command would mean files there, which were not shown and are not compared. */
static int check_cwd(const struct mor_manifest *m, const char *top, mortise_error *err)
{
	const struct mor_setting *s = mor_manifest_setting(m, "plugin", "cwd");

	if (!s || !mor_setting_came_along(s) || !m->cwd || is_inside(m->cwd, top))
		return 0;
	return mor_fail(
		err, MORTISE_EMANIFEST,
		"%s: plugin.cwd: an installed plugin cannot begin in %s, which is not part of it; the user can "
		"choose that with %s",
		s->origin, m->cwd, m->embedded ? "a setting" : "--set");
}

/* Of the system, which its administrator answers for. */
static bool is_system(const char *path)
{
	static const char *const tops[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64",
					    "/opt", "/etc", "/dev",  "/proc" };

	for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++)
		if (mor_path_is_within(path, tops[i], strlen(tops[i])))
			return true;
	return false;
}

static int warn_of_word(struct mor_manifest *m, const char *word, const char *top)
{
	char whole[PATH_MAX], real[PATH_MAX], shown[300];
	struct stat st;

	if (!strchr(word, '/') || snprintf(whole, sizeof(whole), "%s%s%s",
					   *word == '/' ? "" :
					   m->cwd       ? m->cwd :
							  top,
					   *word == '/' ? "" : "/", word) >= (int)sizeof(whole))
		return 0;
	if (!realpath(whole, real) || stat(real, &st) < 0 || !S_ISREG(st.st_mode) || is_inside(real, top) ||
	    is_system(real))
		return 0;
	return mor_manifest_warn(
		m,
		"its command names %s, which is not part of the plugin: what stands there is neither shown nor "
		"compared",
		mor_printable(mor_slice_of(word), shown, sizeof(shown)));
}

int mor_vetting_manifest(const struct mor_guarded *guarded, const char *top, mortise_error *err)
{
	struct mor_manifest *m = guarded->manifest;
	int r;

	if (!guarded->vetting || !top)
		return 0;
	r = check_sandbox(m, err);
	if (r == 0)
		r = check_cwd(m, top, err);
	for (char **word = m->argv; r == 0 && word && *word; word++)
		if (warn_of_word(m, *word, top) < 0)
			r = mor_fail_memory(err);
	return r;
}
