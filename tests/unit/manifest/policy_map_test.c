/* SPDX-License-Identifier: Apache-2.0 */
/* [permissions] of plugin.toml and "capabilities" of sunscreen-plugin.json as settings of [sandbox]. */
#include "leak.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "manifest/internal.h"
#include "policy/policy.h"

enum form { PERMISSIONS, CAPABILITIES };

static struct mor_manifest *new_manifest(void)
{
	struct mor_manifest *m = mor_zalloc(sizeof(*m));

	assert_non_null(m);
	mor_list_init(&m->settings);
	mor_list_init(&m->warnings);
	return m;
}

/* `json` is the value of the one member; in TOML it stands where `lines` says, else at the beginning. */
static int map(enum form form, const char *json, const char *lines, struct mor_manifest *m, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL, *at = NULL;
	struct mor_load load = { .m = m, .err = err };
	char text[300];

	snprintf(text, sizeof(text), "{\n \"capabilities\": %s}", json ? json : "{}");
	load.source = (struct mor_source){ .text = text, .len = strlen(text) };
	if (json)
		assert_int_equal(mor_doc_parse(mor_slice_of(json), 0, 0, &doc, NULL), 0);
	if (form == CAPABILITIES) {
		load.source.shown = (char[]){ "sunscreen-plugin.json" };
		return mor_manifest_map_capabilities(&load, json ? mor_doc_root(doc) : NULL);
	}
	assert_int_equal(mor_doc_parse(mor_slice_of(lines ? lines : "{}"), 0, 0, &at, NULL), 0);
	load.source.shown = (char[]){ "plugin.toml" };
	load.source.lines = at;
	return mor_manifest_map_permissions(&load, json ? mor_doc_root(doc) : NULL);
}

/* All settings, "key=json" joined by spaces. */
static void expect(enum form form, const char *json, const char *wanted)
{
	struct mor_manifest *m = new_manifest();
	struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };
	char *text;

	if (map(form, json, NULL, m, &err) < 0)
		fail_msg("%s: %s", json, err.text);
	MOR_LIST_EACH(node, after, &m->settings) {
		const struct mor_setting *s = mor_container_of(node, struct mor_setting, node);

		assert_string_equal(s->section, "sandbox");
		mor_buf_printf(&out, "%s%s=%s", out.len ? " " : "", s->key, s->json);
	}
	text = out.len ? mor_buf_detach(&out) : mor_strdup("");
	assert_string_equal(text, wanted);
	mor_free(text);
	mor_manifest_free(m);
}

static void refuse(enum form form, const char *json, const char *lines, const char *text)
{
	struct mor_manifest *m = new_manifest();
	mortise_error err = { 0 };

	assert_int_equal(map(form, json, lines, m, &err), MORTISE_EMANIFEST);
	assert_string_equal(err.text, text);
	mor_manifest_free(m);
}

static void test_permissions(void **state)
{
	(void)state;
	expect(PERMISSIONS, NULL, "");
	expect(PERMISSIONS, "{}", "");
	expect(PERMISSIONS, "{\"workspace_write\":true,\"network\":false,\"declared_paths\":[\"/a\",\"~/b\"]}",
	       "workspace_write=true network=false read=[\"/a\",\"~/b\"]");
	expect(PERMISSIONS, "{\"declared_paths\":[]}", "read=[]");
}

