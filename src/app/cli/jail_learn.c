/* SPDX-License-Identifier: Apache-2.0 */
/* mortise jail --learn and --audit: from records to a policy, as options and as a [sandbox] table. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/outfile.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/jail.h"
#include "console/confirm.h"
#include "console/report.h"
#include "policy/plan.h"
#include "wire/json.h"

/* ---- before the run ---- */

static void warn_of_reading(struct mor_cli *cli, const struct mor_jail_args *args)
{
	const char *name = mor_base_name(cli->words.tail[0]);

	mor_note(cli->console,
		 "%swarning%s: --learn: %s may read everything that you can read, and start any program%s%s",
		 mor_style_err(cli->console, MOR_STYLE_WARN), mor_style_err_end(cli->console), name,
		 args->workspace ? ", and write in the workspace" : "",
		 args->network.count ? "; with --network it may send it away" : "");
}

static int check_options(const struct mor_jail_args *args, mortise_error *err)
{
	const char *odd = NULL;

	if (args->learn && args->audit)
		odd = "--learn and --audit cannot be used together";
	else if (!args->learn && !args->audit && (args->output || args->yes))
		odd = args->output ? "--output needs --learn or --audit" : "--yes needs --learn";
	else if (args->learn && args->level && strcmp(args->level, "t1") == 0)
		odd = "--learn watches at level t0 only; what it finds holds for t1 too";
	else if ((args->learn || args->audit) && args->on_denial && strcmp(args->on_denial, "deny") != 0)
		odd = "--learn and --audit go on after a denial: leave --on-denial out";
	return odd ? mor_fail(err, MORTISE_EINVAL, "%s", odd) : 0;
}

/* The directory of a file that need not exist yet. */
static int find_directory(const char *file, char dir[PATH_MAX], mortise_error *err)
{
	const char *slash = strrchr(file, '/');
	char given[PATH_MAX];
	int len =
		snprintf(given, sizeof(given), "%.*s", slash ? (int)(slash - file) + 1 : 1, slash ? file : ".");

	if (len < 0 || (size_t)len >= sizeof(given) || !realpath(given, dir))
		return mor_fail_errno(err, MORTISE_ENOTFOUND, errno, "--output %s", file);
	return 0;
}

/* ---- what the files are ---- */

/* Neither ours nor the system's. Archives that root unpacks keep their maker's number: what is installed for
 * everybody and open to everybody is nobody's secret. */
static bool is_others(const char *path, void *arg)
{
	struct stat st;

	(void)arg;
	return stat(path, &st) == 0 && st.st_uid != geteuid() && st.st_uid != 0 &&
	       !(mor_learn_is_installed(path) && st.st_mode & S_IROTH);
}

static const char *find_login(struct mor_learner *learner)
{
	struct passwd user, *found = NULL;

	return getpwuid_r(geteuid(), &user, learner->login, sizeof(learner->login), &found) == 0 && found ?
		       found->pw_dir :
		       NULL;
}

/* Only right in it: a user who grants a directory looks there first. */
static bool holds_secret(const char *path, void *arg)
{
	const struct mor_learn *learn = arg;
	DIR *dir = opendir(path);
	char whole[PATH_MAX];
	bool found = false;

	for (const struct dirent *entry; dir && !found && (entry = readdir(dir));)
		found = snprintf(whole, sizeof(whole), "%s/%s", path, entry->d_name) < (int)sizeof(whole) &&
			mor_learn_is_secret(whole, mor_learn_home(learn, whole));
	if (dir)
		closedir(dir);
	return found;
}

