/* SPDX-License-Identifier: Apache-2.0 */
#include "api.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

mortise_json json(const char *text)
{
	return (mortise_json){ text, text ? strlen(text) : 0 };
}

int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void diag(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("# ", stdout);
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
	va_end(args);
}

void assert_contains(const char *text, const char *part)
{
	assert_non_null(text);
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* Children of this thread only: every test starts its hosts there. */
static void kill_children(void)
{
	char path[64];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (file)
		fclose(file);
}

int api_teardown(void **state)
{
	int r = leak_teardown(state);

	if (r)
		kill_children();
	return r;
}

void leave_descriptors(int many)
{
	static struct rlimit before;
	struct rlimit limit;
	int next;

	if (many < 0) {
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
		return;
	}
	next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)(next + many);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* ---- the rig ---- */

static void keep_json(struct rig *rig, mortise_json json)
{
	snprintf(rig->note_params, sizeof(rig->note_params), "%.*s", (int)json.len, json.text ? json.text : "");
}

void rig_event(const mortise_event *event, void *arg)
{
	struct rig *rig = arg;
	int t = (int)event->type;

	assert_in_range(t, 0, MORTISE_EVENT_TYPES - 1);
	rig->events[t]++;
	snprintf(rig->last[t], sizeof(rig->last[t]), "%s", event->text);
	if (event->type == MORTISE_EVENT_STATE && rig->state_count < MAX_STATES) {
		rig->codes[rig->state_count] = event->state.status;
		rig->states[rig->state_count++] = event->state.now;
	}
	if (event->type == MORTISE_EVENT_NOISE)
		rig->noise_bytes += event->noise.skipped;
	if (event->type == MORTISE_EVENT_SESSION)
		rig->session = event->session;
	if (event->type == MORTISE_EVENT_NOTE) {
		snprintf(rig->note_method, sizeof(rig->note_method), "%s", event->note.method);
		keep_json(rig, event->note.params);
	}
	if (event->type == MORTISE_EVENT_VIOLATION)
		keep_json(rig, event->violation.record);
}

void rig_open(struct rig *rig)
{
	mortise_error err = { 0 };

	memset(rig, 0, sizeof(*rig));
	assert_int_equal(mortise_host_new(NULL, &rig->host, &err), 0);
	assert_non_null(rig->host);
}

mortise_plugin_options rig_options(struct rig *rig, const char *mode, const char *argv[3])
{
	argv[0] = BAD_PLUGIN;
	argv[1] = mode;
	argv[2] = NULL;
	return (mortise_plugin_options){
		.size = sizeof(mortise_plugin_options),
		.argv = argv,
		.name = mode,
		.dialect = "plain",
		.on_event = rig_event,
		.arg = rig,
	};
}

mortise_plugin *rig_plugin(struct rig *rig, const mortise_plugin_options *opt)
{
	mortise_plugin *plugin = NULL;
	mortise_error err = { 0 };
	int r = mortise_plugin_new(rig->host, opt, &plugin, &err);

	if (r < 0)
		fail_msg("mortise_plugin_new: %d %s", r, err.text);
	assert_non_null(plugin);
	return plugin;
}

void rig_open_bad(struct rig *rig, const char *mode, const char *const *set)
{
	const char *argv[3];
	mortise_plugin_options opt = rig_options(rig, mode, argv);

	rig_open(rig);
	opt.set = set;
	rig->plugin = rig_plugin(rig, &opt);
}

void rig_close(struct rig *rig)
{
	rig->plugin = mortise_plugin_unref(rig->plugin);
	rig->host = mortise_host_free(rig->host);
	assert_null(rig->plugin);
	assert_null(rig->host);
}

void rig_turn(struct rig *rig)
{
	int r = mortise_host_wait(rig->host, 1000);

	if (r < 0)
		fail_msg("mortise_host_wait: %d %s", r, mortise_status_text(r));
	rig->turn++;
}

void rig_until(struct rig *rig, const int *value, int want, const char *what)
{
	int64_t end = now_ns() + GUARD_S * INT64_C(1000000000);

	while (*value < want) {
		if (now_ns() > end)
			fail_msg("waited %d s in vain for %s (have %d, want %d)", GUARD_S, what, *value, want);
		rig_turn(rig);
	}
}

bool rig_saw_state(const struct rig *rig, enum mortise_state state)
{
	for (int i = 0; i < rig->state_count; i++)
		if (rig->states[i] == state)
			return true;
	return false;
}

void rig_until_state(struct rig *rig, enum mortise_state state)
{
	int64_t end = now_ns() + GUARD_S * INT64_C(1000000000);

	while (mortise_plugin_state(rig->plugin) != (int)state) {
		if (now_ns() > end)
			fail_msg("waited %d s in vain for state %s; it is %s", GUARD_S,
				 mortise_state_name((int)state),
				 mortise_state_name(mortise_plugin_state(rig->plugin)));
		rig_turn(rig);
	}
}

/* A few more turns than nothing: for "and no second callback comes". */
void rig_settle(struct rig *rig)
{
	for (int i = 0; i < 3; i++) {
		int r = mortise_host_wait(rig->host, 5);

		assert_true(r >= 0);
	}
}

/* ---- calls ---- */

static char *copy(mortise_json value)
{
	char *text;

	if (!value.text)
		return NULL;
	text = test_malloc(value.len + 1);
	memcpy(text, value.text, value.len);
	text[value.len] = '\0';
	return text;
}

void got_reply(const mortise_reply *reply, void *arg)
{
	struct got *got = arg;

	if (reply->more) {
		assert_int_equal(got->finals, 0);
		got->pieces++;
		return;
	}
	got->finals++;
	got->status = reply->status;
	got->turn = got->rig->turn;
	got->plugin = reply->plugin;
	got->call = reply->call;
	if (got->finals > 1)
		return;
	got->result = copy(reply->result);
	got->data = copy(reply->error_data);
	if (reply->status != MORTISE_OK) {
		assert_non_null(reply->error);
		assert_int_equal(reply->error->code, reply->status);
		got->error = *reply->error;
	}
}

mortise_call_options got_options(struct rig *rig, struct got *got, uint32_t timeout_ms)
{
	*got = (struct got){ .rig = rig };
	return (mortise_call_options){ .size = sizeof(mortise_call_options),
				       .timeout_ms = timeout_ms,
				       .on_reply = got_reply,
				       .arg = got };
}

void start(struct rig *rig, struct got *got, const char *action, const char *params, uint32_t timeout_ms)
{
	mortise_call_options opt = got_options(rig, got, timeout_ms);
	mortise_error err = { 0 };
	int r = mortise_call_start(rig->plugin, action, json(params), &opt, &got->call, &err);

	if (r < 0)
		fail_msg("mortise_call_start %s: %d %s", action, r, err.text);
	assert_int_equal(got->finals + got->pieces, 0); /* "never before this function has returned" */
	assert_non_null(got->call);
}

void until_done(struct got *got)
{
	rig_until(got->rig, &got->finals, 1, "the last callback of a call");
	assert_int_equal(got->finals, 1);
}

void got_clear(struct got *got)
{
	if (got->result)
		test_free(got->result);
	if (got->data)
		test_free(got->data);
	got->result = got->data = NULL;
}

char *ask(struct rig *rig, const char *action, const char *params)
{
	mortise_call_options opt = { .size = sizeof(opt), .timeout_ms = GUARD_S * 1000 };
	mortise_error err = { 0 };
	char *result = NULL;
	int r = mortise_call_sync(rig->plugin, action, json(params), &opt, &result, &err);

	if (r < 0)
		fail_msg("%s: %d %s", action, r, err.text);
	assert_non_null(result);
	return result;
}

void ask_expect(struct rig *rig, const char *action, const char *params, const char *want)
{
	char *result = ask(rig, action, params);

	assert_string_equal(result, want);
	mortise_free(result);
}

void assert_echoes(struct rig *rig)
{
	ask_expect(rig, "echo", "{\"still\":\"alive\"}", "{\"still\":\"alive\"}");
}

int ask_pid(struct rig *rig)
{
	char *text = ask(rig, "pid", NULL);
	int pid = (int)strtol(text, NULL, 10);

	mortise_free(text);
	assert_true(pid > 0);
	return pid;
}
