/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GUARD_S 60 /* only turns a hang into a failure with a name */
#define UNIT "{\"inputs\":[],\"output\":\"/dev/null\"}"

/* ---- jobs ---- */

static void settle(struct job *job, int status, bool right, const char *text)
{
	job->finals++;
	job->status = status;
	job->right = right;
	snprintf(job->text, sizeof(job->text), "%s", text);
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct job *job = arg;

	if (!reply->more)
		settle(job, reply->status, reply->status == 0 && reply->result.text && memmem(reply->result.text, reply->result.len, "done", 4),
		       reply->error ? reply->error->text : "");
}

static void hand_out(struct rig *rig)
{
	mortise_request *request = rig->asked;

	if (!request || !rig->job || rig->job->finals)
		return;
	rig->asked = NULL;
	/* Nobody can say whether the analyzer has heard anything: it is sent home, and the end of it is the end of the job. */
	if (mortise_request_reply(request, (mortise_json){ UNIT, strlen(UNIT) }) < 0)
		mortise_plugin_stop(rig->plugin, MORTISE_STOP_NOW);
}

int job_start(struct rig *rig, struct job *job, uint32_t timeout_ms)
{
	mortise_call_options opt = { .size = sizeof(opt), .timeout_ms = timeout_ms, .on_reply = on_reply, .arg = job };
	mortise_error err = { 0 };
	int r;

	*job = (struct job){ .rig = rig };
	if (rig->tongue->asks) {
		rig->job = job;
		r = mortise_plugin_start(rig->plugin, &err);
		if (r == 0) {
			hand_out(rig);
		} else { /* refused: what the events told of it meanwhile is not its end */
			rig->job = NULL;
			job->finals = 0;
		}
	} else {
		r = mortise_call_start(rig->plugin, rig->tongue->action,
				       (mortise_json){ rig->tongue->params, strlen(rig->tongue->params) }, &opt, NULL, &err);
	}
	if (r < 0)
		snprintf(job->text, sizeof(job->text), "%s", err.text);
	return r;
}

/* ---- what comes ---- */

static void lose_unit(struct rig *rig, const char *why)
{
	struct job *job = rig->job;

	rig->asked = NULL; /* answering it would reach nobody; the host frees it */
	if (job && !job->finals) {
		rig->job = NULL;
		settle(job, MORTISE_ECRASHED, false, why);
	}
}

static void on_event(const mortise_event *event, void *arg)
{
	struct rig *rig = arg;
	bool down = event->state == MORTISE_STOPPED || event->state == MORTISE_BACKOFF || event->state == MORTISE_FAILED;

	rig->events[event->type]++;
	if (event->type == MORTISE_EVENT_STDERR && strcmp(event->text, "fault: now") == 0)
		rig->committed = true;
	if (event->type == MORTISE_EVENT_STATE && down) {
		rig->deaths++;
		lose_unit(rig, event->text);
	}
	if (event->type == MORTISE_EVENT_NOTE && rig->job && !rig->job->finals && strcmp(event->method, "done") == 0) {
		struct job *job = rig->job;

		rig->job = NULL;
		settle(job, 0, true, "");
	}
}

static void on_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct rig *rig = arg;

	(void)params;
	if (rig->tongue->asks && strcmp(method, "analyze") == 0) {
		rig->asked = request;
		hand_out(rig);
	} else {
		mortise_request_fail(request, -32601, "not here", (mortise_json){ 0 });
	}
}

/* ---- the rig ---- */

#define SETTINGS 24

static size_t add_common(const struct tongue *tongue, const char *set[SETTINGS])
{
	static const char *const all[] = { "restart.first=10ms", "restart.cap=20ms", "restart.intensity=30", "stop.bye=300ms",
					   "stop.term=400ms", "stop.kill=300ms", "limits.frame=64KiB", "limits.in_flight=1" };
	size_t n = 0;

	for (; n < sizeof(all) / sizeof(all[0]); n++)
		set[n] = all[n];
	if (tongue->one_shot)
		n--; /* it has one process for each */
	return n;
}

int rig_open(struct rig *rig, const struct tongue *tongue, const char *fault, enum phase phase, const char *const *more, mortise_error *err)
{
	const char *argv[] = { FAULT_PLUGIN, tongue->name, fault, phase_names[phase], rig->mark, NULL };
	const char *set[SETTINGS + 2] = { 0 };
	char framing[48];
	size_t n = add_common(tongue, set);
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = argv, .name = "fault", .dialect = tongue->dialect, .set = set,
				       .on_event = on_event, .on_request = on_request, .arg = rig };
	int r;

	*rig = (struct rig){ .tongue = tongue };
	snprintf(rig->mark, sizeof(rig->mark), "/tmp/mortise-fault-%d-%s", (int)getpid(), tongue->name);
	unlink(rig->mark);
	snprintf(framing, sizeof(framing), "plugin.framing=%s", mor_framing_name(tongue->framing));
	if (strcmp(tongue->dialect, "plain") == 0)
		set[n++] = framing;
	if (tongue->one_shot)
		set[n++] = "sandbox.level=guarded";
	for (; more && *more && n < SETTINGS; more++)
		set[n++] = *more;
	r = mortise_host_new(NULL, &rig->host, err);
	return r < 0 ? r : mortise_plugin_new(rig->host, &opt, &rig->plugin, err);
}

void rig_close(struct rig *rig)
{
	mortise_plugin_unref(rig->plugin);
	mortise_host_free(rig->host);
	unlink(rig->mark);
	rig->plugin = NULL;
	rig->host = NULL;
}

static int64_t now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

void rig_turn(struct rig *rig)
{
	mortise_host_wait(rig->host, 1000);
}

bool rig_until(struct rig *rig, const bool *value)
{
	int64_t end = now_s() + GUARD_S;

	while (!*value && now_s() < end)
		rig_turn(rig);
	return *value;
}

bool rig_until_done(struct job *job)
{
	int64_t end = now_s() + GUARD_S;

	while (!job->finals && now_s() < end)
		rig_turn(job->rig);
	return job->finals > 0;
}

bool rig_until_state(struct rig *rig, enum mortise_state state)
{
	int64_t end = now_s() + GUARD_S;

	while (mortise_plugin_state(rig->plugin) != (int)state && now_s() < end)
		rig_turn(rig);
	return mortise_plugin_state(rig->plugin) == (int)state;
}

bool rig_until_death(struct rig *rig)
{
	int64_t end = now_s() + GUARD_S;

	while (!rig->deaths && now_s() < end)
		rig_turn(rig);
	return rig->deaths > 0;
}

unsigned count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

bool is_gone(const char *mark)
{
	int fd = open(mark, O_RDONLY | O_CLOEXEC);
	bool gone = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;

	if (fd >= 0)
		close(fd);
	return gone;
}

bool has_children(void)
{
	siginfo_t info = { 0 };

	/* WNOWAIT: look, do not reap what is not ours to reap. */
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}