int mor_learner_begin(struct mor_cli *cli, struct mor_learner *learner, mortise_error *err)
{
	const struct mor_jail_args *args = cli->args;
	int r = check_options(args, err);

	learner->learn = (struct mor_learn){ .home = getenv("HOME"),
					     .login = args->learn || args->audit ? find_login(learner) : NULL,
					     .is_others = is_others,
					     .holds_secret = holds_secret,
					     .arg = &learner->learn };
	learner->dir[0] = '\0';
	if (r == 0 && args->output)
		r = find_directory(args->output, learner->dir, err);
	if (r < 0 || !args->learn)
		return r;
	warn_of_reading(cli, args);
	if (args->yes || (isatty(STDIN_FILENO) && cli->console->err_terminal &&
			  mor_console_confirm("Run it like that? [y/N] ")))
		return 0;
	return mor_fail(err, MORTISE_ECANCELED,
			"nothing was run: --learn needs your yes, on a terminal or by --yes");
}

/* ---- records ---- */

static bool find_kind(const char *name, enum mor_forbidden *ret)
{
	for (enum mor_forbidden what = 0; what < MOR_FORBIDDEN_COUNT; what++)
		if (strcmp(mor_forbidden_rows[what].name, name) == 0) {
			*ret = what;
			return true;
		}
	return false;
}

/* What there is no memory for is missing in the policy: the next run shows it. */
void mor_learner_take(struct mor_learner *learner, mortise_json record)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *root;
	enum mor_forbidden what;

	if (mor_doc_parse((struct mor_slice){ record.text, record.len }, 0, 0, &doc, NULL) < 0)
		return;
	root = mor_doc_root(doc);
	if (!mor_text_in(mor_slice_of(mor_json_text(mor_json_get(root, "event"), "")),
			 "sandbox_need|sandbox_violation") ||
	    !find_kind(mor_json_text(mor_json_get(root, "kind"), ""), &what))
		return;
	(void)mor_learn_add(&learner->learn, what, mor_json_text(mor_json_get(root, "path"), ""),
			    mor_json_bool(mor_json_get(root, "with_spawn"), false));
}

/* ---- as options ---- */

static void add_word(struct mor_buf *out, const char *before, const char *word)
{
	mor_buf_text(out, before);
	mor_buf_shell_word(out, word);
}

static void add_words(struct mor_buf *out, const char *before, const struct mor_text_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		add_word(out, before, list->item[i]);
}

/* --network without a list. */
static bool is_all(const char *word)
{
	return strcmp(word, "true") == 0;
}

/* The command line that grants what was learnt, beside what was asked for. */
static void write_options(const struct mor_jail_args *args, const struct mor_learn *learn,
			  const char *const *program, struct mor_buf *out)
{
	const struct {
		const char *option, *value;
	} texts[] = { { " -w ", args->workspace },
		      { " --plugin-dir ", args->plugin_dir },
		      { " --scratch ", args->scratch } };
	const struct {
		const char *option;
		bool on;
	} flags[] = { { " --write", args->workspace && (args->write || learn->write) },
		      { " --git", args->workspace && (args->git || learn->git) },
		      { " --spawn", args->spawn || learn->spawn } };

	mor_buf_text(out, "mortise jail");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].value)
			add_word(out, texts[i].option, texts[i].value);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (flags[i].on)
			mor_buf_text(out, flags[i].option);
	for (size_t i = 0; i < args->network.count; i++)
		if (is_all(args->network.item[i]))
			mor_buf_text(out, " --network");
		else
			add_word(out, " --network=", args->network.item[i]);
	add_words(out, " --unprotect ", &args->unprotect);
	add_words(out, " --limit ", &args->limit);
	add_words(out, " --env ", &args->env);
	add_words(out, " --read ", &args->read);
	for (size_t i = 0; i < learn->count; i++)
		if (!learn->paths[i].why)
			add_word(out, " --read ", learn->paths[i].path);
	mor_buf_text(out, " --");
	for (; *program; program++)
		add_word(out, " ", *program);
}

/* ---- as [sandbox] ---- */

/* A JSON string is a TOML string, if there is no control character in it. A path that has one is not granted:
 * in a comment it is made printable. */
static void add_text(struct mor_buf *out, const char *text)
{
	char shown[4 * PATH_MAX];

	mor_buf_json_string(out, mor_slice_of(mor_printable(mor_slice_of(text), shown, sizeof(shown))));
}

