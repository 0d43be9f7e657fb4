/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin is called if its manifest does not say it, or must not (G-Assist), and where
 * people look for it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "bundle/stem.h"
#include "bundle/unpack.h"
#include "installer/inside.h"
#include "manifest/manifest.h"

int mor_installer_name(struct mor_installer_visit *visit, const char *top, mortise_error *err)
{
	struct mor_manifest_query query = { .path = visit->staging.path };
	struct mor_manifest *manifest = NULL;
	char name[MOR_BUNDLE_TOP];

	if (!*top)
		return 0;
	snprintf(name, sizeof(name), "%s", top);
	if (mor_manifest_load(&query, &manifest, NULL) == 0) /* what is wrong with it is said later */
		mor_bundle_cut_version(name, manifest->version);
	else
		mor_bundle_cut_version(name, NULL);
	mor_manifest_free(manifest);
	return mor_staging_rename(&visit->staging, name, err);
}

const char *mor_installer_source(const struct mor_installer_visit *visit)
{
	return visit->order->approve ? visit->order->name : visit->order->from;
}

void mor_installer_hide_copy(const struct mor_installer_visit *visit, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	const char *copy = visit->staging.path, *source = mor_installer_source(visit), *from, *at;
	size_t len = strlen(source);

	if (!copy || !err || !strstr(err->text, copy))
		return;
	while (len > 1 && source[len - 1] == '/')
		len--;
	for (from = err->text; (at = strstr(from, copy)); from = at + strlen(copy)) {
		mor_buf_append(&text, from, (size_t)(at - from));
		mor_buf_append(&text, source, len);
	}
	mor_buf_text(&text, from);
	mor_buf_byte(&text, '\0');
	if (!mor_buf_failed(&text))
		mor_text_keep(err->text, sizeof(err->text), text.data, text.len);
}
