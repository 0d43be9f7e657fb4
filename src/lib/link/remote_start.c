/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a plugin that listens: its directory, its line or its socket, the connection, health, hello. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "link/remote.h"

#define AGAIN_FIRST_MS 2 /* between bind and listen, and where there is no inotify */
#define AGAIN_CAP_MS   50
#define EXIT_MS        100 /* a lost connection is usually the first sign of an exit, which says more */

/* ---- before the process ---- */

static int put_env(struct mor_remote *s, const char *name, const char *value)
{
	char *text;
	size_t len = strlen(name);

	for (char **entry = s->env; value && entry && *entry; entry++) {
		if (strncmp(*entry, name, len) != 0 || (*entry)[len] != '=')
			continue;
		text = mor_text_format("%s=%s", name, value);
		if (!text)
			return MORTISE_ENOMEM;
		mor_free(*entry);
		*entry = text;
		return 0;
	}
	return value ? mor_texts_push_take(&s->env, mor_text_format("%s=%s", name, value)) : 0;
}

static int build_env(struct mor_remote *s)
{
	const struct mor_remote_options *opt = s->opt->remote;
	int r = 0;

	for (const char *const *entry = s->opt->command->env; r == 0 && entry && *entry; entry++)
		r = mor_texts_push_take(&s->env, mor_strdup(*entry));
	if (r == 0)
		r = put_env(s, "MORTISE_GRPC_SOCKET", s->meet.socket);
	if (r == 0)
		r = put_env(s, "TMPDIR", s->meet.scratch.path);
	if (r == 0)
		r = put_env(s, "PLUGIN_PROTOCOL_VERSIONS", opt->versions ? opt->versions : "1");
	/* As HashiCorp's own host does; the socket is always a unix one, so the ports only have to be there. */
	if (r == 0 && s->service->described &&
	    (put_env(s, "PLUGIN_UNIX_SOCKET_DIR", s->meet.scratch.path) < 0 ||
	     put_env(s, "PLUGIN_MIN_PORT", "10000") < 0))
		r = MORTISE_ENOMEM;
	if (r == 0 && s->service->described)
		r = put_env(s, "PLUGIN_MAX_PORT", "25000");
	if (r == 0 && opt->cookie_key)
		r = put_env(s, opt->cookie_key, opt->cookie_value ? opt->cookie_value : "");
	return r;
}

int mor_remote_prepare(struct mor_remote *s, mortise_error *err)
{
	int r = mor_addon_load(&s->addon, err);

	if (r < 0)
		return r;
	s->service = s->addon->service_of(s->opt->remote->dialect);
	if (!s->service)
		return mor_fail(err, MORTISE_ETRANSPORT,
				"plugins of %s cannot speak gRPC: there is no service for it",
				s->opt->remote->dialect);
	r = s->service->described ? mor_remote_describe(s, err) : 0;
	if (r == 0)
		r = mor_meet_open(&s->meet, NULL, err);
	if (r < 0)
		return r;
	if (build_env(s) < 0 || mor_timer_reserve(s->link.loop, &s->limit) < 0 ||
	    mor_timer_reserve(s->link.loop, &s->again) < 0)
		return mor_fail_memory(err);
	s->command = *s->opt->command;
	s->command.env = (const char *const *)s->env;
	s->command.listen = s->meet.scratch.path;
	return 0;
}

/* ---- the end of waiting ---- */

void mor_remote_stop_waiting(struct mor_remote *s)
{
	mor_timer_stop(&s->limit);
	mor_timer_stop(&s->again);
	mor_watch_stop(&s->place);
	mor_fd_close(&s->place_fd);
}

void mor_remote_refuse(struct mor_remote *s, const mortise_error *err)
{
	if (s->dead || s->exited || s->phase >= MOR_REMOTE_OPEN)
		return;
	s->phase = MOR_REMOTE_REFUSED;
	s->fault = *err;
	mor_remote_stop_waiting(s);
	mor_remote_drop_calls(s);
	s->connection = s->addon->connection_free(s->connection);
	mor_proc_order(s->proc, MOR_ORDER_KILL);
}

