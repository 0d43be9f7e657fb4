/* SPDX-License-Identifier: Apache-2.0 */
/* mortise key: keys to sign plugins with (src/kit/bundle/sign.h). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "bundle/sign.h"
#include "cli/cli.h"
#include "console/report.h"

struct key_args {
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct key_args, name)
static const struct mor_option_group groups[] = {
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* A key is never replaced: what it has signed would have no owner any more. */
static int write_new(const char *path, mode_t mode, struct mor_slice text, mortise_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	int r;

	if (fd < 0)
		return mor_fail_errno(err, errno == EEXIST ? MORTISE_EINPUT : MORTISE_ESYSTEM, errno, "%s",
				      path);
	r = mor_fd_write_all(fd, text.ptr, text.len);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	mor_fd_close(&fd);
	if (r == 0)
		return 0;
	unlink(path);
	return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", path);
}

static int write_pair(const char *path, const char *public_path, mortise_error *err)
{
	struct mor_buf secret = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf public = MOR_BUF_INIT;
	int r;

	/* So that it is one block, which is wiped below. */
	if (mor_buf_reserve(&secret, 4096) < 0)
		return mor_fail_memory(err);
	r = mor_sign_new_key(&secret, &public, err);
	if (r == 0)
		r = write_new(path, 0600, mor_buf_view(&secret), err);
	if (r == 0) {
		if ((r = write_new(public_path, 0644, mor_buf_view(&public), err)) < 0)
			unlink(path);
	}
	explicit_bzero(secret.data, secret.cap);
	mor_buf_fini(&secret);
	return r;
}

static void show_key(struct mor_cli *cli, const char *key, const char *file, const char *public_file)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	if (!cli->console->json) {
		mor_outf(cli->console, "%s\n", key);
		if (public_file)
			mor_outf(cli->console,
				 "  %s  keep it secret: it signs\n  %s  give it to others: mortise trust add\n",
				 file, public_file);
		return;
	}
	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "key", key);
	mor_w_pair(&w, "file", file);
	if (public_file)
		mor_w_pair(&w, "public_file", public_file);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
}

static int key_run(struct mor_cli *cli)
{
	const struct mor_words *words = &cli->words;
	bool make = words->count == 2 && strcmp(words->item[0], "new") == 0;
	MOR_CLEAN_TEXT char *public_path = make ? mor_text_format("%s.pub", words->item[1]) : NULL;
	char key[MOR_SIGN_KEY_SIZE];
	mortise_error err = { 0 };
	int r = 0;

	if (words->count != 2 || words->tail || (!make && strcmp(words->item[0], "show") != 0))
		return mor_report_misuse(cli->console, "key takes new or show, and a FILE");
	if (make)
		r = public_path ? write_pair(words->item[1], public_path, &err) : mor_fail_memory(&err);
	if (r < 0 || mor_sign_read_key(words->item[1], key, &err) < 0)
		return mor_report_error(cli->console, &err);
	show_key(cli, key, words->item[1], public_path);
	return 0;
}

const struct mor_cli_command mor_cli_command_key = {
	.row = MOR_CLI_ROW(key),
	.usage = "key new|show FILE",
	.words = "new|show",
	.description =
		"new: makes a pair of Ed25519 keys. FILE is the private one, for this user only, without a "
		"password;\n"
		"FILE.pub is the public one. A file that is there is not replaced.\n"
		"show: prints the public key of a file that holds either of them, as 'mortise trust list' "
		"does.",
	.examples = "mortise key new release.pem\n"
		    "mortise key show release.pem.pub",
	.options = groups,
	MOR_CLI_ARGS(key_args),
	.run = key_run,
};
