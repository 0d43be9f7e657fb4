/* SPDX-License-Identifier: Apache-2.0 */
/* mortise_doctor(): finds facts, judges them by the table, and tries each level with a program that
 * does nothing. */
#include "guard/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/jail_run.h"
#include "proc/proc.h"
#include "program/helper.h"
#include "wire/json.h"

#define VERSION_MS 5000

/* ---- programs ---- */

static int spawn_version(const char *program, int out, pid_t *ret)
{
	char *argv[] = { (char *)(uintptr_t)program, (char *)(uintptr_t) "--version", NULL };
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return r;
	r = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&actions, out, 1);
	if (!r)
		r = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (!r)
		r = posix_spawn(ret, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* Waits for its end or the time limit. false: the time is over. */
static bool read_answer(int fd, char *out, size_t size)
{
	int64_t until = mor_clock_ms() + VERSION_MS;
	size_t len = 0;

	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		int64_t left = until - mor_clock_ms();
		ssize_t n;

		out[len] = '\0';
		if (left <= 0 || len + 1 == size)
			return left > 0;
		if (poll(&poll_fd, 1, (int)left) <= 0)
			continue;
		n = read(fd, out + len, size - 1 - len);
		if (n == 0)
			return true;
		if (n > 0)
			len += (size_t)n;
		else if (errno != EINTR)
			return false;
	}
}

