/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gRPC link: a process, a socket, a connection. Inside of mor_link_remote_new() alone; nobody else
 * includes this.
 *
 *	remote_start.c  until on_started: where it listens, who answers, its health, hello
 *	remote_call.c   a request becomes a call, its end the answer to that request
 *	remote.c        the link's operations, the process's events, the end
 *
 * The phases only go forward. Until OPEN nothing of it is told to the host but stderr, noise and refused calls;
 * a start that fails kills the process and ends with on_end and a start_code. docs/design/0009-grpc.md has
 * the order of a start and says why.
 */
#ifndef MOR_LINK_REMOTE_H
#define MOR_LINK_REMOTE_H

#include "addon/addon.h"
#include "base/list.h"
#include "link/link.h"
#include "meet/meet.h"

enum mor_remote_phase {
	MOR_REMOTE_NEW,
	MOR_REMOTE_WAITING, /* for its line, or its socket */
	MOR_REMOTE_HEALTH,  /* connected; asked for its health */
	MOR_REMOTE_HELLO,   /* the service's first call is made */
	MOR_REMOTE_OPEN,    /* on_started was told */
	MOR_REMOTE_REFUSED  /* `fault` says why; it is being killed */
};

struct mor_remote {
	struct mor_link link; /* must be first */
	const struct mor_link_options *opt;
	const struct mor_addon *addon;
	const struct mor_service *service;
	struct mor_command command; /* with the environment below */
	char **env;
	struct mor_proc *proc;
	struct mor_meet meet;
	enum mor_remote_phase phase;
	/* remote_start.c */
	struct mor_watch out; /* its stdout */
	struct mor_watch place;
	int place_fd;        /* inotify on its directory; -1: none */
	struct mor_buf line; /* a line of stdout that is not complete yet */
	char heard[100];     /* the first line that did not say where it listens; "": none */
	bool skipping;       /* the rest of a line that was too long */
	struct mor_meet_line said;
	struct mor_timer limit, again;
	uint32_t again_ms;
	mortise_error fault; /* why it is not there yet; why it was refused; why the connection ended */
	/* remote_call.c */
	struct mor_grpc *connection; /* NULL: none, or none any more */
	struct mor_list calls;       /* of mor_remote_call */
	struct mor_list refusals;    /* requests that are answered without the plugin */
	bool streams;                /* it offers the calls that stream */
	/* remote_described.c */
	struct mor_described *described;  /* NULL: its service is one that we know */
	struct mor_grpc_call *reflection; /* under way */
	bool alpha;                       /* with its older name */
	struct mor_buf said_err;          /* of the stderr that it forwards: a line that is not complete */
	/* remote.c */
	struct mor_task wrote, leave;
	struct mor_grave grave;
	bool dead, exited, ended, paused, close_wanted, bye_sent;
};

static inline struct mor_remote *mor_remote_of(struct mor_link *link)
{
	return mor_container_of(link, struct mor_remote, link);
}

/* ---- remote_start.c ---- */

/* The plugin's directory and its environment. 0 or a status. */
int mor_remote_prepare(struct mor_remote *s, mortise_error *err);
/* The process runs. */
void mor_remote_await(struct mor_remote *s);
/* Ends all that waits: watches, timers, the directory's watch. */
void mor_remote_stop_waiting(struct mor_remote *s);
/* The plugin cannot be used: `err` says why. Its end follows. */
void mor_remote_refuse(struct mor_remote *s, const mortise_error *err);
/* What it has written to stdout up to now. */
void mor_remote_read_out(struct mor_remote *s);
/* The connection has ended. */
void mor_remote_lost(void *arg, const mortise_error *why);
/* The plugin can be called. */
void mor_remote_open(struct mor_remote *s);

/* ---- remote_call.c ---- */

/* Notes and answers, which have no place in a service of calls: only counted. */
int mor_remote_send(struct mor_link *link, struct mor_slice body);
int mor_remote_send_request(struct mor_link *link, const struct mor_outgoing *request);
void mor_remote_cancel(struct mor_link *link, int64_t id);
void mor_remote_pause(struct mor_link *link, bool on);
/* Calls the service's method without a request of the host; `done` gets its JSON result, or err. */
typedef void mor_remote_done_fn(struct mor_remote *s, struct mor_slice result, unsigned status,
				const mortise_error *err);
int mor_remote_ask(struct mor_remote *s, const char *method, struct mor_slice params, mor_remote_done_fn *done,
		   mortise_error *err);
/* Forgets them, without an event. */
void mor_remote_drop_calls(struct mor_remote *s);
/* Answers what was refused without asking the plugin. If the link is dead, they are only freed. */
void mor_remote_tell_refusals(struct mor_remote *s);

/* ---- remote_described.c ---- */

/* Reads the descriptor set, if there is one. 0 or a status. */
int mor_remote_describe(struct mor_remote *s, mortise_error *err);
/* Asks the plugin for what it offers, if that is not known yet, then calls mor_remote_open(). */
void mor_remote_reflect(struct mor_remote *s);
/* Takes what it forwards of its stdout and stderr, if it does. */
void mor_remote_follow_stdio(struct mor_remote *s);
/* No more of it will come: hands on what is left. */
void mor_remote_end_stdio(struct mor_remote *s);

/* ---- remote.c ---- */

/* Something was sent: tells it, from the loop. */
void mor_remote_wrote(struct mor_remote *s);
/* Says goodbye if it is time: the stop was asked for, and no call is under way. */
void mor_remote_leave_if_idle(struct mor_remote *s);
/* on_end, if the process has ended and nothing more can come. */
void mor_remote_end_if_over(struct mor_remote *s);

#endif