static void test_permissions_refused(void **state)
{
	(void)state;
	refuse(PERMISSIONS, "{\"declared_paths\":[\"/a\",\"data\"]}", "{\"permissions.declared_paths\":[9,1]}",
	       "plugin.toml:9:1: permissions.declared_paths is \"data\": it must be an absolute path, or one "
	       "that begins with \"~/\"");
	refuse(PERMISSIONS, "{\"declared_paths\":[\"~root/x\"]}", NULL,
	       "plugin.toml:1:1: permissions.declared_paths is \"~root/x\": it must be an absolute path, or "
	       "one that begins with \"~/\"");
	refuse(PERMISSIONS, "{\"declared_paths\":\"/a\"}", NULL,
	       "plugin.toml:1:1: permissions.declared_paths is \"/a\": it must be an array of paths");
	refuse(PERMISSIONS, "{\"declared_paths\":[1]}", NULL,
	       "plugin.toml:1:1: permissions.declared_paths is 1: it must be an absolute path, or one that "
	       "begins with \"~/\"");
	refuse(PERMISSIONS, "{\"network\":\"no\"}", "{\"permissions.network\":[3,5]}",
	       "plugin.toml:3:5: permissions.network is \"no\": it must be true or false");
	/* What cannot be toggled is no permission. */
	refuse(PERMISSIONS, "{\"spawn\":true}", NULL,
	       "plugin.toml:1:1: permissions.spawn is not known: use one of workspace_write, network, "
	       "declared_paths");
	refuse(PERMISSIONS, "[]", NULL, "plugin.toml:1:1: permissions must be a table, not array");
}

static void test_capabilities(void **state)
{
	(void)state;
	expect(CAPABILITIES, NULL, "workspace_write=true spawn=true quiet_tmp=true");
	expect(CAPABILITIES, "{\"network\":true}",
	       "network=true workspace_write=true spawn=true quiet_tmp=true");
	expect(CAPABILITIES, "{\"filesystem\":[\"scratch\",\"workspace\"]}",
	       "workspace_write=true spawn=true quiet_tmp=true");
	expect(CAPABILITIES, "{\"network\":false,\"filesystem\":[\"scratch\"]}",
	       "network=false workspace_write=false workspace=\"\" spawn=true quiet_tmp=true");
	expect(CAPABILITIES, "{\"filesystem\":[]}",
	       "workspace_write=false workspace=\"\" spawn=true quiet_tmp=true");
}

static void test_capabilities_refused(void **state)
{
	(void)state;
	refuse(CAPABILITIES, "{\"filesystem\":[\"home\"]}", NULL,
	       "sunscreen-plugin.json:2:19: /capabilities/filesystem is \"home\": it must be \"workspace\" or "
	       "\"scratch\"");
	refuse(CAPABILITIES, "{\"filesystem\":\"workspace\"}", NULL,
	       "sunscreen-plugin.json:2:19: /capabilities/filesystem is \"workspace\": it must be an array of "
	       "\"workspace\" and \"scratch\"");
	refuse(CAPABILITIES, "{\"network\":1}", NULL,
	       "sunscreen-plugin.json:2:19: /capabilities/network is 1: it must be true or false");
	refuse(CAPABILITIES, "{\"spwan\":true}", NULL,
	       "sunscreen-plugin.json:2:19: /capabilities/spwan is not known: use one of network, filesystem");
}

/* keys.c and policy/policy.c list the same keys of [sandbox]: one cannot grow without the other. */
static void test_same_keys(void **state)
{
	enum mor_key_type type;
	size_t listed = 0;
	char all[400];
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_key_find("x", MORTISE_EMANIFEST, "sandbox", "zzzzzzzzzzzz", &type, &err),
			 MORTISE_EMANIFEST);
	snprintf(all, sizeof(all), "%s,", strstr(err.text, "use one of ") + strlen("use one of"));
	for (const struct mor_policy_key *key = mor_policy_keys; key->name; key++) {
		char name[40];

		if (!(key->flags & MOR_POLICY_SETTING))
			continue;
		assert_int_equal(mor_key_find("x", MORTISE_EMANIFEST, "sandbox", key->name, &type, &err), 0);
		snprintf(name, sizeof(name), " %s,", key->name);
		assert_non_null(strstr(all, name));
		listed++;
	}
	for (const char *comma = strchr(all, ','); comma; comma = strchr(comma + 1, ','))
		listed--;
	assert_int_equal(listed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_permissions),  MOR_TEST(test_permissions_refused),
		MOR_TEST(test_capabilities), MOR_TEST(test_capabilities_refused),
		MOR_TEST(test_same_keys),
	};

	return mor_run_group("manifest/policy_map", tests);
}