bool mor_doctor_version(const char *program, char *out, size_t size)
{
	int fds[2];
	pid_t pid = -1;
	bool answered;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	if (spawn_version(program, fds[1], &pid) != 0)
		pid = -1;
	mor_fd_close(&fds[1]);
	answered = pid > 0 && read_answer(fds[0], out, size);
	mor_fd_close(&fds[0]);
	if (pid > 0) {
		if (!answered)
			kill(pid, SIGKILL); /* not reaped yet, so the number is still its own */
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (answered)
		out[strcspn(out, "\n")] = '\0';
	return answered && *out;
}

/* "/usr/bin/python3 (Python 3.11.2)". */
static void find_program(const char *name, char out[80])
{
	const char *const argv[] = { name, NULL };
	struct mor_command command = { .argv = argv };
	char **resolved = NULL, version[40], text[40];

	out[0] = '\0';
	if (mor_program_resolve(&command, &resolved, NULL) < 0)
		return;
	if (mor_doctor_version(resolved[0], version, sizeof(version)))
		snprintf(out, 80, "%.36s (%s)", resolved[0],
			 mor_printable(mor_slice_of(version), text, sizeof(text)));
	mor_program_argv_free(resolved);
}

/* ---- levels ---- */

/* Really tried, not derived from the facts. */
static bool try_level(const char *level, char rung[12], mortise_error *err)
{
	static const char *const argv[] = { "/bin/true", NULL };
	char pair[32];
	const char *const policy[] = { pair, NULL };
	mortise_jail_options opt = { .size = sizeof(opt), .argv = argv, .policy = policy };
	mortise_jail_result *result = NULL;
	int r;

	snprintf(pair, sizeof(pair), "level=%s", level);
	r = mor_jail_run(&opt, NULL, &result, err);
	if (r == 0) {
		snprintf(rung, 12, "%s", result->rung);
		if (result->exit_code != 0)
			r = mor_fail(err, MORTISE_EJAIL, "/bin/true ended with status %d at this level",
				     result->exit_code);
	}
	mortise_free(result);
	return r == 0;
}

/* ---- facts ---- */

static void find_kernel(struct mor_doctor_facts *f)
{
	struct utsname name;

	if (uname(&name) < 0)
		return;
	snprintf(f->kernel, sizeof(f->kernel), "%.79s", name.release);
	if (sscanf(name.release, "%d.%d", &f->kernel_major, &f->kernel_minor) != 2)
		f->kernel_major = f->kernel_minor = 0;
}

void mor_doctor_find(struct mor_doctor_facts *f)
{
	struct rlimit files = { 0 };
	char fault[MOR_PROGRAM_FAULT]; /* try_level() reports it */

	*f = (struct mor_doctor_facts){ .helper = mor_helper_find(NULL, fault) };
	find_kernel(f);
	f->landlock = mor_probe_landlock(&f->landlock_errno);
	mor_probe_seccomp(&f->seccomp);
	mor_probe_namespaces(&f->ns);
	f->getfd = mor_probe_getfd();
	mor_probe_container("", f->container);
	mor_cgroup_find_own(&f->groups);
	f->pipe_max = mor_probe_sysctl("/proc/sys/fs/pipe-max-size");
	f->pipe_pages_soft = mor_probe_sysctl("/proc/sys/fs/pipe-user-pages-soft");
	f->userns_clone = mor_probe_sysctl("/proc/sys/kernel/unprivileged_userns_clone");
	f->userns_max = mor_probe_sysctl("/proc/sys/user/max_user_namespaces");
	f->userns_apparmor = mor_probe_sysctl("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	getrlimit(RLIMIT_NOFILE, &files);
	f->files_soft = files.rlim_cur;
	f->files_hard = files.rlim_max;
	find_program("/usr/bin/python3", f->python);
	find_program("node", f->node);
	try_level("guarded", f->rung, &f->helper_error);
}

/* ---- the object ---- */

static const char *write_levels(struct mor_writer *w, const struct mor_doctor_facts *facts)
{
	static const char *const levels[] = { "guarded", "t0", "t1" };
	const char *best = NULL;

	mor_w_pair_array(w, "levels");
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		mortise_error err = facts->helper_error;
		char rung[12] = "";
		bool works = i == 0 ? err.code == 0 : try_level(levels[i], rung, &err);

		mor_w_object(w);
		mor_w_pair(w, "level", levels[i]);
		mor_w_pair_bool(w, "available", works);
		mor_w_pair(w, "why", works ? NULL : err.text);
		mor_w_pair(w, "rung", !works ? NULL : i == 0 ? facts->rung : rung);
		mor_w_end(w);
		if (works && i > 0)
			best = levels[i];
	}
	mor_w_end(w);
	return best;
}

static void write_check(struct mor_writer *w, const struct mor_doctor_check *check,
			const struct mor_doctor_facts *facts)
{
	static const char *const states[] = { "ok", "limited", "missing" };
	const char *remedy = check->remedy;
	char found[160] = "";
	enum mor_doctor_finding finding = check->judge(facts, found, &remedy);

	mor_w_object(w);
	mor_w_pair(w, "name", check->name);
	mor_w_pair(w, "title", check->title);
	mor_w_pair(w, "state", states[finding]);
	mor_w_pair(w, "found", found);
	mor_w_pair(w, "promise", check->promise);
	mor_w_pair(w, "without", check->without);
	mor_w_pair(w, "change", finding == MOR_FOUND_OK ? NULL : remedy);
	mor_w_end(w);
}

static void write_landlock(struct mor_writer *w, int abi)
{
	mor_w_pair_array(w, "landlock");
	for (const struct mor_landlock_abi *row = mor_landlock_abis; row->abi; row++) {
		mor_w_object(w);
		mor_w_pair_int(w, "abi", row->abi);
		mor_w_pair(w, "since", row->kernel);
		mor_w_pair_bool(w, "present", row->abi <= abi);
		mor_w_pair(w, "adds", row->adds);
		mor_w_pair(w, "otherwise", row->otherwise);
		mor_w_end(w);
	}
	mor_w_end(w);
}

/* Every rule should be enforced by two layers; these are not. */
static void write_single(struct mor_writer *w, const struct mor_doctor_facts *f, bool t1)
{
	char text[240];

	mor_w_pair_array(w, "one_layer_only");
	for (const struct mor_landlock_abi *row = mor_landlock_abis; row->abi; row++) {
		if (row->abi <= f->landlock || row->abi > 6)
			continue;
		snprintf(text, sizeof(text), "%s: %s", row->adds, row->otherwise);
		mor_w_string(w, text);
	}
	if (!t1) {
		mor_w_string(w, "modes and dates of files that can be read: the broker");
		mor_w_string(w, "protected paths in a writable workspace: the broker");
	}
	mor_w_end(w);
}

int mortise_doctor(char **ret_json, mortise_error *err)
{
	struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };
	struct mor_doctor_facts facts;
	char place[MOR_DOCTOR_PLACE];
	const char *best;
	char *json;
	bool t1;

	if (!ret_json)
		return mor_fail(err, MORTISE_EINVAL, "a place for the text must be given");
	mor_doctor_find(&facts);
	mor_w_object(&w);
	mor_w_pair(&w, "version", MORTISE_VERSION);
	mor_w_pair(&w, "kernel", facts.kernel);
	best = write_levels(&w, &facts);
	mor_w_pair(&w, "auto", best);
	t1 = best && strcmp(best, "t1") == 0;
	mor_doctor_place(&facts, t1, place);
	mor_w_pair(&w, "container", *facts.container ? facts.container : NULL);
	mor_w_pair(&w, "place", *place ? place : NULL);
	mor_w_pair_array(&w, "checks");
	for (const struct mor_doctor_check *check = mor_doctor_checks; check->name; check++)
		write_check(&w, check, &facts);
	mor_w_end(&w);
	write_landlock(&w, facts.landlock);
	write_single(&w, &facts, t1);
	mor_w_end(&w);
	json = mor_buf_failed(&out) ? NULL : mor_buf_detach(&out);
	mor_buf_fini(&out);
	if (!json)
		return mor_fail_memory(err);
	*ret_json = json;
	return 0;
}
