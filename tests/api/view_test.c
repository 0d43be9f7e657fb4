/*
 * mortise_plugin_set_view(), as an embedder calls it and as the plugin (tests/plugins/eye.py) sees it: guarded and, where
 * the machine has it, confined (t1). With --nobody as the first argument all of it as an ordinary user; with --small ...
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api.h"

static char top[64];     /* all that we make lies below */
static const char *level;

/* ---- stages ---- */

static char *path_of(const char *format, ...)
{
	static char paths[8][8192];
	static unsigned next;
	char *path = paths[next++ % 8];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(paths[0]), format, args);
	va_end(args);
	return path;
}

static void make_parents(const char *path)
{
	char part[8192];

	for (const char *at = path + 1; (at = strchr(at, '/')); at++) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		if (mkdir(part, 0755) < 0)
			assert_int_equal(errno, EEXIST);
	}
}

/* STAGE is a name below our own directory. */
static void put(const char *stage, const char *name, const char *text)
{
	char *path = path_of("%s/%s/%s", top, stage, name);
	FILE *file;

	make_parents(path);
	file = fopen(path, "we");
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	fputs(text, file);
	fclose(file);
}

/* ---- the plugin ---- */

static void open_eye(struct rig *rig, const char *const *set)
{
	const char *argv[] = { "/usr/bin/python3", EYE_PLUGIN, NULL };
	mortise_plugin_options opt = {
		.size = sizeof(opt), .argv = argv, .name = "eye", .dialect = "plain", .set = set, .on_event = rig_event, .arg = rig,
	};

	rig_open(rig);
	rig->plugin = rig_plugin(rig, &opt);
}

static void open_here(struct rig *rig)
{
	open_eye(rig, SET("sandbox.view=true", path_of("sandbox.level=%s", level)));
	ask_expect(rig, "ping", NULL, "\"pong\"");
}

static void expect(struct rig *rig, const char *action, const char *path, const char *want)
{
	ask_expect(rig, action, path_of("{\"path\":\"%s\"}", path), path_of("\"%s\"", want));
}

struct answer {
	int count, status, order;
	mortise_error error;
};
static int answers;

static void on_view(mortise_plugin *plugin, int status, const mortise_error *error, void *arg)
{
	struct answer *answer = arg;

	assert_non_null(plugin);
	assert_true((status == MORTISE_OK) == (error == NULL));
	answer->count++;
	answer->status = status;
	answer->order = answers++;
	if (error)
		answer->error = *error;
}

static void order(struct rig *rig, const char *stage, const char *const *writable, struct answer *answer)
{
	mortise_view view = { .size = sizeof(view), .stage = stage, .writable = writable };
	mortise_error err = { 0 };
	int r;

	*answer = (struct answer){ 0 };
	r = mortise_plugin_set_view(rig->plugin, stage ? &view : NULL, on_view, answer, &err);
	if (r < 0)
		fail_msg("mortise_plugin_set_view: %s", err.text);
	assert_int_equal(answer->count, 0);
}

/* The stage by its name below our own directory, or whole; NULL: none. */
static struct answer try_view(struct rig *rig, const char *stage, const char *const *writable)
{
	struct answer answer;

	order(rig, stage && stage[0] != '/' ? path_of("%s/%s", top, stage) : stage, writable, &answer);
	rig_until(rig, &answer.count, 1, "the view");
	assert_int_equal(answer.count, 1);
	return answer;
}

static void view(struct rig *rig, const char *stage)
{
	struct answer answer = try_view(rig, stage, NULL);

	if (answer.status)
		fail_msg("%s: %s", stage ? stage : "no view", answer.error.text);
}

/* ---- what is seen ---- */

static void shows_exact_paths_and_new_bytes_in_the_next_view(void **state)
{
	struct rig rig;

	(void)state;
	put("a", "usr/include/mor_view/x.h", "first");
	put("a", "zz_mortise/only/here.c", "here");
	put("b", "usr/include/mor_view/x.h", "second");
	open_here(&rig);
	expect(&rig, "read", "/usr/include/mor_view/x.h", "errno ENOENT");
	view(&rig, "a");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	expect(&rig, "read", "/zz_mortise/only/here.c", "here");
	expect(&rig, "hold", "/usr/include/mor_view/x.h", "held");
	expect(&rig, "chdir", "/zz_mortise/only", "/zz_mortise/only");
	expect(&rig, "read", "here.c", "here");
	expect(&rig, "read", "../../usr/include/mor_view/x.h", "first");
	view(&rig, "b");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "second");
	expect(&rig, "read", "/zz_mortise/only/here.c", "errno ENOENT");
	expect(&rig, "list", "/zz_mortise", "errno ENOENT");
	ask_expect(&rig, "reread", NULL, "\"first\""); /* open descriptors go on working */
	view(&rig, NULL);
	expect(&rig, "read", "/usr/include/mor_view/x.h", "errno ENOENT");
	view(&rig, "a");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "first");
	rig_close(&rig);
}

static const struct CMUnitTest tests[] = {
	API_TEST(shows_exact_paths_and_new_bytes_in_the_next_view),
};

int main(int argc, char **argv)
{
	level = argc > 1 ? argv[1] : "guarded";
	if (argc > 2 && geteuid() == 0) {
		if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
			return 1;
	}
	snprintf(top, sizeof(top), "/var/tmp/mortise-view-XXXXXX");
	if (!mkdtemp(top) || chmod(top, 0755) < 0)
		return 1;
	return mor_run_group("api/view", tests);
}
