/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing of an installed plugin runs before its files were compared with what somebody has approved. What was
 * compared here is compared once more by mortise-jail, when it starts the process (src/jail/checked.h).
 */
#include "guard/vetting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/guarded.h"
#include "store/permissions.h"

struct mor_vetting *mor_vetting_free(struct mor_vetting *vetting)
{
	if (!vetting)
		return NULL;
	mor_store_check_fini(&vetting->check);
	mor_free(vetting->files);
	mor_free((char *)vetting->checked.directory);
	mor_free(vetting->work);
	mor_texts_free(vetting->argv);
	mor_free(vetting->name);
	mor_free(vetting);
	return NULL;
}

/* As somebody has approved it, whatever its manifest says about its level now. */
static bool wants_confinement(const struct mor_installed *found)
{
	return found->confine || mor_permissions_confined(found->permissions);
}

/* ---- the question ---- */

static void count_changes(const struct mor_content_changes *changes, mortise_trust *trust)
{
	for (size_t i = 0; i < changes->count; i++) {
		enum mor_content_change_kind kind = changes->items[i].kind;

		trust->changed += kind == MOR_CONTENT_CHANGED;
		trust->added += kind == MOR_CONTENT_ADDED;
		trust->missing += kind == MOR_CONTENT_MISSING;
	}
	trust->file = changes->count ? changes->items[0].path : NULL;
}

/* One line. The function that reports it puts the name of the plugin before it. */
static void describe_trust(const mortise_trust *trust, const struct mor_content_changes *changes, char *out,
			   size_t size)
{
	char file[200];

	if (trust->why == MORTISE_TRUST_UNAPPROVED)
		snprintf(out, size, "nobody has approved version %.64s with these permissions", trust->version);
	else
		snprintf(out, size,
			 "%s: %s since version %.64s was approved (%llu changed, %llu added, %llu missing)",
			 mor_printable(mor_slice_of(trust->file), file, sizeof(file)),
			 mor_content_change_name(changes->items[0].kind), trust->version,
			 (unsigned long long)trust->changed, (unsigned long long)trust->added,
			 (unsigned long long)trust->missing);
}

/* What an answer is about. */
static void name_subject(const struct mor_installed *found, const struct mor_store_check *check, char *out,
			 size_t size)
{
	char permissions[MOR_DIGEST_SIZE] = "";
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };

	mor_w_value(&w, found->permissions);
	if (!mor_buf_failed(&text))
		mor_digest_of(text.data, text.len, permissions);
	snprintf(out, size, "%s%s", check->found.now.digest, permissions);
}

static int decide(struct mor_vetting *vetting, const struct mor_vetting_asker *asker,
		  const struct mor_installed *found, struct mor_store_check *check, mortise_error *err)
{
	const struct mor_content_changes *changes = &check->found.changes;
	MOR_CLEAN(mor_buf) struct mor_buf permissions = MOR_BUF_INIT;
	struct mor_writer w = { .out = &permissions };
	char text[400], command[200], subject[2 * MOR_DIGEST_SIZE];
	mortise_trust trust = { .why = changes->count ? MORTISE_TRUST_CHANGED : MORTISE_TRUST_UNAPPROVED,
				.name = found->name,
				.version = found->version,
				.directory = found->path,
				.text = text,
				.command = command };

	if (found->approved && !changes->count)
		return 0;
	name_subject(found, check, subject, sizeof(subject));
	if (strcmp(vetting->accepted, subject) == 0)
		return 0;
	count_changes(changes, &trust);
	describe_trust(&trust, changes, text, sizeof(text));
	snprintf(command, sizeof(command), "mortise approve %s@%s", found->name, found->version);
	mor_w_value(&w, found->permissions);
	mor_buf_byte(&permissions, '\0');
	if (mor_buf_failed(&permissions))
		return mor_fail_memory(err);
	trust.permissions = permissions.data;
	if (asker->ask(asker->arg, &trust) <= 0)
		return mor_fail(err, MORTISE_EVIOLATION,
				"%s; nothing of it was run; to look at it and approve it: %s", text, command);
	memcpy(vetting->accepted, subject, sizeof(subject));
	return 0;
}

/* ---- what was read before the comparison ---- */

static bool has_content(const struct mor_content *now, const char *sha256)
{
	for (size_t i = 0; i < now->count; i++)
		if (strcmp(now->files[i].sha256, sha256) == 0)
			return true;
	return false;
}

