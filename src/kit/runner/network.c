/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/network.h"

#include <string.h>

#include "base/error.h"

bool mor_network_asked(const struct mor_resolved *resolved)
{
	const struct mor_manifest *m = resolved->manifest;
	const struct mor_setting *network = mor_manifest_setting(m, "sandbox", "network");
	const char *file = m->file ? strrchr(m->file, '/') : NULL,
		   *origin = network ? strrchr(network->origin, '/') : NULL;

	if (!file || !network || strcmp(network->json, "true") != 0)
		return false;
	origin = origin ? origin + 1 : network->origin;
	return strncmp(origin, file + 1, strlen(file + 1)) == 0 && !resolved->granted_network;
}

struct mor_approval mor_network_approval(const struct mor_resolved *resolved)
{
	const struct mor_manifest *m = resolved->manifest;

	return (struct mor_approval){
		.directory = m->dir,
		.name = m->name,
		.version = m->version,
		.manifest = m->sha256,
		.permission = "network",
	};
}

bool mor_network_withheld(const struct mor_resolved *resolved)
{
	struct mor_approval approval = mor_network_approval(resolved);

	return mor_network_asked(resolved) && mor_approval_find(&approval, NULL) <= 0;
}

int mor_network_value(const struct mor_text_list *words, struct mor_buf *out, mortise_error *err)
{
	for (size_t i = 0; i < words->count; i++) {
		if (words->count > 1 && strcmp(words->item[i], "true") == 0)
			return mor_fail(err, MORTISE_EINVAL,
					"--network alone grants every host: leave it out, or the others");
		mor_buf_printf(out, "%s%s", i ? "," : "", words->item[i]);
	}
	return mor_buf_failed(out) ? mor_fail_memory(err) : 0;
}
