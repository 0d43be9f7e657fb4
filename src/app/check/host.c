/* SPDX-License-Identifier: Apache-2.0 */
/* mortise check --host: runs the host once for each scene, and judges what it sent to the played plugin. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "check/host_own.h"
#include "console/signals.h"

#define HOST_MS      20000 /* how long the host's command may take */
#define RECORD_BYTES ((size_t)64 << 20)
#define COPY_BYTES   ((size_t)1 << 30)

/* In the scratch directory. */
#define PLUGIN_DIR    "plugin"
#define PLUGIN_NAME   "plugin"
#define PROGRAM_NAME  "mortise"
#define WORKSPACE_DIR "workspace"

static const char json_manifest[] =
	"{\"name\":\"played\",\"version\":\"1.0.0\",\"transport\":\"stdio-jsonrpc\",\"entrypoint\":[\"./" PLUGIN_NAME
	"\"],\"capabilities\":{\"network\":false,\"filesystem\":[\"workspace\",\"scratch\"]},\"commands\":[{\"name\":\"played\",\"kind\":\"app\",\"summary\":\"Is "
	"played\"}],\"hooks\":[\"played_hook\"]}\n";

/* A confined plugin can write into the workspace, and nowhere else. */
static const char *record_of(const struct mor_check_run *run)
{
	return run->dialect->life.confine == MOR_CONFINED ? WORKSPACE_DIR "/record" : "record";
}

/* ---- the record ---- */

static void take_line(struct mor_check_heard *heard, struct mor_slice line)
{
	struct mor_check_message m = { .taken = false };

	if (line.len < 2)
		return;
	heard->marks[(unsigned char)line.ptr[0] % MOR_CHECK_MARKS]++;
	if (line.ptr[0] != MOR_CHECK_MARK_MESSAGE)
		return;
	if (mor_doc_parse((struct mor_slice){ line.ptr + 2, line.len - 2 }, 0, 0, &m.doc, NULL) < 0) {
		heard->broken++;
		return;
	}
	m.root = mor_doc_root(m.doc);
	m.id = mor_json_get(m.root, "id");
	m.method = mor_json_get(m.root, "method");
	if (mor_grow(&heard->message, heard->count, &heard->cap, sizeof(m)) == 0)
		heard->message[heard->count++] = m;
	else
		mor_doc_free(m.doc);
}

static void read_record(const char *path, struct mor_check_heard *heard)
{
	struct mor_slice rest;

	if (mor_fd_read_file(path, RECORD_BYTES, &heard->talk, &rest.len) < 0)
		return;
	heard->recorded = true;
	rest.ptr = heard->talk;
	while (rest.len)
		take_line(heard, mor_slice_cut(&rest, '\n'));
}

static void heard_fini(struct mor_check_heard *heard)
{
	for (size_t i = 0; i < heard->count; i++)
		mor_check_message_fini(&heard->message[i]);
	mor_free(heard->message);
	mor_free(heard->talk);
	*heard = (struct mor_check_heard){ 0 };
}

/* ---- one scene ---- */

static bool is_confined(const struct mor_check_run *run)
{
	return run->dialect->life.confine == MOR_CONFINED;
}

/* The whole program: a sandbox that lets the plugin run lets it run this copy. */
static int put_program(struct mor_check_run *run)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = -1;
	ssize_t n = -1;

	if (from >= 0)
		to = openat(run->scratch.dir, PLUGIN_DIR "/" PROGRAM_NAME,
			    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	while (to >= 0 && (n = sendfile(to, from, NULL, COPY_BYTES)) > 0)
		continue;
	mor_fd_close(&from);
	mor_fd_close(&to);
	return n == 0 ? 0 : MORTISE_ESYSTEM;
}

/* What stays the same in all scenes: the plugin that a host is told to start, and a workspace. */
static int put_plugin(struct mor_check_run *run)
{
	MOR_CLEAN_TEXT char *script =
		mor_text_format("#!%s/" PLUGIN_DIR "/" PROGRAM_NAME " check\n", run->scratch.path);

	if (!script || mor_dir_make(run->scratch.dir, PLUGIN_DIR, 0700) < 0 ||
	    mor_dir_make(run->scratch.dir, WORKSPACE_DIR, 0700) < 0 || put_program(run) < 0 ||
	    mor_check_put_file(run, PLUGIN_DIR "/" PLUGIN_NAME, script) < 0 ||
	    mor_check_put_file(run, "outside", "not for plugins\n") < 0 ||
	    mor_check_put_file(run, WORKSPACE_DIR "/sunscreen.yml", "version: 1\nname: check\n") < 0 ||
	    fchmodat(run->scratch.dir, PLUGIN_DIR "/" PLUGIN_NAME, 0700, 0) < 0)
		return MORTISE_ESYSTEM;
	return 0;
}

