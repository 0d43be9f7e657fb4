/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sd-bus SECONDS DEPTH:SIZE...: a method call of sd-bus (libsystemd) between two processes, over a socket pair
 * of their own without a bus daemon, for each point of sweep.h.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <systemd/sd-bus.h>

#include "../sweep.h"

#define PATH      "/echo"
#define INTERFACE "mortise.bench.Echo"

struct side {
	sd_bus *bus;
	char *text;
	size_t len, to_start, under_way;
	int status;
};

/* ---- the plugin ---- */

static int on_echo(sd_bus_message *message, void *arg, sd_bus_error *err)
{
	const char *text;
	int r = sd_bus_message_read(message, "s", &text);

	(void)arg;
	(void)err;
	return r < 0 ? r : sd_bus_reply_method_return(message, "s", text);
}

static const sd_bus_vtable methods[] = {
	SD_BUS_VTABLE_START(0),
	SD_BUS_METHOD("Echo", "s", "s", on_echo, SD_BUS_VTABLE_UNPRIVILEGED),
	SD_BUS_VTABLE_END,
};

static int open_bus(int fd, int server, sd_bus **ret)
{
	sd_id128_t id = { 0 };
	int r = sd_bus_new(ret);

	if (r >= 0)
		r = sd_bus_set_fd(*ret, fd, fd);
	if (r >= 0 && server)
		r = sd_bus_set_server(*ret, 1, id);
	if (r >= 0)
		r = sd_bus_set_anonymous(*ret, 1);
	return r < 0 ? r : sd_bus_start(*ret);
}

static _Noreturn void serve(int fd)
{
	sd_bus *bus = NULL;
	int r = open_bus(fd, 1, &bus);

	if (r >= 0)
		r = sd_bus_add_object_vtable(bus, NULL, PATH, INTERFACE, methods, NULL);
	while (r >= 0)
		if ((r = sd_bus_process(bus, NULL)) == 0)
			r = sd_bus_wait(bus, UINT64_MAX);
	_exit(0); /* the host has gone */
}

/* ---- the host ---- */

static int prepare_side(void *arg, size_t depth, size_t size)
{
	struct side *s = arg;

	(void)depth;
	free(s->text);
	s->text = sweep_text("", size, "", &s->len);
	return s->text ? 0 : -1;
}

static int on_reply(sd_bus_message *reply, void *arg, sd_bus_error *err);

static void start_one(struct side *s)
{
	s->status = sd_bus_call_method_async(s->bus, NULL, NULL, PATH, INTERFACE, "Echo", on_reply, s, "s",
					     s->text);
	if (s->status < 0)
		return;
	s->to_start--;
	s->under_way++;
}

static int on_reply(sd_bus_message *reply, void *arg, sd_bus_error *err)
{
	struct side *s = arg;
	const char *text;

	(void)err;
	s->under_way--;
	if (sd_bus_message_is_method_error(reply, NULL) || sd_bus_message_read(reply, "s", &text) < 0)
		s->status = -1;
	else if (s->to_start > 0)
		start_one(s);
	return 0;
}

static int run_together(struct side *s, size_t count, size_t depth)
{
	int r = 0;

	s->to_start = count;
	for (size_t i = 0; i < depth && s->to_start > 0 && s->status >= 0; i++)
		start_one(s);
	while (r >= 0 && s->under_way > 0 && s->status >= 0)
		if ((r = sd_bus_process(s->bus, NULL)) == 0)
			r = sd_bus_wait(s->bus, UINT64_MAX);
	return r < 0 ? r : s->status;
}

static int run_calls(void *arg, size_t count, size_t depth)
{
	struct side *s = arg;
	const char *text;
	int r = 0;

	if (depth > 1)
		return run_together(s, count, depth);
	for (size_t i = 0; i < count && r >= 0; i++) {
		sd_bus_message *reply = NULL;

		r = sd_bus_call_method(s->bus, NULL, PATH, INTERFACE, "Echo", NULL, &reply, "s", s->text);
		if (r >= 0)
			r = sd_bus_message_read(reply, "s", &text);
		if (r >= 0 && strlen(text) != s->len)
			r = -1;
		sd_bus_message_unref(reply);
	}
	return r;
}

int main(int argc, char **argv)
{
	struct side side = { 0 };
	struct sweep s = { prepare_side, run_calls, &side };
	int fds[2], r;
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	if (argc < 3 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 || (pid = fork()) < 0)
		return 2;
	if (pid == 0) {
		close(fds[0]);
		serve(fds[1]);
	}
	close(fds[1]);
	r = open_bus(fds[0], 0, &side.bus);
	if (r >= 0)
		r = sweep_points(&s, argv + 1);
	sd_bus_close_unref(side.bus);
	waitpid(pid, NULL, 0);
	free(side.text);
	return r < 0;
}
