/* SPDX-License-Identifier: Apache-2.0 */
/* mortise bundle: a plugin as one file (src/kit/bundle). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/path.h"
#include "bundle/pack.h"
#include "bundle/signature.h"
#include "cli/cli.h"
#include "console/report.h"
#include "manifest/manifest.h"
#include "store/store.h"

struct bundle_args {
	const char *output, *sign;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct bundle_args, name)
static const struct mor_option bundle_options[] = {
	{ "output", 'o', "FILE", "the archive to write; its signature is FILE.sig", MOR_OPT_TEXT, FIELD(output),
	  NULL },
	{ "sign", 0, "FILE", "sign it with this private key (PEM, Ed25519; 'mortise key new' makes one)",
	  MOR_OPT_TEXT, FIELD(sign), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", bundle_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* What is to be packed. */
struct bundle_source {
	struct mor_bundle_plugin plugin;
	struct mor_manifest *manifest; /* of a directory ... */
	struct mor_content content;
	struct mor_store store; /* ... or of an installed plugin */
	struct mor_installed installed;
	struct mor_store_check check;
};

static void bundle_source_fini(struct bundle_source *source)
{
	mor_manifest_free(source->manifest);
	mor_content_fini(&source->content);
	mor_store_check_fini(&source->check);
	mor_installed_fini(&source->installed);
	mor_store_fini(&source->store);
	mor_fd_close(&source->plugin.dir);
}

static int open_source_dir(struct bundle_source *source, const char *path, mortise_error *err)
{
	source->plugin.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (source->plugin.dir >= 0)
		return 0;
	return mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno, "%s", path);
}

/* An installed plugin is packed as it was approved, or not at all. */
static int take_installed(struct bundle_source *source, const char *name, mortise_error *err)
{
	int r = mor_store_open(NULL, NULL, &source->store);

	if (r < 0)
		return mor_fail_memory(err);
	r = mor_store_find(&source->store, name, &source->installed, err);
	if (r == MORTISE_ENOTFOUND)
		return mor_cli_not_installed(name, err);
	if (r < 0 || (r = mor_store_verify(&source->installed, &source->check, err)) < 0)
		return r;
	if (source->check.found.changes.count)
		return mor_fail(err, MORTISE_EVIOLATION,
				"%s: %s was %s since you approved it; to agree, type: mortise approve %s", name,
				source->check.found.changes.items[0].path,
				mor_content_change_name(source->check.found.changes.items[0].kind), name);
	source->plugin.name = source->installed.name;
	source->plugin.version = source->installed.version;
	source->plugin.content = &source->check.found.now;
	return open_source_dir(source, source->installed.path, err);
}

static int take_directory(struct bundle_source *source, const char *path, mortise_error *err)
{
	const struct mor_manifest_query query = { .path = path };
	int r = open_source_dir(source, path, err);

	if (r < 0 || (r = mor_manifest_load(&query, &source->manifest, err)) < 0)
		return r;
	if (!source->manifest->version)
		return mor_fail(err, MORTISE_EMANIFEST,
				"%s: its manifest has no version, and a bundle needs one", path);
	source->plugin.name = source->manifest->name;
	source->plugin.version = source->manifest->version;
	source->plugin.content = &source->content;
	return mor_content_scan_source(source->plugin.dir, path, &source->content, err);
}

/* As a name, it becomes part of paths. */
static int check_words(const struct mor_bundle_plugin *plugin, mortise_error *err)
{
	if (mor_store_is_name(plugin->name) && !strchr(plugin->version, '/') && strlen(plugin->version) <= 64)
		return 0;
	return mor_fail(
		err, MORTISE_EMANIFEST,
		"\"%s\" in version \"%s\": these cannot be the name and version of a plugin that is installed",
		plugin->name, plugin->version);
}

static int write_signature(const char *output, struct mor_slice text, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s.sig", output);

	return path ? mor_outfile_write(path, 0644, text, err) : mor_fail_memory(err);
}

/* An old signature of another bundle must not lie beside the new one. */
static int remove_signature(const char *output, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s.sig", output);

	if (!path)
		return mor_fail_memory(err);
	if (unlink(path) < 0 && errno != ENOENT)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", path);
	return 0;
}

static int write_bundle(const struct bundle_args *args, const struct mor_bundle_plugin *plugin,
			mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf signature = MOR_BUF_INIT;
	struct mor_outfile file = MOR_OUTFILE_INIT;
	int r = args->sign ? mor_bundle_sign(plugin, args->sign, &signature, err) : 0;

	if (r < 0 || (r = mor_outfile_open(args->output, 0644, &file, err)) < 0)
		return r;
	if ((r = mor_bundle_pack(plugin, file.fd, err)) < 0 || (r = remove_signature(args->output, err)) < 0) {
		mor_outfile_drop(&file);
		return r;
	}
	r = mor_outfile_commit(&file, err);
	return r < 0 || !args->sign ? r : write_signature(args->output, mor_buf_view(&signature), err);
}

static void show_bundle(struct mor_cli *cli, const struct mor_bundle_plugin *plugin)
{
	const struct bundle_args *args = cli->args;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	if (!cli->console->json) {
		mor_outf(cli->console, "%s: %s %s, %zu files%s\n  content %s\n", args->output, plugin->name,
			 plugin->version, plugin->content->count, args->sign ? ", signed" : "",
			 plugin->content->digest);
		return;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "file", args->output);
	mor_w_pair(&w, "name", plugin->name);
	mor_w_pair(&w, "version", plugin->version);
	mor_w_pair(&w, "digest", plugin->content->digest);
	mor_w_pair_int(&w, "files", (int64_t)plugin->content->count);
	mor_w_pair_bool(&w, "signed", args->sign != NULL);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
}

static int bundle_run(struct mor_cli *cli)
{
	const struct bundle_args *args = cli->args;
	MOR_CLEAN(bundle_source) struct bundle_source source = { .plugin.dir = -1 };
	const char *word;
	mortise_error err = { 0 };
	int r;

	if (cli->words.count != 1 || cli->words.tail || !args->output || strcmp(args->output, "-") == 0)
		return mor_report_misuse(cli->console, "bundle takes one NAME or DIRECTORY, and -o FILE");
	word = cli->words.item[0];
	r = mor_path_is_name(word) ? take_installed(&source, word, &err) : take_directory(&source, word, &err);
	if (r < 0 || check_words(&source.plugin, &err) < 0 || write_bundle(args, &source.plugin, &err) < 0)
		return mor_report_error(cli->console, &err);
	show_bundle(cli, &source.plugin);
	return 0;
}

const struct mor_cli_command mor_cli_command_bundle = {
	.row = MOR_CLI_ROW(bundle),
	.usage = "bundle NAME|DIRECTORY -o FILE [--sign KEY]",
	.words = "plugin",
	.description =
		"Packs an installed plugin, or one in a directory, into one archive (tar.zst). The same "
		"content gives the\n"
		"same bytes: files are sorted, and times, owners and other traces of this machine are left "
		"out.\n"
		".git and __pycache__ stay behind.\n"
		"With --sign, FILE.sig is written too: an Ed25519 signature of name, version and of the path, "
		"mode and\n"
		"sum of every file. 'mortise install FILE' checks it. Who wants to know that it is yours needs "
		"your\n"
		"public key: 'mortise trust add KEY.pub'.",
	.examples = "mortise bundle ./greeter -o greeter-1.0.0.tar.zst\n"
		    "mortise bundle greeter@1.0.0 -o greeter.tar.zst --sign ~/keys/release.pem",
	.options = groups,
	MOR_CLI_ARGS(bundle_args),
	.run = bundle_run,
};
