/* SPDX-License-Identifier: Apache-2.0 */
/* From what was needed to a policy: a table of paths in, and rules and reasons out. */
#include <string.h>

#include "base/buf.h"
#include "leak.h"
#include "policy/learn.h"

#define HOME "/home/ada"

/* A name stands for what the file system would say. */
static bool owned_by_others(const char *path, void *arg)
{
	(void)arg;
	return strstr(path, "bobs") != NULL;
}

static bool holds_a_key(const char *dir, void *arg)
{
	(void)arg;
	return strcmp(dir, "/srv/keyed") == 0;
}

/* Paths and rules are separated by spaces; a reason stands before what is withheld: "2:/home/ada/.ssh". */
static void folds(const char *needed, const char *expected)
{
	struct mor_learn learn = { .home = HOME, .is_others = owned_by_others, .holds_secret = holds_a_key };
	struct mor_buf got = MOR_BUF_INIT;
	char text[2048];

	assert_true(strlen(needed) < sizeof(text));
	memcpy(text, needed, strlen(needed) + 1);
	for (char *next = text, *path; (path = strsep(&next, " "));)
		assert_int_equal(mor_learn_add(&learn, MOR_FORBID_READ, path, false), 0);
	mor_learn_finish(&learn);
	for (size_t i = 0; i < learn.count; i++)
		if (learn.paths[i].why)
			mor_buf_printf(&got, " %d:%s", (int)learn.paths[i].why, learn.paths[i].path);
		else
			mor_buf_printf(&got, " %s", learn.paths[i].path);
	mor_buf_byte(&got, '\0');
	assert_string_equal(got.data + (got.len > 1), expected);
	mor_buf_fini(&got);
	mor_learn_fini(&learn);
}

static void three_of_a_directory_are_the_directory(void **state)
{
	(void)state;
	folds("/srv/app/a", "/srv/app/a");
	folds("/srv/app/a /srv/app/b", "/srv/app/a /srv/app/b");
	folds("/srv/app/a /srv/app/b /srv/app/c", "/srv/app");
	folds("/srv/app/a /srv/app/a /srv/app/a", "/srv/app/a");
	/* what lies below a rule is left out */
	folds("/srv/app /srv/app/a /srv/app/b/c", "/srv/app");
	folds("/srv/app/a /srv/app/ab", "/srv/app/a /srv/app/ab");
	folds("/srv/app /srv/app-data/x /srv/app/a", "/srv/app /srv/app-data/x");
	/* upwards, as far as it may go: /srv is right below the root */
	folds("/srv/x/1/a /srv/x/1/b /srv/x/1/c /srv/x/2/a /srv/x/2/b /srv/x/2/c /srv/x/3", "/srv/x");
	folds("/srv/a /srv/b /srv/c /srv/d", "/srv/a /srv/b /srv/c /srv/d");
}

static void some_directories_are_too_wide(void **state)
{
	(void)state;
	folds("/etc/a /etc/b /etc/c", "/etc/a /etc/b /etc/c");
	folds(HOME "/a " HOME "/b " HOME "/c", HOME "/a " HOME "/b " HOME "/c");
	folds(HOME "/.config/a/1 " HOME "/.config/a/2 " HOME "/.config/a/3", HOME "/.config/a");
	folds(HOME "/.config/a " HOME "/.config/b " HOME "/.config/c",
	      HOME "/.config/a " HOME "/.config/b " HOME "/.config/c");
	folds("/usr/share/a /usr/share/b /usr/share/c", "/usr/share/a /usr/share/b /usr/share/c");
	/* asked for as such, they are withheld */
	folds("/", "3:/");
	folds("/etc /home", "2:/home 3:/etc");
	folds(HOME, "3:" HOME);
	folds(HOME "/.local/share", "3:" HOME "/.local/share");
}

