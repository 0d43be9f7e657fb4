/* SPDX-License-Identifier: Apache-2.0 */
/* Which files of an installed plugin's directory were read or looked for, and what was found: later, they
 * are compared. Of others nothing is kept: there is nothing to compare them with. */

#include "base/alloc.h"
#include "base/path.h"
#include "manifest/internal.h"

static bool is_compared(const struct mor_load *load)
{
	return load->dir && load->query->installed;
}

/* Files elsewhere (the user's configuration, an interpreter) are not the plugin's. */
static void note_file(struct mor_load *load, const char *path, const struct mor_manifest_seen *what)
{
	MOR_CLEAN(mor_buf) struct mor_buf clean = MOR_BUF_INIT;
	struct mor_manifest *m = load->m;
	struct mor_manifest_seen seen = *what;
	const char *below = NULL;

	if (!is_compared(load))
		return;
	if (mor_path_clean(load->dir, path, &clean) == 0 && mor_buf_byte(&clean, '\0') == 0) {
		below = mor_path_below(load->dir, clean.data);
		if (!below || !*below)
			return;
	}
	seen.path = below ? mor_strdup(below) : NULL;
	if (!seen.path || mor_grow(&m->seen, m->seen_count, &m->seen_cap, sizeof(*m->seen)) < 0) {
		mor_free(seen.path);
		load->unseen = true;
		return;
	}
	m->seen[m->seen_count++] = seen;
}

int mor_manifest_see(struct mor_load *load, const char *path, const char *shown, char **ret, size_t *ret_len)
{
	struct mor_manifest_seen seen = { 0 };
	int r = mor_manifest_read_file(path, shown, ret, ret_len, load->err);

	if (r < 0)
		return r;
	seen.there = r > 0;
	if (seen.there && is_compared(load))
		mor_digest_of(*ret, *ret_len, seen.sha256);
	note_file(load, path, &seen);
	return r;
}

bool mor_manifest_sees_file(struct mor_load *load, const char *path)
{
	struct mor_manifest_seen seen = { .there = mor_path_is_file(path) };

	note_file(load, path, &seen);
	return seen.there;
}

void mor_manifest_free_seen(struct mor_manifest *m)
{
	for (size_t i = 0; i < m->seen_count; i++)
		mor_free(m->seen[i].path);
	mor_free(m->seen);
}
