/* SPDX-License-Identifier: Apache-2.0 */
/* See learn.h. */
#include "policy/learn.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/text.h"

/* ---- which paths are not granted ---- */

/* Below the home directory: these, and all that is in them. */
static const char *const home_secrets[] = {
	".ssh",
	".gnupg",
	".aws",
	".azure",
	".kube",
	".docker",
	".config/gcloud",
	".config/gh",
	".config/hub",
	".config/op",
	".config/rclone",
	".config/heroku",
	".config/solana",
	".config/containers",
	".config/git/credentials",
	".config/google-chrome",
	".config/chromium",
	".config/BraveSoftware",
	".local/share/keyrings",
	".local/state/mortise",
	".password-store",
	".mozilla",
	".thunderbird",
	".vault-token",
	".terraform.d",
	".m2/settings.xml",
	".gradle/gradle.properties",
	".cargo/credentials",
	".cargo/credentials.toml",
	".gem/credentials",
	".bash_history",
	".zsh_history",
	".python_history",
	".psql_history",
	".mysql_history",
	".node_repl_history",
	".lesshst",
	".boto",
	".s3cfg",
	".fly",
	NULL,
};
/* Of the machine. */
static const char *const machine_secrets[] = {
	"/etc/shadow",      "/etc/gshadow",     "/etc/shadow-",
	"/etc/gshadow-",    "/etc/sudoers",     "/etc/sudoers.d",
	"/etc/ssl/private", "/etc/krb5.keytab", "/etc/NetworkManager/system-connections",
	"/etc/wireguard",   "/etc/ppp",         "/etc/security/opasswd",
	"/run/secrets",     "/var/run/secrets", "/var/lib/systemd/random-seed",
	"/var/mail",        "/var/spool",       NULL,
};
/* Wherever they are, in any case. */
static const char *const secret_names[] = {
	"id_rsa",
	"id_dsa",
	"id_ecdsa",
	"id_ed25519",
	"ssh_host_*_key",
	"*.pem",
	"*.key",
	"*.p12",
	"*.pfx",
	"*.kdbx",
	"*.jks",
	"*.keystore",
	"*.ovpn",
	".env",
	".env.*",
	".netrc",
	"_netrc",
	".npmrc",
	"npmrc",
	".pypirc",
	".pgpass",
	".my.cnf",
	".git-credentials",
	"credentials",
	"credentials.*",
	"*secret*",
	"*token*",
	"*password*",
	"*passwd*",
	"*cookie*",
	"login data",
	"logins.json",
	"key[34].db",
	".htpasswd",
	"*.keytab",
	NULL,
};
/* Code is no secret because of its name: token.py, cookies.js. */
static const char *const code_names[] = { "*.py",   "*.pyc", "*.js", "*.mjs",  "*.ts",  "*.c",
					  "*.h",    "*.cc",  "*.so", "*.so.*", "*.rb",  "*.pl",
					  "*.pm",   "*.go",  "*.rs", "*.java", "*.lua", "*.sh",
					  "*.html", "*.css", "*.md", NULL };
/* Collections: what lies in them belongs to many programs. */
static const char *const wide_names[] = {
	"/usr/share", "/usr/local", "/usr/local/share", "/usr/local/etc", "/usr/lib",  "/usr/local/lib",
	"/var/lib",   "/var/log",   "/var/cache",       "/var/tmp",       "/var/run",  "/nix/store",
	"/usr/bin",   "/usr/sbin",  "/usr/local/bin",   "/etc/default",   "/run/user", NULL,
};
static const char *const home_wide[] = {
	".config", ".local",    ".local/share", ".local/state", ".local/bin", ".cache",
	"Desktop", "Documents", "Downloads",    "Pictures",     NULL,
};