/* Is a directory on its way a link? Then its name in the list is another. */
static bool leads_through_link(const struct mor_content *now, const char *path)
{
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		MOR_CLEAN_TEXT char *dir = mor_strndup(path, (size_t)(slash - path));

		if (!dir || mor_content_find(now, dir))
			return dir;
	}
	return false;
}

static bool is_as_seen(const struct mor_content *now, const struct mor_manifest_seen *seen)
{
	const struct mor_content_file *file = mor_content_find(now, seen->path);

	if (!file)
		return !seen->there || leads_through_link(now, seen->path);
	if (file->target) /* it may lead nowhere; if not, to a file that was compared */
		return !seen->sha256[0] || has_content(now, seen->sha256);
	return seen->there && (!seen->sha256[0] || strcmp(seen->sha256, file->sha256) == 0);
}

/* What is run, and how, was decided when the plugin was made. Somebody may have shown other files then. */
static int compare_seen(const struct mor_guarded *guarded, const struct mor_installed *found,
			const struct mor_content *now, mortise_error *err)
{
	const struct mor_manifest *m = guarded->manifest;
	char shown[200];

	for (size_t i = 0; i < m->seen_count; i++)
		if (!is_as_seen(now, &m->seen[i]))
			return mor_fail(err, MORTISE_EVIOLATION,
					"%s: it changed after it was read; nothing of %s was run; start again",
					mor_printable(mor_slice_of(m->seen[i].path), shown, sizeof(shown)),
					found->name);
	if (!guarded->vetting->name || strcmp(guarded->vetting->name, found->name) != 0 ||
	    guarded->vetting->confine != wants_confinement(found))
		return mor_fail(err, MORTISE_EVIOLATION,
				"what was approved of %s %s changed after it was read; nothing of it was run; "
				"start again",
				found->name, found->version);
	return 0;
}

/* ---- what mortise-jail compares ---- */

static struct mor_plan_file plan_file(const struct mor_content_file *file)
{
	return (struct mor_plan_file){
		.path = file->path,
		.target = file->target,
		.identity = { .device = file->identity.device,
			      .inode = file->identity.inode,
			      .size = file->identity.size,
			      .mtime_ns = file->identity.mtime_ns,
			      .ctime_ns = file->identity.ctime_ns },
		.executable = file->executable,
	};
}

/* Takes the check. */
static int keep_check(struct mor_guarded *guarded, const char *directory, struct mor_store_check *check,
		      mortise_error *err)
{
	struct mor_vetting *vetting = guarded->vetting;
	const struct mor_content *now;
	char real[PATH_MAX];

	mor_store_check_fini(&vetting->check);
	vetting->check = *check;
	*check = (struct mor_store_check){ 0 };
	now = &vetting->check.found.now;
	mor_free(vetting->files);
	mor_free((char *)vetting->checked.directory);
	vetting->files = mor_zalloc((now->count + 1) * sizeof(*vetting->files));
	vetting->checked = (struct mor_plan_checked){
		.directory = mor_strdup(realpath(directory, real) ? real : directory),
		.files = vetting->files,
		.count = now->count,
	};
	if (!vetting->files || !vetting->checked.directory)
		return mor_fail_memory(err);
	for (size_t i = 0; i < now->count; i++)
		vetting->files[i] = plan_file(&now->files[i]);
	guarded->command.checked = &vetting->checked;
	return 0;
}

/* ---- a directory to write in ---- */

/* The plugin's own files must be found there too. A link of an older version is replaced. */
static void link_entry(int work, const char *directory, const char *name)
{
	MOR_CLEAN_TEXT char *target = mor_path_join(directory, name);
	char old[PATH_MAX];
	ssize_t len = readlinkat(work, name, old, sizeof(old) - 1);

	if (!target || (len < 0 && errno == EINVAL)) /* a file that it has written itself */
		return;
	if (len >= 0) {
		old[len] = '\0';
		if (strcmp(old, target) == 0)
			return;
		(void)unlinkat(work, name, 0);
	}
	(void)symlinkat(target, work, name);
}

/* Best effort: what cannot be linked is found by its full name. */
static void fill_work(const struct mor_vetting *vetting)
{
	const struct mor_content *now = &vetting->check.found.now;
	int work = open(vetting->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char last[NAME_MAX + 1] = "";

	for (size_t i = 0; work >= 0 && i < now->count; i++) {
		char name[NAME_MAX + 1];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(now->files[i].path, "/"), now->files[i].path);
		if (strcmp(name, last) == 0)
			continue;
		memcpy(last, name, sizeof(last));
		link_entry(work, vetting->checked.directory, name);
	}
	if (work >= 0)
		close(work);
}