static void secrets_are_withheld(void **state)
{
	static const char *const secrets[] = {
		HOME "/.ssh/id_ed25519",
		HOME "/.ssh/config",
		HOME "/.aws/credentials",
		HOME "/.netrc",
		HOME "/.npmrc",
		HOME "/.config/gh/hosts.yml",
		HOME "/.mozilla/x",
		HOME "/work/.env",
		HOME "/work/.env.local",
		"/etc/shadow",
		"/etc/ssh/ssh_host_rsa_key",
		"/etc/ssl/private/x",
		"/srv/app/server.key",
		"/srv/app/api_token.txt",
		"/srv/app/Cookies",
	};
	static const char *const others[] = { "/home/bob/x", "/root/x", "/srv/bobs/x" };
	static const char *const fine[] = { HOME "/work/token.py", HOME "/work/cookies.js",
					    "/usr/lib/x/token.txt", HOME "/.sshx", "/srv/app/monkey" };

	(void)state;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		assert_true(mor_learn_is_secret(secrets[i], HOME));
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		folds(fine[i], fine[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct mor_learn learn = { .home = HOME, .is_others = owned_by_others };

		assert_int_equal(mor_learn_add(&learn, MOR_FORBID_READ, others[i], false), 0);
		assert_int_equal(learn.paths[0].why, MOR_LEARN_OTHERS);
		mor_learn_fini(&learn);
	}
	/* no directory with a secret in it is opened for the sake of its other files */
	folds("/srv/app/a /srv/app/b /srv/app/c /srv/app/x.key",
	      "/srv/app/a /srv/app/b /srv/app/c 1:/srv/app/x.key");
	folds("/srv/keyed/a /srv/keyed/b /srv/keyed/c", "/srv/keyed/a /srv/keyed/b /srv/keyed/c");
	folds("/srv/keyed", "4:/srv/keyed");
}

/* $HOME is another directory: the user's own is still no stranger's, and its secrets are secrets. */
static void own_home_is_known_by_the_machine(void **state)
{
	static const struct {
		const char *path;
		enum mor_learn_why why;
	} rows[] = {
		{ "/root/project/x", MOR_LEARN_GRANTED },
		{ "/root/.ssh/config", MOR_LEARN_SECRET },
		{ "/root", MOR_LEARN_WIDE },
		{ "/srv/build/x", MOR_LEARN_GRANTED },
		{ "/home/bob/x", MOR_LEARN_OTHERS },
		{ "/srv/build/.ssh/config", MOR_LEARN_SECRET },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mor_learn learn = { .home = "/srv/build", .login = "/root" };

		assert_int_equal(mor_learn_add(&learn, MOR_FORBID_READ, rows[i].path, false), 0);
		assert_int_equal(learn.paths[0].why, rows[i].why);
		mor_learn_fini(&learn);
	}
}

static void installed_files_are_no_strangers(void **state)
{
	(void)state;
	assert_true(mor_learn_is_installed("/usr/local/lib/node_modules/x/index.js"));
	assert_true(mor_learn_is_installed("/opt/tool/bin/tool"));
	assert_false(mor_learn_is_installed("/optional/x"));
	assert_false(mor_learn_is_installed("/srv/usr/x"));
}

static void odd_names_are_withheld(void **state)
{
	(void)state;
	folds("/srv/a\nb", "5:/srv/a\nb");
	folds("/srv/a\x1b[2J", "5:/srv/a\x1b[2J");
	folds("/srv/\xe2\x80\xae"
	      "txt",
	      "5:/srv/\xe2\x80\xae"
	      "txt");
	folds("relative", "5:relative");
}

static void other_needs(void **state)
{
	struct mor_learn learn = { .home = HOME };

	(void)state;
	assert_int_equal(mor_learn_add(&learn, MOR_FORBID_GIT, "/w", false), 0);
	assert_true(learn.git && learn.write && !learn.spawn);
	assert_int_equal(mor_learn_add(&learn, MOR_FORBID_PROGRAM, "/srv/bin/tool", false), 0);
	assert_true(learn.spawn);
	/* what spawn grants is left out then */
	assert_int_equal(mor_learn_add(&learn, MOR_FORBID_READ, "/usr/share/x/y", true), 0);
	assert_int_equal(mor_learn_add(&learn, MOR_FORBID_NETWORK, "/etc/hosts", false), 0);
	assert_int_equal(mor_learn_add(&learn, MOR_FORBID_NETWORK, "", false), 0);
	assert_int_equal(mor_learn_add(&learn, MOR_FORBID_WRITE, "/var/x", false), 0);
	assert_int_equal(mor_learn_add(&learn, MOR_FORBID_KEYS, "", false), 0);
	mor_learn_finish(&learn);
	assert_int_equal(learn.count, 4);
	assert_string_equal(learn.paths[0].path, "/srv/bin/tool");
	assert_int_equal(learn.paths[1].why, MOR_LEARN_NETWORK);
	assert_int_equal(learn.paths[2].why, MOR_LEARN_OUTSIDE);
	assert_string_equal(learn.paths[3].path, "keys");
	mor_learn_fini(&learn);
	learn = (struct mor_learn){ .home = HOME };
	assert_int_equal(mor_learn_add(&learn, MOR_FORBID_READ, "/usr/share/x/y", true), 0);
	mor_learn_finish(&learn);
	assert_string_equal(learn.paths[0].path, "/usr/share/x/y");
	mor_learn_fini(&learn);
	for (int why = 0; why < MOR_LEARN_WHYS; why++)
		assert_non_null(mor_learn_why_text((enum mor_learn_why)why));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(three_of_a_directory_are_the_directory),
		MOR_TEST(some_directories_are_too_wide),
		MOR_TEST(secrets_are_withheld),
		MOR_TEST(own_home_is_known_by_the_machine),
		MOR_TEST(installed_files_are_no_strangers),
		MOR_TEST(odd_names_are_withheld),
		MOR_TEST(other_needs),
	};

	return mor_run_group("policy/learn", tests);
}