/* What was it waiting for? */
static void on_limit(struct mor_timer *timer)
{
	struct mor_remote *s = mor_container_of(timer, struct mor_remote, limit);
	char time[32], why[400] = "";
	mortise_error err;

	if (s->phase == MOR_REMOTE_HEALTH || s->phase == MOR_REMOTE_HELLO) {
		mor_fail(&err, MORTISE_ETIMEOUT, "did not answer %s in %s (grpc.start sets the limit)",
			 s->phase == MOR_REMOTE_HEALTH ? MOR_SERVICE_HEALTH :
			 s->service->described         ? MOR_DESCRIBED_REFLECTION :
							 s->service->hello,
			 mor_format_ms(s->opt->remote->start_ms, time));
	} else {
		if (s->said.path[0])
			snprintf(why, sizeof(why), ": %.300s", s->fault.text);
		else if (s->heard[0])
			snprintf(why, sizeof(why), "; its first line on stdout was \"%s\"", s->heard);
		mor_fail(&err, MORTISE_ETIMEOUT,
			 "did not listen in %s%s: it must print 1|VERSION|unix|PATH|grpc on stdout, or listen "
			 "on the socket that MORTISE_GRPC_SOCKET names (grpc.start sets the limit)",
			 mor_format_ms(s->opt->remote->start_ms, time), why);
	}
	mor_remote_refuse(s, &err);
}

/* ---- health and hello ---- */

void mor_remote_open(struct mor_remote *s)
{
	mor_remote_stop_waiting(s);
	s->phase = MOR_REMOTE_OPEN;
	s->link.events->on_started(s->link.arg, mor_proc_pid(s->proc));
	if (!s->dead)
		mor_remote_leave_if_idle(s);
}

/* The connection's own end is told elsewhere. */
static bool is_lost(const mortise_error *err)
{
	return err && (err->code == MORTISE_ECLOSED || err->code == MORTISE_ESYSTEM);
}

static void refuse_answer(struct mor_remote *s, const char *what, const mortise_error *err)
{
	mortise_error why = *err;

	mor_fail_prefix(&why, what);
	mor_remote_refuse(s, &why);
}

static void on_hello(struct mor_remote *s, struct mor_slice result, unsigned status, const mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error why = { 0 };

	if (is_lost(err))
		return;
	/* One without it does not care who we are. */
	if (err && status != MOR_GRPC_UNIMPLEMENTED) {
		refuse_answer(s, s->service->hello, err);
		return;
	}
	if (!err &&
	    (mor_doc_parse(result, 0, 0, &doc, &why) < 0 || s->service->helloed(mor_doc_root(doc), &why) < 0)) {
		mor_remote_refuse(s, &why);
		return;
	}
	mor_remote_open(s);
}

static void say_hello(struct mor_remote *s)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	mortise_error err;

	s->phase = MOR_REMOTE_HELLO;
	if (s->service->described) {
		mor_remote_follow_stdio(s);
		mor_remote_reflect(s);
		return;
	}
	if (s->service->hello_params(s->command.env, &params) < 0) {
		mor_fail_memory(&err);
		mor_remote_refuse(s, &err);
	} else if (mor_remote_ask(s, s->service->hello, mor_buf_view(&params), on_hello, &err) < 0 &&
		   !is_lost(&err)) {
		mor_remote_refuse(s, &err);
	}
}

/* A plugin without the service, or one that does not know the name, is as good as healthy. */
static void on_health(void *arg, struct mor_slice message, unsigned status, const mortise_error *err)
{
	struct mor_remote *s = arg;
	mortise_error why;

	if (is_lost(err))
		return;
	if (err && status != MOR_GRPC_UNIMPLEMENTED && status != MOR_GRPC_NOT_FOUND) {
		refuse_answer(s, MOR_SERVICE_HEALTH, err);
	} else if (!err && !s->addon->is_serving(message)) {
		mor_fail(&why, MORTISE_ECLOSED, "says that it is not serving (" MOR_SERVICE_HEALTH ")");
		mor_remote_refuse(s, &why);
	} else {
		say_hello(s);
	}
}