/* The manifest and the file that says what is to be played, and where it is written down. */
static int put_scene(struct mor_check_run *run, const char *scene)
{
	MOR_CLEAN_TEXT char *text =
		mor_text_format("%s/%s\n%s/%s\n", run->dialect->name, scene, run->scratch.path, record_of(run));
	MOR_CLEAN_TEXT char *toml = mor_text_format(
		"[plugin]\nname = \"played\"\nversion = \"1.0.0\"\ndescription = \"Is played\"\n"
		"entry = \"./" PLUGIN_NAME "\"\n[permissions]\nworkspace_write = %s\n"
		"[commands.scaffold]\nplayed = \"Is played\"\n[commands.hook]\nplayed_hook = \"Is played\"\n",
		strcmp(scene, "write") == 0 ? "false" : "true");
	int r = text && toml ? mor_check_put_file(run, PLUGIN_DIR "/" MOR_CHECK_SCENE, text) : MORTISE_ENOMEM;

	unlinkat(run->scratch.dir, record_of(run), 0);
	if (r == 0 && strcmp(run->dialect->name, "sunscreen") == 0)
		r = mor_check_put_file(run, PLUGIN_DIR "/plugin.toml", toml);
	if (r == 0 && strcmp(run->dialect->name, "sunscreen-json") == 0)
		r = mor_check_put_file(run, PLUGIN_DIR "/sunscreen-plugin.json", json_manifest);
	return r;
}

/* "{}" is the plugin and "{workspace}" a workspace, also inside a word. */
static char *put_places(const struct mor_check_run *run, const char *word, bool found[2])
{
	const struct {
		const char *mark, *path;
	} places[] = { { "{}", is_confined(run) ? PLUGIN_DIR : PLUGIN_DIR "/" PLUGIN_NAME },
		       { "{workspace}", WORKSPACE_DIR } };
	char *text = mor_strdup(word);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *at = text ? strstr(text, places[i].mark) : NULL;
		char *whole;

		if (!at)
			continue;
		found[i] = true;
		whole = mor_text_format("%.*s%s/%s%s", (int)(at - text), text, run->scratch.path,
					places[i].path, at + strlen(places[i].mark));
		mor_free(text);
		text = whole;
	}
	return text;
}

static int put_words(struct mor_check_run *run, mortise_error *err)
{
	bool found[2] = { false, !is_confined(run) };

	run->argv = mor_texts_free(run->argv);
	for (const char *const *word = run->opt->argv; word && *word; word++)
		if (mor_texts_push_take(&run->argv, put_places(run, *word, found)) < 0)
			return mor_fail_memory(err);
	if (!found[0])
		return mor_fail(err, MORTISE_EINVAL, "write {} where COMMAND takes the plugin");
	return found[1] ? 0 :
			  mor_fail(err, MORTISE_EINVAL,
				   "write {workspace} where COMMAND takes the workspace: the played plugin "
				   "can only write there");
}

/* Only the played plugin opens this file. */
static int watch_start(struct mor_check_run *run)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/" PLUGIN_DIR "/" MOR_CHECK_SCENE, run->scratch.path);
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd >= 0 && (!path || inotify_add_watch(fd, path, IN_OPEN) < 0))
		mor_fd_close(&fd);
	return fd;
}

static int run_host(struct mor_check_run *run, struct mor_check_heard *heard, mortise_error *err)
{
	struct mor_check_session s;
	int r = mor_check_session_open(run, &s, err);

	if (r < 0)
		return r;
	mor_check_end_input(&s);
	mor_check_wait_exit(&s, run->opt->answer_ms ? run->opt->answer_ms : HOST_MS);
	if (s.exec_failed)
		r = mor_fail(err, MORTISE_EEXEC, "%s", s.failure);
	if (s.ended && !s.how.how.by_signal)
		heard->status = s.how.how.status;
	snprintf(heard->text, sizeof(heard->text), "the host %s%s%.120s", s.ended ? s.how.text : "did not end",
		 *mor_proc_last_stderr(s.proc) ? ": " : "", mor_proc_last_stderr(s.proc));
	run->lingers = true;
	mor_check_session_close(&s);
	return r;
}

