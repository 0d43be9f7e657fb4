/* SPDX-License-Identifier: Apache-2.0 */
/* --timeout is how long a person wants to wait: a greeting that may take longer is limited by it too. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "runner/runner.h"
#include "wire/json.h"

static bool is_greeting(const struct mor_value *method)
{
	const char *role = mor_json_text(mor_json_get(method, "role"), "");

	return strcmp(mor_json_text(mor_json_get(method, "from"), ""), "host") == 0 &&
	       (strcmp(role, "hello") == 0 || strcmp(role, "init") == 0);
}

/* By a file, --set or --timeout METHOD=DURATION. */
static bool has_own_limit(const struct mor_runner *runner, const struct mor_manifest *manifest,
			  const char *name)
{
	static const char section[] = "timeouts.";
	size_t len = strlen(name);

	for (size_t i = 0; i < runner->set.count; i++) {
		const char *set = runner->set.item[i];

		if (strncmp(set, section, sizeof(section) - 1) == 0 &&
		    strncmp(set + sizeof(section) - 1, name, len) == 0 && set[sizeof(section) - 1 + len] == '=')
			return true;
	}
	return mor_manifest_setting(manifest, "timeouts", name) != NULL;
}

static int cap_methods(struct mor_runner *runner, const struct mor_manifest *manifest,
		       const struct mor_value *methods, mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(methods);
	int r = 0;

	while (r == 0 && mor_json_next(&it)) {
		const char *name = mor_json_text(mor_json_get(it.value, "name"), "");
		char setting[120];

		if (!is_greeting(it.value) || has_own_limit(runner, manifest, name) ||
		    mor_json_int(mor_json_get(it.value, "timeout_ms"), 0) <= (int64_t)runner->timeout_ms)
			continue;
		snprintf(setting, sizeof(setting), "%.80s=%ums", name, runner->timeout_ms);
		r = mor_runner_set(runner, "timeouts.", setting, err);
	}
	return r;
}

int mor_runner_cap_greeting(struct mor_runner *runner, const char *path, const char *const *argv,
			    mortise_error *err)
{
	struct mor_manifest *manifest = NULL;
	struct mor_doc *table;
	int r;

	/* An unreadable manifest is not an error here: the host will report it. */
	if (!runner->timeout_ms || mor_runner_resolve(runner->args, path, argv, &manifest, NULL) < 0)
		return 0;
	table = mor_runner_dialect_table(manifest->dialect);
	r = cap_methods(runner, manifest, mor_json_get(mor_doc_root(table), "methods"), err);
	mor_doc_free(table);
	mor_manifest_free(manifest);
	return r;
}
