/* SPDX-License-Identifier: Apache-2.0 */
/* Where the store is, and reading one plugin's state.json. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/xdg.h"
#include "store/inside.h"

int mor_store_open(const char *data_home, const char *state_home, struct mor_store *ret)
{
	struct mor_store store = { 0 };
	int r = mor_xdg_path(MOR_XDG_DATA, data_home, &store.plugins, "mortise/plugins");

	if (r != MORTISE_ENOMEM)
		r = mor_xdg_path(MOR_XDG_STATE, state_home, &store.runs, "mortise/plugins");
	if (r == MORTISE_ENOMEM) {
		mor_store_fini(&store);
		return r;
	}
	*ret = store;
	return 0;
}

void mor_store_fini(struct mor_store *store)
{
	mor_free(store->plugins);
	mor_free(store->runs);
	*store = (struct mor_store){ 0 };
}

int mor_store_has_place(const struct mor_store *store, mortise_error *err)
{
	if (store->plugins)
		return 0;
	return mor_fail(
		err, MORTISE_ESYSTEM,
		"there is no place for installed plugins: neither XDG_DATA_HOME nor HOME is an absolute path; "
		"set one of them, or use the plugin by its path");
}

/* ---- names ---- */

static bool plain_characters(const char *text, size_t len, const char *more)
{
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    !memchr(more, c, strlen(more)))
			return false;
	}
	return len > 0;
}

/* Not only letters of ASCII would be fair. But a name is typed, compared and looked for by people who trust it,
 * and many characters look like others. */
bool mor_store_name_valid(const char *name, size_t len)
{
	return len <= MOR_STORE_NAME_MAX && plain_characters(name, len, "._+- ") &&
	       !memchr("._+- ", *name, 5) && name[len - 1] != ' ' && name[len - 1] != '.';
}

bool mor_store_version_valid(const char *version, size_t len)
{
	return len <= MOR_STORE_VERSION_MAX && plain_characters(version, len, "._+-~") &&
	       plain_characters(version, 1, "");
}

bool mor_store_is_name(const char *word)
{
	const char *at = strchr(word, '@');

	return mor_store_name_valid(word, at ? (size_t)(at - word) : strlen(word)) &&
	       (!at || mor_store_version_valid(at + 1, strlen(at + 1)));
}

/* ---- whose it is ---- */

/* A name in PLUGINS, "" for itself. */
static int check_one_owner(const struct mor_store *store, const char *name, const char *file,
			   mortise_error *err)
{
	MOR_CLEAN_TEXT char *path =
		mor_text_format("%s%s%s%s%s", store->plugins, *name ? "/" : "", name, *file ? "/" : "", file);
	struct stat st;

	if (!path)
		return mor_fail_memory(err);
	if (stat(path, &st) < 0)
		return 0; /* not there: the function that reads it says so */
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return mor_fail(err, MORTISE_EVIOLATION,
				"%s belongs to another user, who can change what you have approved: nothing is "
				"run from it; set XDG_DATA_HOME to a directory of your own",
				path);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return mor_fail(err, MORTISE_EVIOLATION,
				"%s can be written by other users, who can change what you have approved: "
				"nothing is run from it; look at it, then type: chmod -R go-w %s",
				path, store->plugins);
	return 0;
}

int mor_store_check_owner(const struct mor_store *store, const char *name, mortise_error *err)
{
	int r = store->plugins ? check_one_owner(store, "", "", err) : 0;

	if (r == 0 && name)
		r = check_one_owner(store, name, "", err);
	return r < 0 || !name ? r : check_one_owner(store, name, "state.json", err);
}

/* ---- state.json ---- */

static const char *text_of(const struct mor_value *object, const char *name)
{
	return mor_json_text(mor_json_get(object, name), NULL);
}

static bool is_entry_whole(const struct mor_value *entry)
{
	const char *version = text_of(entry, "version"), *directory = text_of(entry, "directory"),
		   *digest = text_of(entry, "digest");

	return version && mor_store_version_valid(version, strlen(version)) && directory && *directory &&
	       !strchr(directory, '/') && directory[0] != '.' && digest && mor_digest_valid(digest) &&
	       text_of(entry, "dialect");
}

/* What is wrong with it; NULL: nothing. */
static const char *state_fault(const struct mor_value *root, const char *name)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(root, "versions"));
	const char *current = text_of(root, "current");
	bool found = false;

	if (mor_json_type(root) != MOR_JSON_OBJECT)
		return "it is no JSON object";
	if (strcmp(mor_json_text(mor_json_get(root, "name"), ""), name) != 0)
		return "it is about another plugin";
	while (mor_json_next(&it)) {
		if (!is_entry_whole(it.value))
			return "a version is not described completely";
		found = found || (current && strcmp(text_of(it.value, "version"), current) == 0);
	}
	return found ? NULL : "it names no version to use";
}

static int state_damaged(const char *name, const char *why, mortise_error *err)
{
	return mor_fail(err, MORTISE_ESYSTEM,
			"%s: its state.json is damaged (%s): install %s again, or type: mortise remove %s",
			name, why, name, name);
}

