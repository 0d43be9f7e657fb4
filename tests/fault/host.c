/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"

#define GUARD_S   600
#define BIG_BYTES (3 << 20) /* more than the pipe will hold, which grows for a large message */
#define UNIT      "{\"inputs\":[],\"output\":\"/dev/null\"}"

uint32_t short_ms = SHORT_MS;

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
		settle(job, reply->status,
		       reply->status == 0 && reply->result.text &&
			       memmem(reply->result.text, reply->result.len, "done", 4),
		       reply->error ? reply->error->text : "");
}

static void hand_out(struct rig *rig)
{
	mortise_request *request = rig->asked;

	if (!request || !rig->job || rig->job->finals)
		return;
	rig->asked = NULL;
	/* Nobody can say whether the analyzer has heard anything: it is sent home, and the end of it is the
	 * end of the job. */
	if (mortise_request_reply(request, (mortise_json){ UNIT, strlen(UNIT) }, NULL) < 0)
		mortise_plugin_stop(rig->plugin, MORTISE_STOP_NOW, NULL);
}

static struct mor_buf usual_params, big_params;

static void make_params(const struct tongue *tongue, size_t pad, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf order = MOR_BUF_INIT;

	mor_buf_fini(out);
	mor_buf_text(&order, "{\"pad\":\"");
	for (size_t i = 0; i < pad; i++)
		mor_buf_byte(&order, 'x');
	mor_buf_text(&order, "\"}");
	/* A text, too: for command lines. */
	if (mor_buf_failed(&order) || tongue_params(tongue, mor_buf_view(&order), out) < 0 ||
	    mor_buf_byte(out, '\0') < 0)
		abort();
	out->len--;
}

void rig_prepare(const struct tongue *tongue)
{
	if (tongue->asks)
		return;
	make_params(tongue, 1, &usual_params);
	make_params(tongue, BIG_BYTES, &big_params);
}

mortise_json rig_params(void)
{
	return (mortise_json){ usual_params.data, usual_params.len };
}

static int call_start(struct rig *rig, struct job *job, uint32_t timeout_ms, mortise_error *err)
{
	mortise_call_options opt = {
		.size = sizeof(opt), .timeout_ms = timeout_ms, .on_reply = on_reply, .arg = job
	};
	mortise_json params = rig_params();

	if (rig->big) {
		params = (mortise_json){ big_params.data, big_params.len };
		opt.queue_ms = 3 * short_ms; /* greetings are given up before that: the work comes after them */
		rig->big = false;
	}
	return mortise_call_start(rig->plugin, rig->tongue->action, params, &opt, NULL, err);
}

int job_start(struct rig *rig, struct job *job, uint32_t timeout_ms)
{
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
		r = call_start(rig, job, timeout_ms, &err);
	}
	if (r < 0) {
		job->status = r;
		snprintf(job->text, sizeof(job->text), "%s", err.text);
	}
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
	bool down = event->state.now == MORTISE_STOPPED || event->state.now == MORTISE_BACKOFF ||
		    event->state.now == MORTISE_FAILED;

	rig->events[event->type]++;
	if (event->type == MORTISE_EVENT_STDERR && strcmp(event->text, "fault: now") == 0) {
		rig->committed = true;
		if (rig->opt.on_commit)
			rig->opt.on_commit(rig);
	}
	if (event->type == MORTISE_EVENT_STDERR && strcmp(event->text, "fault: escaped") == 0)
		rig->escaped = true;
	if (event->type == MORTISE_EVENT_STATE && down) {
		rig->deaths++;
		lose_unit(rig, event->text);
	}
	if (event->type == MORTISE_EVENT_NOTE && rig->job && !rig->job->finals &&
	    strcmp(event->note.method, "done") == 0) {
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
		mortise_request_fail(request, -32601, "not here", (mortise_json){ 0 }, NULL);
	}
}

/* ---- the rig ---- */

struct settings {
	const char *set[32];
	size_t count;
	char framing[48], workspace[FILE_ROOM], ladder[3][32];
};

static void add(struct settings *to, const char *const *more)
{
	while (more && *more && to->count < sizeof(to->set) / sizeof(to->set[0]) - 1)
		to->set[to->count++] = *more++;
}

#define ADD(to, ...) add(to, (const char *const[]){ __VA_ARGS__, NULL })