static int play_scene(struct mor_check_run *run, const char *scene, struct mor_check_heard *heard,
		      mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/%s", run->scratch.path, record_of(run));
	int r = path ? put_scene(run, scene) : MORTISE_ENOMEM, watch;
	char events[1024];

	*heard = (struct mor_check_heard){ .dialect = run->dialect, .status = -1 };
	if (r < 0)
		return mor_fail(err, r, "the played plugin cannot be made");
	watch = watch_start(run);
	r = run_host(run, heard, err);
	heard->started = watch >= 0 && read(watch, events, sizeof(events)) > 0;
	mor_fd_close(&watch);
	read_record(path, heard);
	return r;
}

/* ---- rows ---- */

static void judge_row(const struct mor_check_host_row *row, const struct mor_check_heard *heard,
		      struct mor_check_result *result)
{
	if (!heard->started || (!heard->recorded && !row->blind)) {
		result->why = mor_text_format(heard->started ? "the plugin could not write what it heard: %s" :
							       "the host did not start the plugin: %s",
					      heard->text);
		return;
	}
	if (row->judge(heard, row->arg)) {
		result->verdict = MOR_CHECK_PASS;
		return;
	}
	result->verdict = result->level == MOR_CHECK_MUST ? MOR_CHECK_FAIL : MOR_CHECK_WARN;
	result->why = mor_text_format("%s (%s)", row->wrong, heard->text);
	result->talk = mor_strdup(heard->talk);
}

static const struct mor_check_host_row *host_row_of(const struct mor_check_run *run,
						    const struct mor_check_result *result)
{
	const char *name = strstr(result->id, ".host.") + strlen(".host.");

	for (const struct mor_check_host_row *const *table = mor_check_host_tables; *table; table++)
		for (const struct mor_check_host_row *row = *table; row->name; row++)
			if (strcmp(row->name, name) == 0 && (row->must | row->should) & run->tongue->dialect)
				return row;
	return NULL;
}

static void judge_scene(struct mor_check_run *run, const char *scene, const struct mor_check_heard *heard)
{
	for (size_t i = 0; i < run->report->count; i++) {
		const struct mor_check_host_row *row = host_row_of(run, &run->report->item[i]);

		if (strcmp(row->scene, scene) == 0)
			judge_row(row, heard, &run->report->item[i]);
	}
}

static bool is_played(struct mor_check_run *run, size_t until, const char *scene)
{
	for (size_t i = 0; i < until; i++)
		if (strcmp(host_row_of(run, &run->report->item[i])->scene, scene) == 0)
			return true;
	return false;
}

/* The host runs once for each scene. */
static int run_scenes(struct mor_check_run *run, mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < run->report->count; i++) {
		const char *scene = host_row_of(run, &run->report->item[i])->scene;
		struct mor_check_heard heard = { 0 };

		if (is_played(run, i, scene))
			continue;
		if (mor_signals_count())
			return mor_fail(err, MORTISE_ECANCELED, "interrupted");
		r = play_scene(run, scene, &heard, err);
		if (r == 0)
			judge_scene(run, scene, &heard);
		heard_fini(&heard);
	}
	return r;
}

int mor_check_host(const struct mor_check_options *opt, struct mor_check_report *report, mortise_error *err)
{
	struct mor_check_run run = { .opt = opt,
				     .report = report,
				     .answer_ms = HOST_MS,
				     .deadline = mor_clock_ms() + (opt->total_ms ? opt->total_ms : 300000),
				     .scratch = MOR_SCRATCH_INIT };
	int r = mor_dialect_require(opt->dialect, &run.dialect, err);

	if (r < 0 || (r = mor_check_list(opt->dialect, true, report, err)) < 0 ||
	    (r = mor_check_keep_only(report, opt->only, err)) < 0)
		return r;
	if (!report->count)
		return mor_fail(err, MORTISE_EUNSUPPORTED, "there are no checks of hosts for the dialect %s",
				opt->dialect);
	run.tongue = mor_check_tongue(opt->dialect);
	report->dialect = run.dialect->name;
	report->strict = opt->strict;
	report->host = true;
	r = mor_check_setup(&run, err);
	if (r == 0)
		r = put_words(&run, err);
	if (r == 0 && put_plugin(&run) < 0)
		r = mor_fail(err, MORTISE_ESYSTEM, "the played plugin cannot be made in %s", run.scratch.path);
	if (r == 0)
		r = run_scenes(&run, err);
	mor_check_setup_fini(&run);
	mor_check_count(report);
	return r;
}
