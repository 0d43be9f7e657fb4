/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle/signature.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "bundle/keys.h"

#define SIGNATURE_LIMIT 65536

/* One line per fact: a name with a newline could say another version. */
static bool fits_line(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static int write_statement(const struct mor_bundle_plugin *plugin, struct mor_buf *out, mortise_error *err)
{
	if (!fits_line(plugin->name) || !fits_line(plugin->version))
		return mor_fail(err, MORTISE_EINPUT,
				"a name or version with control characters cannot be signed");
	mor_buf_printf(out, "mortise-bundle 1\nname %s\nversion %s\n", plugin->name, plugin->version);
	mor_content_text(plugin->content, out);
	return mor_buf_failed(out) ? mor_fail_memory(err) : 0;
}

int mor_bundle_sign_text(struct mor_writer *w, struct mor_slice text, const char *key_path, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf encoded = MOR_BUF_INIT;
	char key[MOR_SIGN_KEY_SIZE];
	unsigned char raw[MOR_SIGN_BYTES];
	int r = mor_sign(key_path, text, key, raw, err);

	if (r < 0)
		return r;
	mor_base64_encode((struct mor_slice){ (const char *)raw, sizeof(raw) }, &encoded);
	mor_w_pair(w, "key", key);
	mor_w_pair_slice(w, "signature", mor_buf_view(&encoded));
	return mor_buf_failed(&encoded) ? mor_fail_memory(err) : 0;
}

int mor_bundle_sign(const struct mor_bundle_plugin *plugin, const char *key_path, struct mor_buf *ret,
		    mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf statement = MOR_BUF_INIT;
	struct mor_writer w = { .out = ret };
	int r = write_statement(plugin, &statement, err);

	if (r < 0)
		return r;
	mor_w_object(&w);
	mor_w_pair_int(&w, "mortise_signature", 1);
	mor_w_pair(&w, "name", plugin->name);
	mor_w_pair(&w, "version", plugin->version);
	mor_w_pair(&w, "digest", plugin->content->digest);
	r = mor_bundle_sign_text(&w, mor_buf_view(&statement), key_path, err);
	mor_w_end(&w);
	mor_buf_byte(ret, '\n');
	return r == 0 && mor_buf_failed(ret) ? mor_fail_memory(err) : r;
}

int mor_bundle_verify_text(const struct mor_value *object, struct mor_slice text,
			   char ret_key[MOR_SIGN_KEY_SIZE], mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf raw = MOR_BUF_INIT;
	const char *key = mor_json_text(mor_json_get(object, "key"), "");

	if (!mor_sign_key_valid(key) ||
	    mor_base64_decode(mor_json_string(mor_json_get(object, "signature")), &raw) < 0 ||
	    raw.len != MOR_SIGN_BYTES)
		return mor_fail(err, MORTISE_EPROTO, "it is no signature of mortise");
	if (!mor_sign_verify(key, text, (const unsigned char *)raw.data))
		return mor_fail(err, MORTISE_EINPUT, "the signature does not fit");
	memcpy(ret_key, key, MOR_SIGN_KEY_SIZE);
	return 0;
}

int mor_bundle_verify(const struct mor_bundle_plugin *plugin, struct mor_slice signature,
		      char ret_key[MOR_SIGN_KEY_SIZE], mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf statement = MOR_BUF_INIT;
	const struct mor_value *root, *key;
	int r = mor_doc_parse(signature, 0, 0, &doc, err);

	if (r == MORTISE_ENOMEM)
		return r;
	root = doc ? mor_doc_root(doc) : NULL;
	key = mor_json_int(mor_json_get(root, "mortise_signature"), 0) == 1 ? root : NULL;
	if ((r = write_statement(plugin, &statement, err)) < 0)
		return r;
	r = mor_bundle_verify_text(key, mor_buf_view(&statement), ret_key, err);
	if (r == MORTISE_EPROTO)
		return mor_fail(err, MORTISE_EINPUT, "it is no signature of mortise");
	if (r == MORTISE_EINPUT)
		return mor_fail(err, MORTISE_EINPUT,
				"it is not the signature of %s %s with these files: they were changed, or it "
				"belongs to another plugin",
				plugin->name, plugin->version);
	return r;
}

int mor_bundle_origin_find(const struct mor_bundle_plugin *plugin, const char *archive, const char *config_home,
			   struct mor_bundle_origin *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s.sig", archive);
	MOR_CLEAN_TEXT char *text = NULL;
	struct mor_bundle_origin origin = { .key = "" };
	size_t len = 0;
	int r = path ? mor_fd_read_file(path, SIGNATURE_LIMIT, &text, &len) : -ENOMEM;

	if (r == -ENOMEM)
		return mor_fail_memory(err);
	if (r < 0 && r != -ENOENT)
		return mor_fail_errno(err, MORTISE_EINPUT, -r, "%s", path);
	if (r == 0) {
		r = mor_bundle_verify(plugin, (struct mor_slice){ text, len }, origin.key, err);
		if (r == MORTISE_EINPUT)
			mor_fail_prefix(err, path);
		if (r < 0 ||
		    (r = mor_keys_find(config_home, origin.key, origin.owner, sizeof(origin.owner), err)) < 0)
			return r;
	}
	*ret = origin;
	return 0;
}