static void add_all(struct settings *to, const struct rig *rig)
{
	static const char *const steps[] = { "bye", "term", "kill" };

	ADD(to, "restart.first=10ms", "restart.cap=20ms", "restart.intensity=30", "limits.frame=64KiB");
	for (int i = 0; i < 3; i++) {
		snprintf(to->ladder[i], sizeof(to->ladder[i]), "stop.%s=%ums", steps[i], short_ms);
		ADD(to, to->ladder[i]);
	}
	if (!rig->tongue->one_shot) /* that has one process for each */
		ADD(to, "limits.in_flight=1");
	if (strcmp(rig->tongue->dialect, "plain") == 0) {
		snprintf(to->framing, sizeof(to->framing), "plugin.framing=%s",
			 mor_framing_name(rig->tongue->framing));
		ADD(to, to->framing);
	}
	if (rig->opt.confined) {
		snprintf(to->workspace, sizeof(to->workspace), "sandbox.workspace=%s", rig->dir);
		ADD(to, "sandbox.level=t0", "sandbox.on_denial=kill", "sandbox.workspace_write=true",
		    to->workspace);
	} else if (rig->tongue->one_shot) {
		ADD(to, "sandbox.level=guarded");
	}
	if (rig->opt.big)
		ADD(to, "limits.frame=16MiB");
	add(to, rig->opt.set);
}

void rig_sweep(const char *dir)
{
	static const char *const names[] = { MARK_FILE, MARK_FILE "2", PROGRAM_FILE, ALOUD_FILE };
	char path[FILE_ROOM];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

static int make_host(struct rig *rig, mortise_error *err)
{
	mortise_host_options opt = { .size = sizeof(opt), .jail_helper = rig->opt.helper };

	if (getenv("NO_SPIN"))
		opt.flags |= MORTISE_NO_SPIN;

	if (rig->opt.beside) {
		rig->host = rig->opt.beside->host;
		return 0;
	}
	rig_sweep(rig->dir); /* of somebody who had our number and was killed */
	mkdir(rig->dir, 0700);
	return mortise_host_new(&opt, &rig->host, err);
}

int rig_open(struct rig *rig, const struct tongue *tongue, const struct rig_options *options,
	     mortise_error *err)
{
	struct settings settings = { 0 };
	char own[FILE_ROOM];
	const char *argv[] = { FAULT_PLUGIN, tongue->name, options->fault, phase_names[options->phase],
			       rig->mark,    NULL };
	mortise_plugin_options opt = { .size = sizeof(opt),
				       .argv = argv,
				       .name = "fault",
				       .dialect = tongue->dialect,
				       .set = settings.set,
				       .on_event = on_event,
				       .on_request = on_request,
				       .arg = rig };
	int r;

	*rig = (struct rig){ .tongue = tongue, .opt = *options };
	fault_dir(rig->dir, (int)getpid());
	snprintf(rig->mark, sizeof(rig->mark), "%s/" MARK_FILE "%s", rig->dir, options->beside ? "2" : "");
	if (options->own_program) {
		snprintf(own, sizeof(own), "%s/" PROGRAM_FILE, rig->dir);
		argv[0] = own;
	}
	add_all(&settings, rig);
	r = make_host(rig, err);
	return r < 0 ? r : mortise_plugin_new(rig->host, &opt, &rig->plugin, err);
}

void rig_close(struct rig *rig)
{
	mortise_plugin_unref(rig->plugin);
	rig->plugin = NULL;
	if (!rig->opt.beside) {
		mortise_host_free(rig->host);
		rig_sweep(rig->dir);
	}
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

/* The guard only turns a hang into a failure with a name. */
#define TURN_WHILE(rig, goes_on) \
	for (int64_t guard_end = now_s() + GUARD_S; (goes_on) && now_s() < guard_end;) \
	rig_turn(rig)

bool rig_until(struct rig *rig, const bool *value)
{
	TURN_WHILE(rig, !*value);
	return *value;
}

bool rig_until_done(struct job *job)
{
	TURN_WHILE(job->rig, !job->finals);
	return job->finals > 0;
}

bool rig_until_state(struct rig *rig, enum mortise_state state)
{
	TURN_WHILE(rig, mortise_plugin_state(rig->plugin) != (int)state);
	return mortise_plugin_state(rig->plugin) == (int)state;
}

bool rig_until_death(struct rig *rig)
{
	TURN_WHILE(rig, !rig->deaths);
	return rig->deaths > 0;
}

void wait_until_gone(const char *mark)
{
	int fd = open(mark, O_RDONLY | O_CLOEXEC);

	alarm(GUARD_S);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	alarm(0);
	close(fd);
}

bool is_gone(const char *mark)
{
	int fd = open(mark, O_RDONLY | O_CLOEXEC);
	bool gone = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0;

	if (fd >= 0)
		close(fd);
	return gone;
}
