/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle/keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/xdg.h"
#include "content/names.h"
#include "wire/json.h"

#define KEY_FILE_LIMIT 4096
#define LEAST_DIGITS   8

static const char *digits_of(const char *key)
{
	return key + sizeof(MOR_SIGN_KEY_PREFIX) - 1;
}

/* *ret stays NULL where there is no place for keys. */
static int keys_dir(const char *config_home, char **ret, mortise_error *err)
{
	int r = mor_xdg_path(MOR_XDG_CONFIG, config_home, ret, "mortise/keys");

	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : 0;
}

static int need_dir(const char *config_home, char **ret, mortise_error *err)
{
	int r = keys_dir(config_home, ret, err);

	if (r < 0 || *ret)
		return r;
	return mor_fail(err, MORTISE_ESYSTEM,
			"keys cannot be kept: neither XDG_CONFIG_HOME nor HOME is an absolute path");
}

/* false: no such file, or nothing that we wrote. */
static bool read_key(const char *dir, const char *name, struct mor_keys_entry *ret)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/%s", dir, name);
	MOR_CLEAN_TEXT char *text = NULL;
	const char *key, *owner;
	size_t len = 0;

	if (!path || mor_fd_read_file(path, KEY_FILE_LIMIT, &text, &len) < 0 ||
	    mor_doc_parse((struct mor_slice){ text, len }, 0, 0, &doc, NULL) < 0)
		return false;
	key = mor_json_text(mor_json_get(mor_doc_root(doc), "key"), "");
	owner = mor_json_text(mor_json_get(mor_doc_root(doc), "owner"), "");
	/* A file that was renamed must not speak for another key. */
	if (!mor_sign_key_valid(key) || strncmp(name, digits_of(key), 64) != 0 || !*owner)
		return false;
	memcpy(ret->key, key, sizeof(ret->key));
	mor_text_keep(ret->owner, sizeof(ret->owner), owner, sizeof(ret->owner));
	return true;
}

static int check_owner(const char *owner, mortise_error *err)
{
	char shown[200];
	size_t len = strlen(owner);

	mor_content_name_show(mor_slice_of(owner), shown, sizeof(shown));
	if (len && len < sizeof(((struct mor_keys_entry *)0)->owner) && strcmp(shown, owner) == 0)
		return 0;
	return mor_fail(err, MORTISE_EINPUT, "\"%s\" cannot be the name of a key's owner", shown);
}

static int write_key(const char *dir, const char *key, const char *owner, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/%s.json", dir, digits_of(key));
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };

	mor_w_object(&w);
	mor_w_pair(&w, "key", key);
	mor_w_pair(&w, "owner", owner);
	mor_w_end(&w);
	mor_buf_byte(&text, '\n');
	if (!path || mor_buf_failed(&text))
		return mor_fail_memory(err);
	return mor_outfile_write(path, 0600, mor_buf_view(&text), err);
}

int mor_keys_add(const char *config_home, const char *key, const char *owner, mortise_error *err)
{
	MOR_CLEAN_TEXT char *dir = NULL;
	int r = need_dir(config_home, &dir, err);

	if (r < 0 || (r = check_owner(owner, err)) < 0)
		return r;
	if ((r = mor_dir_make_all(AT_FDCWD, dir, 0700)) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "the key cannot be kept in %s", dir);
	return write_key(dir, key, owner, err);
}

static int compare_keys(const void *a, const void *b)
{
	const struct mor_keys_entry *one = a, *two = b;
	int r = strcmp(one->owner, two->owner);

	return r ? r : strcmp(one->key, two->key);
}

static int read_keys(const char *path, struct mor_keys_all *list, mortise_error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	struct mor_keys_entry key;
	int r = 0;

	if (!dir)
		return errno == ENOENT ? 0 : mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", path);
	while (r == 0 && (entry = readdir(dir))) {
		if (mor_hex_count(entry->d_name) != 64 || strcmp(entry->d_name + 64, ".json") != 0 ||
		    !read_key(path, entry->d_name, &key))
			continue;
		if (mor_grow(&list->items, list->count, &list->cap, sizeof(key)) < 0)
			r = mor_fail_memory(err);
		else
			list->items[list->count++] = key;
	}
	closedir(dir);
	return r;
}

int mor_keys_list(const char *config_home, struct mor_keys_all *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *dir = NULL;
	struct mor_keys_all list = { 0 };
	int r = keys_dir(config_home, &dir, err);

	if (r == 0 && dir)
		r = read_keys(dir, &list, err);
	if (r < 0) {
		mor_keys_all_fini(&list);
		return r;
	}
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare_keys);
	*ret = list;
	return 0;
}

void mor_keys_all_fini(struct mor_keys_all *list)
{
	mor_free(list->items);
	*list = (struct mor_keys_all){ 0 };
}

static bool key_is_meant(const struct mor_keys_entry *key, const char *word)
{
	const char *digits = strncmp(word, MOR_SIGN_KEY_PREFIX, sizeof(MOR_SIGN_KEY_PREFIX) - 1) == 0 ?
				     digits_of(word) :
				     word;
	size_t len = strlen(digits);

	if (len >= LEAST_DIGITS && mor_hex_count(digits) == len &&
	    strncmp(digits_of(key->key), digits, len) == 0)
		return true;
	return strcmp(key->owner, word) == 0;
}

int mor_keys_remove(const char *config_home, const char *word, struct mor_keys_entry *ret, mortise_error *err)
{
	MOR_CLEAN(mor_keys_all) struct mor_keys_all list = { 0 };
	MOR_CLEAN_TEXT char *dir = NULL, *path = NULL;
	const struct mor_keys_entry *found = NULL;
	int r = mor_keys_list(config_home, &list, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < list.count; i++) {
		if (!key_is_meant(&list.items[i], word))
			continue;
		if (found)
			return mor_fail(err, MORTISE_EINPUT,
					"\"%s\" is more than one key; name it by its digits", word);
		found = &list.items[i];
	}
	if (!found)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"\"%s\" is no key that you trust; see 'mortise trust list'", word);
	r = need_dir(config_home, &dir, err);
	path = r == 0 ? mor_text_format("%s/%s.json", dir, digits_of(found->key)) : NULL;
	if (r == 0 && !path)
		return mor_fail_memory(err);
	if (r == 0 && unlink(path) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", path);
	if (r == 0)
		*ret = *found;
	return r;
}

int mor_keys_find(const char *config_home, const char *key, char *ret_owner, size_t size, mortise_error *err)
{
	MOR_CLEAN_TEXT char *dir = NULL;
	struct mor_keys_entry found = { .owner = "" };
	char name[64 + sizeof(".json")];
	int r = keys_dir(config_home, &dir, err);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%.64s.json", digits_of(key));
	if (dir && read_key(dir, name, &found) && strcmp(found.key, key) != 0)
		found.owner[0] = '\0';
	mor_text_keep(ret_owner, size, found.owner, sizeof(found.owner));
	return 0;
}
