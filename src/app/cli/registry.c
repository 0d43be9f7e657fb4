/* SPDX-License-Identifier: Apache-2.0 */
/* mortise registry: the index of a directory with bundles (src/kit/registry). */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/table.h"
#include "registry/registry.h"

struct registry_args {
	const char *sign;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct registry_args, name)
static const struct mor_option registry_options[] = {
	{ "sign", 0, "FILE", "update: sign the index with this private key (PEM, Ed25519)", MOR_OPT_TEXT,
	  FIELD(sign), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", registry_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

static void note_line(void *arg, const char *text)
{
	mor_note(arg, "%s", text);
}

static int update_registry(struct mor_cli *cli, const char *path, mortise_error *err)
{
	const struct registry_args *args = cli->args;
	const struct mor_registry_update update = { path, args->sign, note_line, cli->console };
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct mor_registry_result result = { 0 };
	int r = mor_registry_update(&update, &result, err);

	if (r < 0)
		return r;
	if (!cli->console->json) {
		mor_outf(cli->console, "%s/" MOR_REGISTRY_INDEX ": %zu %s, %zu %s, serial %" PRId64 "%s%s\n",
			 path, result.names, result.names == 1 ? "plugin" : "plugins", result.plugins,
			 result.plugins == 1 ? "version" : "versions", result.serial,
			 result.is_signed ? ", signed" : "", result.changed ? "" : "; nothing has changed");
		return 0;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair_int(&w, "plugins", (int64_t)result.plugins);
	mor_w_pair_int(&w, "serial", result.serial);
	mor_w_pair_bool(&w, "changed", result.changed);
	mor_w_pair_bool(&w, "signed", result.is_signed);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
	return 0;
}

static int show_table(struct mor_cli *cli, const struct mor_registry *registry, mortise_error *err)
{
	static const char *const titles[] = { "NAME", "VERSION", "FILE", "IT SAYS", NULL };
	MOR_CLEAN(mor_table) struct mor_table table = { 0 };
	const struct mor_bundle_origin *origin = &registry->origin;

	mor_note(cli->console, "%s: serial %" PRId64 ", %s%s", registry->path, registry->serial,
		 origin->owner[0] ? "signed by " :
		 origin->key[0]   ? "signed by a key that you do not know: " :
				    "not signed",
		 origin->owner[0] ? origin->owner : origin->key);
	if (registry->count)
		mor_table_add(&table, titles);
	for (size_t i = 0; i < registry->count; i++) {
		const struct mor_registry_entry *entry = &registry->items[i];
		const char *cells[] = { entry->name, entry->version, entry->file,
					entry->description ? entry->description : "", NULL };

		mor_table_add(&table, cells);
	}
	return mor_table_print(&table, cli->console, err);
}

static void show_json(struct mor_cli *cli, const struct mor_registry *registry)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "path", registry->path);
	mor_w_pair_int(&w, "serial", registry->serial);
	mor_w_pair(&w, "key", registry->origin.key[0] ? registry->origin.key : NULL);
	mor_w_pair(&w, "signed_by", registry->origin.owner[0] ? registry->origin.owner : NULL);
	mor_w_pair_array(&w, "plugins");
	for (size_t i = 0; i < registry->count; i++)
		mor_w_value(&w, registry->items[i].value);
	mor_w_end(&w);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
}

static int list_registry(struct mor_cli *cli, const char *path, mortise_error *err)
{
	MOR_CLEAN(mor_registry) struct mor_registry registry = MOR_REGISTRY_INIT;
	int r = mor_registry_open(path, &registry, err);

	if (r < 0)
		return r;
	if (!cli->console->json)
		return show_table(cli, &registry, err);
	show_json(cli, &registry);
	return 0;
}

static int registry_run(struct mor_cli *cli)
{
	const struct mor_words *words = &cli->words;
	const char *verb = words->count == 2 && !words->tail ? words->item[0] : "";
	mortise_error err = { 0 };
	int r;

	if (strcmp(verb, "update") == 0)
		r = update_registry(cli, words->item[1], &err);
	else if (strcmp(verb, "list") == 0)
		r = list_registry(cli, words->item[1], &err);
	else
		r = mor_fail(&err, MORTISE_EINVAL, "registry takes update or list, and a DIR");
	if (r == 0)
		return 0;
	return mor_report_cause(cli->console, &err);
}

const struct mor_cli_command mor_cli_command_registry = {
	.row = MOR_CLI_ROW(registry),
	.usage = "registry update DIR [--sign KEY]\nregistry list DIR",
	.words = "update|list",
	.description =
		"A registry is a directory with bundles and an index of them, " MOR_REGISTRY_INDEX
		". It needs no server:\n"
		"others use it on a shared disk, in a git repository, or as a copy. 'mortise install NAME "
		"--from DIR' installs from it.\n"
		"update: looks at every archive in DIR and writes the index. Nothing of a plugin is run. The "
		"same files give the\n"
		"same bytes. With --sign, the index carries your signature, which covers all that it lists.\n"
		"list: shows what there is, and who has signed the index.",
	.examples = "mortise bundle ./greeter -o team/greeter-1.0.0.tar.zst\n"
		    "mortise registry update team --sign ~/keys/release.pem\n"
		    "mortise registry list team\n"
		    "mortise install greeter --from team",
	.options = groups,
	MOR_CLI_ARGS(registry_args),
	.run = registry_run,
};
