/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the view share: stages, the plugin, orders and their answers; and main(). See view.h. */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mortise/jail.h>

char top[64];
const char *level;

bool confined(void)
{
	return strcmp(level, "t1") == 0;
}

/* ---- stages ---- */

char *path_of(const char *format, ...)
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
void put(const char *stage, const char *name, const char *text)
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

void open_eye(struct rig *rig, const char *const *set)
{
	const char *argv[] = { "/usr/bin/python3", EYE_PLUGIN, NULL };
	mortise_plugin_options opt = {
		.size = sizeof(opt),
		.argv = argv,
		.name = "eye",
		.dialect = "plain",
		.set = set,
		.on_event = rig_event,
		.arg = rig,
	};

	rig_open(rig);
	rig->plugin = rig_plugin(rig, &opt);
}

void open_here(struct rig *rig)
{
	open_eye(rig, SET("sandbox.view=true", path_of("sandbox.level=%s", level)));
	ask_expect(rig, "ping", NULL, "\"pong\"");
}

void expect(struct rig *rig, const char *action, const char *path, const char *want)
{
	ask_expect(rig, action, path_of("{\"path\":\"%s\"}", path), path_of("\"%s\"", want));
}

int answers;

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

static bool listed; /* orders name the directories of their stages */
static char *directories[1024];
static size_t directory_count, stage_len;
size_t more_directories;

static int list_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	if ((type == FTW_D || type == FTW_DNR) && at->level > 0 &&
	    directory_count < sizeof(directories) / sizeof(*directories) - 1)
		directories[directory_count++] = strdup(path + stage_len + 1);
	return 0;
}

static const char *const *list_directories(const char *stage)
{
	while (directory_count)
		free(directories[--directory_count]);
	memset(directories, 0, sizeof(directories));
	if (!listed || !stage)
		return NULL;
	stage_len = strlen(stage);
	nftw(stage, list_one, 16, FTW_PHYS);
	for (size_t i = 0; i < more_directories; i++)
		assert_true(asprintf(&directories[directory_count++], "no/such/directory/%zu", i) > 0);
	return (const char *const *)directories;
}

void order(struct rig *rig, const char *stage, const char *const *writable, struct answer *answer)
{
	mortise_view view = { .size = sizeof(view),
			      .stage = stage,
			      .writable = writable,
			      .directories = list_directories(stage) };
	mortise_error err = { 0 };
	int r;

	*answer = (struct answer){ 0 };
	r = mortise_plugin_set_view(rig->plugin, stage ? &view : NULL, on_view, answer, &err);
	if (r < 0)
		fail_msg("mortise_plugin_set_view: %s", err.text);
	assert_int_equal(answer->count, 0);
}

/* The stage by its name below our own directory, or whole; NULL: none. */
struct answer try_view(struct rig *rig, const char *stage, const char *const *writable)
{
	struct answer answer;

	order(rig, stage && stage[0] != '/' ? path_of("%s/%s", top, stage) : stage, writable, &answer);
	rig_until(rig, &answer.count, 1, "the view");
	assert_int_equal(answer.count, 1);
	return answer;
}

void view(struct rig *rig, const char *stage)
{
	struct answer answer = try_view(rig, stage, NULL);

	if (answer.status)
		fail_msg("%s: %s", stage ? stage : "no view", answer.error.text);
}

/* ---- where it runs ---- */

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) >= 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/* Ourselves in namespaces of our own; false: the machine refuses. */
static bool move_out(int namespaces)
{
	unsigned uid = geteuid(), gid = getegid();

	return unshare(namespaces) == 0 && write_text("/proc/self/setgroups", "deny") &&
	       write_text("/proc/self/uid_map", path_of("0 %u 1", uid)) &&
	       write_text("/proc/self/gid_map", path_of("0 %u 1", gid));
}

static bool prepare(const char *world)
{
	listed = strcmp(world, "listed") == 0;
	if (strcmp(world, "nobody") == 0)
		return geteuid() == 0 && setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0 &&
		       prctl(PR_SET_DUMPABLE, 1) == 0;
	if (strcmp(world, "mounts") == 0)
		return move_out(CLONE_NEWUSER | CLONE_NEWNS);
	if (strcmp(world, "refused") == 0)
		return move_out(CLONE_NEWUSER) && write_text("/proc/sys/user/max_mnt_namespaces", "0");
	return true;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static bool t1_works(void)
{
	char *json = NULL;
	bool works = mortise_doctor(&json, NULL) == 0 && strstr(json, "\"level\":\"t1\",\"available\":true");

	mortise_free(json);
	return works;
}

/* Tried by a child, which ends with them. */
static bool namespaces_work(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool possible(const char *world)
{
	return prepare(world) && access(EYE_PLUGIN, R_OK) == 0 &&
	       (strcmp(world, "refused") == 0 || (confined() ? t1_works() : namespaces_work()));
}

int main(int argc, char **argv)
{
	const char *world = argc > 2 ? argv[2] : "";
	int r;

	level = argc > 1 ? argv[1] : "guarded";
	if (!possible(world)) {
		printf("1..0 # SKIP %s %s: this machine or user cannot\n", level, world);
		return 0;
	}
	/* the next run removes what is left */
	snprintf(top, sizeof(top), "/var/tmp/mt-%d-XXXXXX", (int)getpid());
	if (!mkdtemp(top) || chmod(top, 0755) < 0 || setenv("HOME", top, 1) < 0)
		return 1;
	r = run_in(world);
	umount2(path_of("%s/mnt", top), MNT_DETACH);
	nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return r;
}