static void add_real(struct mor_buf *out, const char *key, const char *path)
{
	char real[PATH_MAX];

	if (!path)
		return;
	mor_buf_printf(out, "%s = ", key);
	add_text(out, realpath(path, real) ? real : path);
	mor_buf_byte(out, '\n');
}

static void add_list(struct mor_buf *out, const char *key, const struct mor_text_list *list)
{
	if (!list->count)
		return;
	mor_buf_printf(out, "%s = [", key);
	for (size_t i = 0; i < list->count; i++) {
		mor_buf_text(out, i ? ", " : "");
		add_text(out, list->item[i]);
	}
	mor_buf_text(out, "]\n");
}

static void add_reads(struct mor_buf *out, const struct mor_jail_args *args, const struct mor_learn *learn)
{
	size_t count = args->read.count;
	char real[PATH_MAX];

	for (size_t i = 0; i < learn->count; i++)
		count += !learn->paths[i].why;
	if (!count)
		return;
	mor_buf_text(out, "read = [\n");
	for (size_t i = 0; i < args->read.count; i++) {
		mor_buf_text(out, "  ");
		add_text(out, realpath(args->read.item[i], real) ? real : args->read.item[i]);
		mor_buf_text(out, ",\n");
	}
	for (size_t i = 0; i < learn->count; i++) {
		if (learn->paths[i].why)
			continue;
		mor_buf_text(out, "  ");
		add_text(out, learn->paths[i].path);
		mor_buf_text(out, ",\n");
	}
	mor_buf_text(out, "]\n");
}

/* "files=64" becomes files = 64, "memory=1G" memory = "1G". */
static void add_limits(struct mor_buf *out, const struct mor_text_list *limits)
{
	for (size_t i = 0; i < limits->count; i++) {
		const char *equals = strchr(limits->item[i], '=');

		if (!equals)
			continue;
		mor_buf_printf(out, "%.*s = ", (int)(equals - limits->item[i]), limits->item[i]);
		if (equals[1 + strspn(equals + 1, "0123456789")])
			add_text(out, equals + 1);
		else
			mor_buf_text(out, equals + 1);
		mor_buf_byte(out, '\n');
	}
}

static void add_network(struct mor_buf *out, const struct mor_text_list *network)
{
	if (network->count && is_all(network->item[0]))
		mor_buf_text(out, "network = true\n");
	else
		add_list(out, "network", network);
}

/* What was asked for and is not granted, as comments: a user who knows better moves a line up. */
static void add_withheld(struct mor_buf *out, const struct mor_learn *learn)
{
	enum mor_learn_why last = MOR_LEARN_GRANTED;

	for (size_t i = 0; i < learn->count; i++) {
		const struct mor_learn_path *item = &learn->paths[i];

		if (!item->why)
			continue;
		if (item->why != last)
			mor_buf_printf(out, "# Not granted: %s.\n", mor_learn_why_text(item->why));
		last = item->why;
		if (item->why == MOR_LEARN_NETWORK) {
			mor_buf_text(out, "# network = true\n");
			continue;
		}
		mor_buf_text(out, "#   ");
		add_text(out, item->path);
		mor_buf_text(out, item->why == MOR_LEARN_NEVER ? "\n" : ",\n");
	}
}

static void write_table(const struct mor_jail_args *args, const struct mor_learn *learn, struct mor_buf *out)
{
	mor_buf_text(out, "[sandbox]\n");
	add_real(out, "workspace", args->workspace);
	if (args->workspace && (args->write || learn->write))
		mor_buf_text(out, "workspace_write = true\n");
	if (args->workspace && (args->git || learn->git))
		mor_buf_text(out, "git = true\n");
	add_list(out, "unprotect", &args->unprotect);
	if (args->spawn || learn->spawn)
		mor_buf_text(out, "spawn = true\n");
	add_network(out, &args->network);
	add_real(out, "scratch", args->scratch);
	add_limits(out, &args->limit);
	add_reads(out, args, learn);
	add_withheld(out, learn);
}