static void ask_health(struct mor_remote *s)
{
	MOR_CLEAN(mor_buf) struct mor_buf message = MOR_BUF_INIT;
	struct mor_grpc_unary unary = { .method = MOR_SERVICE_HEALTH, .on_done = on_health, .arg = s };
	mortise_error err;
	int r = s->addon->ask_health(s->service->health, &message);

	s->phase = MOR_REMOTE_HEALTH;
	unary.message = mor_buf_view(&message);
	if (r < 0)
		mor_fail_memory(&err);
	else
		r = s->addon->unary(s->connection, &unary, NULL, &err);
	if (r < 0 && !is_lost(&err))
		mor_remote_refuse(s, &err);
}

/* ---- the connection ---- */

static void on_gone(struct mor_timer *timer)
{
	struct mor_remote *s = mor_container_of(timer, struct mor_remote, again);
	mortise_error err = s->fault;

	mor_remote_refuse(s, &err);
}

void mor_remote_lost(void *arg, const mortise_error *why)
{
	struct mor_remote *s = arg;

	s->fault = *why;
	s->ended = true;
	if (s->exited)
		mor_remote_end_if_over(s);
	else if (s->phase < MOR_REMOTE_OPEN)
		mor_timer_set(s->link.loop, &s->again, EXIT_MS, on_gone);
	else if (s->bye_sent)
		mor_remote_leave_if_idle(s);
	else if (why->code == MORTISE_ECLOSED || why->code == MORTISE_ESYSTEM)
		s->link.events->on_broken(s->link.arg, s->fault.text);
	else
		s->link.events->on_fault(s->link.arg, MOR_FAULT_CORRUPT, NULL, s->fault.text);
}

static void use_connection(struct mor_remote *s, int fd)
{
	struct mor_grpc_options options = { .message_limit = s->opt->frame_limit,
					    .queue_limit = s->opt->queue_limit,
					    .on_end = mor_remote_lost,
					    .arg = s };
	mortise_error err;
	int r = s->addon->connection_new(s->link.loop, fd, &options, &s->connection);

	mor_timer_stop(&s->again);
	mor_watch_stop(&s->place);
	mor_fd_close(&s->place_fd);
	if (r == 0) {
		ask_health(s);
		return;
	}
	mor_fail(&err, r, "%s", mortise_status_text(r));
	mor_remote_refuse(s, &err);
}

static void try_to_meet(struct mor_remote *s);

static void on_again(struct mor_timer *timer)
{
	try_to_meet(mor_container_of(timer, struct mor_remote, again));
}

/* The file of a socket is there before anybody listens on it. */
static void try_to_meet(struct mor_remote *s)
{
	const char *path = s->said.path[0] ? s->said.path : s->meet.socket;
	struct mor_meet_tree tree = { mor_proc_pid(s->proc), mor_proc_guardian(s->proc) };
	int fd, r;

	if (s->phase != MOR_REMOTE_WAITING)
		return;
	r = mor_meet_connect(&s->meet, path, &tree, &fd, &s->fault);
	if (r == 0) {
		use_connection(s, fd);
	} else if (r == MORTISE_ENOTFOUND && s->place_fd >= 0 && !s->said.path[0]) {
		return; /* inotify will tell */
	} else if (r == MORTISE_ENOTFOUND || r == MORTISE_ECLOSED || r == MORTISE_EOVERLOAD) {
		s->again_ms = s->again_ms * 2 < AGAIN_CAP_MS ? s->again_ms * 2 : AGAIN_CAP_MS;
		mor_timer_set(s->link.loop, &s->again, s->again_ms, on_again);
	} else {
		mortise_error err = s->fault;

		mor_remote_refuse(s, &err);
	}
}

/* What has changed does not matter: the look at it is the same. */
static void on_place(struct mor_watch *watch, unsigned events)
{
	struct mor_remote *s = mor_container_of(watch, struct mor_remote, place);
	char ignored[4096];

	(void)events;
	while (read(s->place_fd, ignored, sizeof(ignored)) > 0)
		;
	try_to_meet(s);
}