int mor_store_state_read(const struct mor_store *store, const char *name, struct mor_doc **ret,
			 mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/%s/state.json", store->plugins, name);
	MOR_CLEAN_TEXT char *text = NULL;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error why = { 0 };
	const char *fault;
	size_t len = 0;
	int r;

	if (!path)
		return mor_fail_memory(err);
	r = mor_fd_read_file(path, MOR_STORE_STATE_MAX, &text, &len);
	if (r == -ENOENT || r == -ENOTDIR)
		return MORTISE_ENOTFOUND;
	if (r == -ENOMEM)
		return mor_fail_memory(err);
	if (r < 0)
		return state_damaged(name, strerrordesc_np(-r), err);
	r = mor_doc_parse((struct mor_slice){ text, len }, 0, 0, &doc, &why);
	if (r == MORTISE_ENOMEM)
		return mor_fail_memory(err);
	fault = r < 0 ? why.text : state_fault(mor_doc_root(doc), name);
	if (fault)
		return state_damaged(name, fault, err);
	*ret = mor_take(&doc);
	return 0;
}

int mor_store_state_entry(const struct mor_store *store, const struct mor_value *root,
			  const struct mor_value *entry, struct mor_installed *ret)
{
	struct mor_installed plugin = {
		.name = text_of(root, "name"),
		.version = text_of(entry, "version"),
		.directory = text_of(entry, "directory"),
		.digest = text_of(entry, "digest"),
		.dialect = text_of(entry, "dialect"),
		.description = text_of(entry, "description"),
		.from = text_of(entry, "from"),
		.key = text_of(entry, "key"),
		.offers = mor_json_get(entry, "offers"),
		.permissions = mor_json_get(entry, "permissions"),
		.interface = mor_json_get(entry, "interface"),
		.allow = mor_json_at(entry, "/approved/allow"),
		.confine = mor_json_bool(mor_json_get(entry, "confine"), false),
		.approved = mor_store_seal_fits(mor_json_text(mor_json_get(root, "name"), ""), entry),
	};

	plugin.current = strcmp(mor_json_text(mor_json_get(root, "current"), ""), plugin.version) == 0;
	plugin.path =
		mor_text_format("%s/%s/%s/%s", store->plugins, plugin.name, plugin.directory, plugin.name);
	plugin.record = mor_text_format("%s/%s/%s.json", store->plugins, plugin.name, plugin.directory);
	if (!plugin.path || !plugin.record) {
		mor_free(plugin.path);
		mor_free(plugin.record);
		return MORTISE_ENOMEM;
	}
	*ret = plugin;
	return 0;
}

void mor_installed_fini(struct mor_installed *plugin)
{
	mor_doc_free(plugin->doc);
	mor_free(plugin->path);
	mor_free(plugin->record);
	*plugin = (struct mor_installed){ 0 };
}

bool mor_installed_allows(const struct mor_installed *plugin, const char *word)
{
	struct mor_json_iter it = mor_json_iter(plugin->allow);

	while (plugin->approved && mor_json_next(&it))
		if (strcmp(mor_json_text(it.value, ""), word) == 0)
			return true;
	return false;
}

/* ---- files that nobody must find half written ---- */

static const char *remedy(int error)
{
	switch (error) {
	case ENOSPC:
		return "; free some room and try again; nothing was changed";
	case EDQUOT:
		return "; your quota is used up: remove something and try again; nothing was changed";
	case EROFS:
	case EACCES:
	case EPERM:
	case ENOENT:
		return "; set XDG_DATA_HOME to a directory that can be written; nothing was changed";
	default:
		return "; nothing was changed";
	}
}

/* People know the store, not how it is built: so its top is named. */
int mor_store_fail_write(const char *path, int error, mortise_error *err)
{
	static const char top[] = "/mortise/plugins";
	const char *inside = strstr(path, top);
	int len = (int)(inside ? (size_t)(inside - path) + sizeof(top) - 1 : strlen(path));

	return mor_fail(err, MORTISE_ESYSTEM, "%.*s cannot be written: %s%s", len, path, strerrordesc_np(error),
			remedy(error));
}

/* Has it reached the disk? Some file systems tell only now that there was no room. */
static int sync_file(int fd)
{
	while (fdatasync(fd) < 0) {
		if (errno == EINVAL || errno == EROFS) /* it cannot be synchronized */
			return 0;
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static int write_file(const char *path, struct mor_slice text, bool durable, mortise_error *err)
{
	mortise_error why = { 0 };
	struct mor_outfile file;
	struct stat st;
	int r;

	/* A link would be followed, a pipe waited for. Nobody but an attacker makes them here. */
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		(void)unlink(path);
	r = mor_outfile_open(path, 0600, &file, &why);
	if (r == 0) {
		r = mor_fd_write_all(file.fd, text.ptr, text.len);
		if (r == 0 && durable)
			r = sync_file(file.fd);
		if (r == 0) {
			r = mor_outfile_commit(&file, &why);
		} else {
			mor_outfile_drop(&file);
			why.os_errno = -r;
		}
	}
	if (r == 0)
		return 0;
	return why.code == MORTISE_ENOMEM ? mor_fail_memory(err) :
					    mor_store_fail_write(path, why.os_errno, err);
}

int mor_store_write_file(const char *path, struct mor_slice text, mortise_error *err)
{
	return write_file(path, text, false, err);
}

int mor_store_write_state(const char *path, struct mor_slice text, mortise_error *err)
{
	return write_file(path, text, true, err);
}
