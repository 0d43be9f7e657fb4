/* SPDX-License-Identifier: Apache-2.0 */
/* --learn and --audit: before the run, its records, and what is told after it. */
#include <dirent.h>
#include <errno.h>
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
#include "console/confirm.h"
#include "jailed/inside.h"
#include "policy/plan.h"
#include "wire/json.h"

/* ---- before the run ---- */

static void warn_of_reading(struct mor_console *console, const struct mor_jailed_plan *plan)
{
	const char *name = mor_base_name(plan->argv[0]);

	mor_note(console,
		 "%swarning%s: --learn: %s may read everything that you can read, and start any program%s%s",
		 mor_style_err(console, MOR_STYLE_WARN), mor_style_err_end(console), name,
		 plan->workspace ? ", and write in the workspace" : "",
		 plan->network.count ? "; with --network it may send it away" : "");
}

static int check_options(const struct mor_jailed_plan *plan, mortise_error *err)
{
	const char *odd = NULL;

	if (plan->learn && plan->audit)
		odd = "--learn and --audit cannot be used together";
	else if (!plan->learn && !plan->audit && (plan->output || plan->yes))
		odd = plan->output ? "--output needs --learn or --audit" : "--yes needs --learn";
	else if (plan->learn && plan->level && strcmp(plan->level, "t1") == 0)
		odd = "--learn watches at level t0 only; what it finds holds for t1 too";
	else if ((plan->learn || plan->audit) && plan->on_denial && strcmp(plan->on_denial, "deny") != 0)
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

int mor_learner_begin(struct mor_console *console, const struct mor_jailed_plan *plan,
		      struct mor_learner *learner, mortise_error *err)
{
	int r = check_options(plan, err);

	learner->learn = (struct mor_learn){ .home = getenv("HOME"),
					     .login = plan->learn || plan->audit ? find_login(learner) : NULL,
					     .is_others = is_others,
					     .holds_secret = holds_secret,
					     .arg = &learner->learn };
	learner->dir[0] = '\0';
	if (r == 0 && plan->output)
		r = find_directory(plan->output, learner->dir, err);
	if (r < 0 || !plan->learn)
		return r;
	warn_of_reading(console, plan);
	if (plan->yes ||
	    (isatty(STDIN_FILENO) && console->err_terminal && mor_console_confirm("Run it like that? [y/N] ")))
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
void mor_learner_collect(struct mor_learner *learner, mortise_json record)
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

/* For machines: {"event":"jail_policy","options":"mortise jail ...","toml":"[sandbox]..."} */
static void tell_machine(struct mor_console *console, const char *options, const struct mor_buf *table)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	mor_buf_text(&json, "{\"event\":\"jail_policy\",\"options\":");
	mor_buf_json_string(&json, mor_slice_of(options));
	mor_buf_text(&json, ",\"toml\":");
	mor_buf_json_string(&json, mor_buf_view(table));
	mor_buf_byte(&json, '}');
	if (!mor_buf_failed(&json))
		mor_note_slice(console, mor_buf_view(&json));
}

static void tell_person(struct mor_console *console, const struct mor_jailed_plan *plan,
			const struct mor_learn *learn, const char *options, const struct mor_buf *table)
{
	size_t withheld = count_withheld(learn);

	mor_note(console, "%s: it needs: %s", plan->learn ? "learn" : "audit", options);
	if (withheld)
		mor_note(console, "%s: not granted: %zu thing%s, as comments in %s",
			 plan->learn ? "learn" : "audit", withheld, withheld == 1 ? "" : "s",
			 plan->output ? plan->output : "the table");
	if (learn->count >= MOR_PLAN_NEEDED_MAX / 2)
		mor_note(console, "warning: it asked for very much; something may be missing: learn again");
	if (!plan->output)
		mor_note_slice(console, (struct mor_slice){ table->data, table->len - 1 });
}

int mor_learner_tell(struct mor_console *console, const struct mor_jailed_plan *plan,
		     struct mor_learner *learner, mortise_error *err)
{
	struct mor_learn *learn = &learner->learn;
	struct mor_jailed_plan granted;
	MOR_CLEAN(mor_buf) struct mor_buf options = MOR_BUF_INIT, table = MOR_BUF_INIT, file = MOR_BUF_INIT;
	int r;

	mor_learn_finish(learn);
	r = mor_learnt_plan(plan, learn, &granted);
	mor_learnt_options(&granted, &options);
	mor_learnt_table(&granted, plan->read.count, learn, &table);
	mor_free(granted.read.item);
	if (r < 0 || mor_buf_byte(&options, '\0') < 0 || mor_buf_failed(&table))
		return mor_fail_memory(err);
	if (console->json)
		tell_machine(console, options.data, &table);
	else
		tell_person(console, plan, learn, options.data, &table);
	if (!plan->output)
		return 0;
	mor_buf_printf(&file, "# By mortise jail --%s. The same as options:\n# ",
		       plan->learn ? "learn" : "audit");
	for (const char *c = options.data; *c; c++)
		mor_buf_byte(&file, *c == '\n' ? ' ' : *c);
	mor_buf_byte(&file, '\n');
	mor_buf_slice(&file, mor_buf_view(&table));
	r = mor_buf_failed(&file) ? mor_fail_memory(err) : check_place(plan->output, learner->dir, err);
	return r < 0 ? r : mor_outfile_write(plan->output, 0666, mor_buf_view(&file), err);
}