static bool matches_one(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (fnmatch(*patterns, name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

static bool lies_in_one(const char *path, const char *const *places)
{
	for (; *places; places++)
		if (mor_path_is_within(path, *places, strlen(*places)))
			return true;
	return false;
}

static bool is_one(const char *path, const char *const *places)
{
	for (; *places; places++)
		if (strcmp(path, *places) == 0)
			return true;
	return false;
}

/* The rest of a path below the home directory; NULL: it is not there. */
static const char *in_home(const char *path, const char *home)
{
	return home && strlen(home) > 1 ? mor_path_below(home, path) : NULL;
}

static bool lies_in_home(const char *path, const char *home)
{
	return home && strlen(home) > 1 && mor_path_is_within(path, home, strlen(home));
}

const char *mor_learn_home(const struct mor_learn *learn, const char *path)
{
	bool by_login = !lies_in_home(path, learn->home) && lies_in_home(path, learn->login);

	return by_login ? learn->login : learn->home;
}

/* Installed for everybody, whatever owner its archive names. */
bool mor_learn_is_installed(const char *path)
{
	static const char *const places[] = { "/usr", "/opt", "/nix/store", NULL };

	return lies_in_one(path, places);
}

bool mor_learn_is_secret(const char *path, const char *home)
{
	const char *rest = in_home(path, home), *name = mor_base_name(path);

	if ((rest && lies_in_one(rest, home_secrets)) || lies_in_one(path, machine_secrets))
		return true;
	return matches_one(name, secret_names) && !matches_one(name, code_names) &&
	       !mor_path_is_within(path, "/usr", 4);
}

/* "/", "/etc", "/home/ada", "/root" */
bool mor_learn_is_wide(const char *path, const char *home)
{
	const char *second = path[0] == '/' ? strchr(path + 1, '/') : NULL, *rest = in_home(path, home);

	if (!second || is_one(path, wide_names))
		return true;
	if (mor_path_is_within(path, "/home", 5) && !strchr(second + 1, '/'))
		return true;
	if (home && (strcmp(path, home) == 0 || mor_path_below(path, home)))
		return true;
	return rest && is_one(rest, home_wide);
}

/* A home directory that is not the user's. */
static bool is_foreign_home(const char *path, const char *home)
{
	bool below = mor_path_is_within(path, "/home", 5) || mor_path_is_within(path, "/root", 5);

	return below && !(home && (strcmp(path, home) == 0 || in_home(path, home)));
}

/* What comes out of a list of texts must be what went in. */
static bool is_odd(const char *path)
{
	static const char replaced[] = "\xef\xbf\xbd"; /* U+FFFD: bytes that are no text */
	char shown[1024];

	return path[0] != '/' || strcmp(mor_printable(mor_slice_of(path), shown, sizeof(shown)), path) != 0 ||
	       strstr(path, replaced);
}

static enum mor_learn_why judge_path(const struct mor_learn *learn, const char *path)
{
	const char *home = mor_learn_home(learn, path);

	if (is_odd(path))
		return MOR_LEARN_ODD;
	if (mor_learn_is_secret(path, home))
		return MOR_LEARN_SECRET;
	if (is_foreign_home(path, home) || (learn->is_others && learn->is_others(path, learn->arg)))
		return MOR_LEARN_OTHERS;
	if (mor_learn_is_wide(path, home))
		return MOR_LEARN_WIDE;
	return learn->holds_secret && learn->holds_secret(path, learn->arg) ? MOR_LEARN_HOLDS :
									      MOR_LEARN_GRANTED;
}

const char *mor_learn_why_text(enum mor_learn_why why)
{
	static const char *const texts[MOR_LEARN_WHYS] = {
		[MOR_LEARN_GRANTED] = "granted",
		[MOR_LEARN_SECRET] = "may be secret (keys, tokens, cookies)",
		[MOR_LEARN_OTHERS] = "another user's",
		[MOR_LEARN_WIDE] = "too much lies in it",
		[MOR_LEARN_HOLDS] = "something that may be secret lies in it",
		[MOR_LEARN_ODD] = "its name cannot be written down",
		[MOR_LEARN_NETWORK] = "it tried to use the network: only --network grants it",
		[MOR_LEARN_PLACE] = "not in the list of --network",
		[MOR_LEARN_OUTSIDE] = "a write outside of the workspace",
		[MOR_LEARN_TOOL] = "a write to what tools run by themselves: only --unprotect grants it",
		[MOR_LEARN_NEVER] = "no permission allows it",
	};

	return texts[why];
}

/* ---- collecting ---- */

void mor_learn_fini(struct mor_learn *learn)
{
	for (size_t i = 0; i < learn->count; i++)
		mor_free(learn->paths[i].path);
	mor_free(learn->paths);
	learn->paths = NULL;
	learn->count = learn->room = 0;
}

static int add_path(struct mor_learn *learn, const char *path, enum mor_learn_why why, bool with_spawn)
{
	struct mor_learn_path item = { .why = why, .with_spawn = with_spawn };

	if (mor_grow(&learn->paths, learn->count, &learn->room, sizeof(*learn->paths)) < 0)
		return MORTISE_ENOMEM;
	item.path = mor_strdup(path);
	if (!item.path)
		return MORTISE_ENOMEM;
	learn->paths[learn->count++] = item;
	return 0;
}

int mor_learn_add(struct mor_learn *learn, enum mor_forbidden what, const char *path, bool with_spawn)
{
	switch (what) {
	case MOR_FORBID_PROGRAM:
		learn->spawn = true;
		return add_path(learn, path, judge_path(learn, path), false);
	case MOR_FORBID_READ:
		return add_path(learn, path, with_spawn ? MOR_LEARN_GRANTED : judge_path(learn, path),
				with_spawn);
	case MOR_FORBID_SPAWN:
		learn->spawn = true;
		return 0;
	case MOR_FORBID_GIT:
		learn->git = learn->write = true;
		return 0;
	case MOR_FORBID_WORKSPACE_WRITE:
		learn->write = true;
		return 0;
	case MOR_FORBID_NETWORK:
		return add_path(learn, "", MOR_LEARN_NETWORK, false);
	case MOR_FORBID_PLACE:
		return add_path(learn, path, MOR_LEARN_PLACE, false);
	case MOR_FORBID_WRITE:
		return add_path(learn, path, MOR_LEARN_OUTSIDE, false);
	case MOR_FORBID_TOOL:
		return add_path(learn, path, MOR_LEARN_TOOL, false);
	default:
		return add_path(learn, mor_forbidden_rows[what].name, MOR_LEARN_NEVER, false);
	}
}

/* ---- folding ---- */

static size_t parent_len(const char *path)
{
	return (size_t)(strrchr(path, '/') - path);
}

static int by_path(const void *a, const void *b)
{
	const struct mor_learn_path *x = a, *y = b;

	return x->why != y->why ? (x->why > y->why) - (x->why < y->why) : strcmp(x->path, y->path);
}

/* Paths that are granted come first, and paths of one directory one after the other. */
static int by_parent(const void *a, const void *b)
{
	const struct mor_learn_path *x = a, *y = b;
	size_t m, n;
	int order;

	if (x->why || y->why)
		return by_path(a, b);
	m = parent_len(x->path);
	n = parent_len(y->path);
	order = memcmp(x->path, y->path, m < n ? m : n);
	if (order == 0)
		order = (m > n) - (m < n);
	return order ? order : strcmp(x->path, y->path);
}

static void drop_path(struct mor_learn_path *item)
{
	mor_free(item->path);
	item->path = NULL;
}

/* Moves those that are left together. */
static void close_ranks(struct mor_learn *learn)
{
	size_t kept = 0;

	for (size_t i = 0; i < learn->count; i++)
		if (learn->paths[i].path)
			learn->paths[kept++] = learn->paths[i];
	learn->count = kept;
}

static void drop_equal(struct mor_learn *learn)
{
	qsort(learn->paths, learn->count, sizeof(*learn->paths), by_path);
	for (size_t i = 1, last = 0; i < learn->count; i++) {
		if (by_path(&learn->paths[last], &learn->paths[i]) == 0)
			drop_path(&learn->paths[i]);
		else
			last = i;
	}
	close_ranks(learn);
}

/* Is a part of it, or the whole, granted by a rule for a directory above it? The list is sorted by path. */
static bool has_rule_above(const struct mor_learn *learn, const char *path)
{
	char dir[4096];
	size_t len = strlen(path);

	if (len >= sizeof(dir))
		return false;
	memcpy(dir, path, len + 1);
	for (len = parent_len(dir); len; len = parent_len(dir)) {
		struct mor_learn_path key = { .path = dir };

		dir[len] = '\0';
		if (bsearch(&key, learn->paths, learn->count, sizeof(key), by_path))
			return true;
	}
	return false;
}

static void drop_covered(struct mor_learn *learn)
{
	drop_equal(learn);
	for (size_t i = learn->count; i-- > 0;)
		if (!learn->paths[i].why && has_rule_above(learn, learn->paths[i].path))
			learn->paths[i].with_spawn = true; /* a mark: none has it any more */
	for (size_t i = 0; i < learn->count; i++)
		if (learn->paths[i].with_spawn)
			drop_path(&learn->paths[i]);
	close_ranks(learn);
}

static bool may_fold(const struct mor_learn *learn, const char *dir)
{
	size_t len = strlen(dir);

	if (judge_path(learn, dir) != MOR_LEARN_GRANTED)
		return false;
	for (size_t i = 0; i < learn->count; i++)
		if (learn->paths[i].path && learn->paths[i].why >= MOR_LEARN_SECRET &&
		    learn->paths[i].why <= MOR_LEARN_ODD && mor_path_is_within(learn->paths[i].path, dir, len))
			return false;
	return true;
}

/* One of a directory's own becomes the directory, the others go. */
static bool fold_group(struct mor_learn *learn, size_t from, size_t to)
{
	char *first = learn->paths[from].path;
	size_t len = parent_len(first);
	char *dir = to - from >= MOR_LEARN_FOLD ? mor_strndup(first, len) : NULL;

	if (!dir || !may_fold(learn, dir)) {
		mor_free(dir);
		return false;
	}
	for (size_t i = from; i < to; i++)
		drop_path(&learn->paths[i]);
	learn->paths[from].path = dir;
	return true;
}

static bool fold_once(struct mor_learn *learn)
{
	bool folded = false;

	qsort(learn->paths, learn->count, sizeof(*learn->paths), by_parent);
	for (size_t from = 0, to; from < learn->count && !learn->paths[from].why; from = to) {
		const char *path = learn->paths[from].path;
		size_t len = parent_len(path);

		for (to = from + 1; to < learn->count && !learn->paths[to].why; to++)
			if (parent_len(learn->paths[to].path) != len ||
			    memcmp(learn->paths[to].path, path, len) != 0)
				break;
		folded |= fold_group(learn, from, to);
	}
	close_ranks(learn);
	return folded;
}

void mor_learn_finish(struct mor_learn *learn)
{
	for (size_t i = 0; i < learn->count; i++) {
		struct mor_learn_path *item = &learn->paths[i];

		if (item->with_spawn && learn->spawn)
			drop_path(item);
		else if (item->with_spawn)
			item->why = judge_path(learn, item->path);
		item->with_spawn = false;
	}
	close_ranks(learn);
	if (!learn->count)
		return;
	do
		drop_covered(learn);
	while (fold_once(learn));
	drop_equal(learn);
}
