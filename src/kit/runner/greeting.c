/* SPDX-License-Identifier: Apache-2.0 */
/* --timeout is how long a person wants to wait: a greeting that may take longer is limited by it too. */
#include <stdio.h>
#include <string.h>

#include "runner/runner.h"

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

int mor_runner_cap_greeting(struct mor_runner *runner, const struct mor_resolved *resolved, mortise_error *err)
{
	const struct mor_method *row = resolved->dialect ? resolved->dialect->methods : NULL;
	int r = 0;

	for (; runner->timeout_ms && r == 0 && row && row->name; row++) {
		char setting[120];

		if (row->from != MOR_FROM_HOST || (row->role != MOR_ROLE_HELLO && row->role != MOR_ROLE_INIT) ||
		    mor_timing_of(row)->timeout_ms <= runner->timeout_ms ||
		    has_own_limit(runner, resolved->manifest, row->name))
			continue;
		snprintf(setting, sizeof(setting), "%.80s=%ums", row->name, runner->timeout_ms);
		r = mor_runner_set(runner, "timeouts.", setting, err);
	}
	return r;
}