/* Plugins of G-Assist run in their own directory and write logs and settings there. */
static bool writes_beside(const struct mor_guarded *guarded)
{
	const struct mor_manifest *m = guarded->manifest;

	return strcmp(guarded->dialect->name, "gassist") == 0 && m->cwd && m->dir &&
	       strcmp(m->cwd, m->dir) == 0;
}

/* ---- the steps ---- */

int mor_vetting_find(const char *path, struct mor_vetting **ret_vetting, bool *ret_network, mortise_error *err)
{
	struct mor_store store = { 0 };
	struct mor_installed found = { 0 };
	int r = path ? mor_store_open(NULL, NULL, &store) : 0;

	if (r == 0 && path)
		/* What is wrong with it is said when it is to be started. */
		r = mor_store_at(&store, path, &found, NULL);
	if (r != 0 && !(*ret_vetting = mor_zalloc(sizeof(**ret_vetting))))
		r = MORTISE_ENOMEM;
	if (r == 1) {
		(*ret_vetting)->name = mor_strdup(found.name);
		(*ret_vetting)->confine = wants_confinement(&found);
		*ret_network = found.approved && mor_installed_allows(&found, "network");
		r = (*ret_vetting)->name ? 0 : MORTISE_ENOMEM;
	}
	mor_installed_fini(&found);
	mor_store_fini(&store);
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : 0;
}

/* Where it runs it may write, so a name there is not what was compared. Words that mean its files get their
 * full names. Those of options ("--file=x") and of files that it makes itself stay. */
static int anchor_words(struct mor_guarded *guarded, mortise_error *err)
{
	struct mor_vetting *vetting = guarded->vetting;
	char **argv = NULL;
	int r = 0;

	for (char **word = guarded->manifest->argv; r == 0 && word && *word; word++) {
		MOR_CLEAN(mor_buf) struct mor_buf clean = MOR_BUF_INIT;
		bool path = **word != '/' && (word != guarded->manifest->argv || strchr(*word, '/'));

		if (mor_path_clean("", *word, &clean) < 0 || mor_buf_byte(&clean, '\0') < 0)
			r = MORTISE_ENOMEM;
		else if (path && mor_content_find(&vetting->check.found.now, clean.data))
			r = mor_texts_push_take(&argv, mor_path_join(vetting->checked.directory, clean.data));
		else
			r = mor_texts_push_take(&argv, mor_strdup(*word));
	}
	if (r < 0) {
		mor_texts_free(argv);
		return mor_fail_memory(err);
	}
	mor_texts_free(vetting->argv);
	vetting->argv = argv;
	guarded->command.argv = (const char *const *)argv;
	return 0;
}

/* Fails where there is no place: then it runs among its files, as it would without us. */
static int choose_work(struct mor_guarded *guarded, const struct mor_store *store, const char *name,
		       mortise_error *err)
{
	struct mor_vetting *vetting = guarded->vetting;

	if (mor_policy_confined(&guarded->policy) || !writes_beside(guarded))
		return 0;
	if (!vetting->work)
		vetting->work = mor_store_work(store, name);
	if (!vetting->work)
		return 0;
	fill_work(vetting);
	guarded->command.cwd = vetting->work;
	return anchor_words(guarded, err);
}

int mor_vetting_check(struct mor_guarded *guarded, const struct mor_vetting_asker *asker, mortise_error *err)
{
	struct mor_store store = { 0 };
	struct mor_installed found = { 0 };
	struct mor_store_check check = { 0 };
	int r;

	if (!guarded->vetting)
		return 0;
	r = mor_store_open(NULL, NULL, &store) < 0 ? mor_fail_memory(err) :
						     mor_store_at(&store, guarded->manifest->dir, &found, err);
	if (r == 0)
		r = mor_fail(err, MORTISE_EVIOLATION, "%s: it is not installed any more",
			     guarded->manifest->dir);
	if (r > 0)
		r = mor_store_verify(&found, &check, err);
	if (r == 0)
		r = decide(guarded->vetting, asker, &found, &check, err);
	if (r == 0)
		r = compare_seen(guarded, &found, &check.found.now, err);
	if (r == 0)
		r = keep_check(guarded, found.path, &check, err);
	if (r == 0)
		r = choose_work(guarded, &store, found.name, err);
	mor_store_check_fini(&check);
	mor_installed_fini(&found);
	mor_store_fini(&store);
	return r;
}