/* ---- telling ---- */

static size_t count_withheld(const struct mor_learn *learn)
{
	size_t count = 0;

	for (size_t i = 0; i < learn->count; i++)
		count += learn->paths[i].why != MOR_LEARN_GRANTED;
	return count;
}

/* The program may have written where the file belongs: a link there would lead us elsewhere. */
static int check_place(const char *path, const char *dir, mortise_error *err)
{
	char now[PATH_MAX];
	struct stat st;
	int r = find_directory(path, now, err);

	if (r < 0)
		return r;
	if (strcmp(now, dir) != 0 || (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)))
		return mor_fail(err, MORTISE_ESYSTEM,
				"--output %s: it is a link now; the policy is not written there", path);
	return 0;
}

static int write_file(const char *path, const char *dir, const struct mor_buf *text, mortise_error *err)
{
	int r = check_place(path, dir, err);

	return r < 0 ? r : mor_outfile_write(path, 0666, mor_buf_view(text), err);
}

/* For machines: {"event":"jail_policy","options":"mortise jail ...","toml":"[sandbox]..."} */
static void tell_machine(struct mor_cli *cli, const char *options, const struct mor_buf *table)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	mor_buf_text(&json, "{\"event\":\"jail_policy\",\"options\":");
	mor_buf_json_string(&json, mor_slice_of(options));
	mor_buf_text(&json, ",\"toml\":");
	mor_buf_json_string(&json, mor_buf_view(table));
	mor_buf_byte(&json, '}');
	if (!mor_buf_failed(&json))
		mor_note_slice(cli->console, mor_buf_view(&json));
}

static void tell_person(struct mor_cli *cli, const struct mor_jail_args *args, const struct mor_learn *learn,
			const char *options, const struct mor_buf *table)
{
	size_t withheld = count_withheld(learn);

	mor_note(cli->console, "%s: it needs: %s", args->learn ? "learn" : "audit", options);
	if (withheld)
		mor_note(cli->console, "%s: not granted: %zu thing%s, as comments in %s",
			 args->learn ? "learn" : "audit", withheld, withheld == 1 ? "" : "s",
			 args->output ? args->output : "the table");
	if (learn->count >= MOR_PLAN_NEEDED_MAX / 2)
		mor_note(cli->console,
			 "warning: it asked for very much; something may be missing: learn again");
	if (!args->output)
		mor_note_slice(cli->console, (struct mor_slice){ table->data, table->len - 1 });
}

int mor_learner_tell(struct mor_cli *cli, struct mor_learner *learner, mortise_error *err)
{
	const struct mor_jail_args *args = cli->args;
	struct mor_learn *learn = &learner->learn;
	MOR_CLEAN(mor_buf) struct mor_buf options = MOR_BUF_INIT, table = MOR_BUF_INIT, file = MOR_BUF_INIT;

	mor_learn_finish(learn);
	write_options(args, learn, (const char *const *)cli->words.tail, &options);
	write_table(args, learn, &table);
	if (mor_buf_byte(&options, '\0') < 0 || mor_buf_failed(&table))
		return mor_fail_memory(err);
	if (cli->console->json)
		tell_machine(cli, options.data, &table);
	else
		tell_person(cli, args, learn, options.data, &table);
	if (!args->output)
		return 0;
	mor_buf_printf(&file, "# By mortise jail --%s. The same as options:\n# ",
		       args->learn ? "learn" : "audit");
	for (const char *c = options.data; *c; c++)
		mor_buf_byte(&file, *c == '\n' ? ' ' : *c);
	mor_buf_byte(&file, '\n');
	mor_buf_slice(&file, mor_buf_view(&table));
	return mor_buf_failed(&file) ? mor_fail_memory(err) :
				       write_file(args->output, learner->dir, &file, err);
}