/* Without inotify (each user has a limited number) the timer looks. */
static void watch_place(struct mor_remote *s)
{
	s->place_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (s->place_fd >= 0 &&
	    (inotify_add_watch(s->place_fd, s->meet.scratch.path, IN_CREATE | IN_MOVED_TO) < 0 ||
	     mor_watch_start(s->link.loop, &s->place, s->place_fd, MOR_READABLE, on_place) < 0))
		mor_fd_close(&s->place_fd);
}

/* ---- its stdout ---- */

static bool is_version_known(const char *versions, uint32_t app)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", app);
	while (versions && *versions) {
		size_t len = strcspn(versions, ", ");

		if (len && mor_slice_is((struct mor_slice){ versions, len }, text))
			return true;
		versions += len + (versions[len] != '\0');
	}
	return false;
}

static void take_line(struct mor_remote *s, struct mor_slice line)
{
	const char *versions = s->opt->remote->versions ? s->opt->remote->versions : "1";
	mortise_error err;
	int r;

	if (!mor_meet_is_line(line)) {
		if (!s->heard[0])
			mor_excerpt(line, s->heard, sizeof(s->heard));
		s->link.events->on_noise(s->link.arg, line, line.len + 1);
		return;
	}
	r = mor_meet_read_line(line, &s->said, &err);
	if (r == 0 && !is_version_known(versions, s->said.app))
		r = mor_fail(&err, MORTISE_ETRANSPORT,
			     "speaks version %u of its application's protocol: wanted is %.60s (grpc.versions)",
			     s->said.app, versions);
	if (r < 0)
		mor_remote_refuse(s, &err);
	else
		try_to_meet(s);
}

/* Complete lines while we wait for one; all else is noise. */
static void take_out(struct mor_remote *s, struct mor_slice bytes)
{
	while (bytes.len && !s->dead) {
		const char *end = memchr(bytes.ptr, '\n', bytes.len);
		size_t len = end ? (size_t)(end - bytes.ptr) : bytes.len;

		if (s->phase != MOR_REMOTE_WAITING || s->said.path[0]) {
			s->link.events->on_noise(s->link.arg, bytes, bytes.len);
			return;
		}
		if (!s->skipping)
			mor_buf_append(&s->line, bytes.ptr, len);
		if (end || s->line.len > MOR_MEET_LINE) {
			if (!s->skipping)
				take_line(s, mor_buf_view(&s->line));
			mor_buf_reset(&s->line, 0);
			s->skipping = !end;
		}
		bytes = (struct mor_slice){ bytes.ptr + len + (end != NULL), bytes.len - len - (end != NULL) };
	}
}

void mor_remote_read_out(struct mor_remote *s)
{
	char *into = mor_loop_scratch(s->link.loop);
	ssize_t n;

	if (!into || !s->out.loop)
		return;
	do
		n = read(mor_proc_out(s->proc), into, MOR_LOOP_SCRATCH);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		take_out(s, (struct mor_slice){ into, (size_t)n });
	else if (n == 0 || errno != EAGAIN)
		mor_watch_stop(&s->out); /* it may still listen: that alone is no failure */
}

static void on_readable(struct mor_watch *watch, unsigned events)
{
	(void)events;
	mor_remote_read_out(mor_container_of(watch, struct mor_remote, out));
}

/* ---- the process runs ---- */

void mor_remote_await(struct mor_remote *s)
{
	mortise_error err;

	s->phase = MOR_REMOTE_WAITING;
	s->again_ms = AGAIN_FIRST_MS;
	mor_timer_set(s->link.loop, &s->limit, s->opt->remote->start_ms, on_limit);
	watch_place(s);
	if (mor_watch_start(s->link.loop, &s->out, mor_proc_out(s->proc), MOR_READABLE, on_readable) < 0) {
		mor_fail_errno(&err, MORTISE_ESYSTEM, errno, "watching stdout");
		mor_remote_refuse(s, &err);
		return;
	}
	try_to_meet(s); /* it may have been faster */
}
