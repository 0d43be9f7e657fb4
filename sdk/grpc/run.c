/* SPDX-License-Identifier: Apache-2.0 */
/* tenon_grpc_run(): where to listen, the thread of the bridge, and the session behind it. */
#include <tenon/grpc.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "bridge.h"
#include "dialect.h"
#include "private_wire.h"
#include "session.h"

#define BACKLOG 16

/* Where it listens. */
struct place {
	struct sockaddr_un address;
	char folder[96]; /* of our own, and it goes at the end; "": none */
	int in, out;     /* stdin and stdout of the host, kept open */
};

static const char *name_of(const tenon_plugin *plugin)
{
	return plugin->name ? plugin->name : "plugin";
}

static int refuse_run(const tenon_plugin *plugin, const char *what, const char *which)
{
	fprintf(stderr, "%s: %s%s\n", name_of(plugin), what, which);
	return 1;
}

/* ---- whether ---- */

/* Every host of ours says which dialect it speaks: then HashiCorp's variable is one of somebody further up. */
static bool hashicorp_asks(const tenon_plugin *plugin)
{
	return getenv("PLUGIN_PROTOCOL_VERSIONS") && !getenv("MORTISE_DIALECT") &&
	       tn_sunscreen_grpc.fits(plugin) &&
	       (!plugin->dialect || strncmp(plugin->dialect, "sunscreen", 9) == 0);
}

static const struct tn_dialect *dialect_of(const tenon_plugin *plugin)
{
	const char *named = plugin->dialect ? plugin->dialect : getenv("MORTISE_DIALECT");

	return named && strcmp(named, "sunscreen-json") == 0 ? &tn_sunscreen_json_grpc : &tn_sunscreen_grpc;
}

/* ---- where ---- */

static int choose_place(struct place *place)
{
	const char *given = getenv("MORTISE_GRPC_SOCKET"), *temporary = getenv("TMPDIR");
	char *path = place->address.sun_path;
	size_t size = sizeof(place->address.sun_path);

	place->address.sun_family = AF_UNIX;
	if (given && given[0])
		return snprintf(path, size, "%s", given) < (int)size ? 0 : -ENAMETOOLONG;
	if (snprintf(place->folder, sizeof(place->folder), "%s/tenon-XXXXXX",
		     temporary && temporary[0] ? temporary : "/tmp") >= (int)sizeof(place->folder)) {
		place->folder[0] = '\0';
		return -ENAMETOOLONG;
	}
	if (!mkdtemp(place->folder)) {
		place->folder[0] = '\0';
		return -errno;
	}
	snprintf(path, size, "%s/grpc", place->folder);
	return 0;
}

static int open_listener(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 &&
	    (bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 || listen(fd, BACKLOG) < 0)) {
		int kept = errno;

		mor_fd_close(&fd);
		errno = kept;
	}
	return fd;
}

static void leave_place(const struct place *place)
{
	if (place->folder[0]) {
		unlink(place->address.sun_path);
		rmdir(place->folder);
	}
}

/* The line that HashiCorp's hosts wait for, with the highest version that they offer. */
static void print_line(const struct place *place)
{
	const char *versions = getenv("PLUGIN_PROTOCOL_VERSIONS");
	unsigned long best = 1;

	for (const char *at = versions ? versions : ""; *at;) {
		char *end;
		unsigned long version = strtoul(at, &end, 10);

		if (version > best)
			best = version;
		at = *end ? end + 1 : end;
	}
	dprintf(place->out, "1|%lu|unix|%s|grpc\n", best, place->address.sun_path);
}

/* ---- run ---- */

static void *bridge_thread(void *arg)
{
	tn_bridge_run(arg);
	return NULL;
}

/* Signals are for the thread that called. */
static int start_bridge(struct tn_bridge *bridge, pthread_t *ret)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, NULL, bridge_thread, bridge);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r == 0 ? 0 : -1;
}

/* `inner` is the session's end of the pair: when it is closed, the bridge ends. */
static int serve_bridge(const tenon_plugin *plugin, struct tn_bridge *bridge, int inner,
			const struct place *place)
{
	struct tn_session session;
	pthread_t thread;
	int r;

	if (tn_session_init(&session, plugin, dialect_of(plugin)) < 0) {
		mor_fd_close(&inner);
		return refuse_run(plugin, strerror(errno), "");
	}
	session.in = inner;
	session.out = dup(inner);
	if (session.out < 0 || start_bridge(bridge, &thread) < 0) {
		tn_session_fini(&session);
		return refuse_run(plugin, "no thread for gRPC", "");
	}
	if (place->folder[0])
		print_line(place);
	r = tn_serve_signals(&session);
	shutdown(inner, SHUT_RDWR);
	tn_session_fini(&session);
	pthread_join(thread, NULL);
	return r;
}

static int serve_place(const tenon_plugin *plugin, struct place *place)
{
	struct tn_bridge bridge;
	int pair[2], listener, r;

	listener = open_listener(&place->address);
	if (listener < 0) {
		fprintf(stderr, "%s: cannot listen on %s: %s\n", name_of(plugin), place->address.sun_path,
			strerror(errno));
		return 1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		mor_fd_close(&listener);
		return refuse_run(plugin, "no socket pair: ", strerror(errno));
	}
	if (tn_bridge_init(&bridge, plugin, listener, pair[0]) < 0) {
		mor_fd_close(&pair[1]);
		r = refuse_run(plugin, "no memory for gRPC", "");
	} else {
		bridge.usual_kind = dialect_of(plugin) == &tn_sunscreen_json_grpc ? "app" : "scaffold";
		r = serve_bridge(plugin, &bridge, pair[1], place);
	}
	tn_bridge_fini(&bridge);
	return r;
}

int tenon_grpc_run(const tenon_plugin *plugin)
{
	const char *given = getenv("MORTISE_GRPC_SOCKET");
	struct place place = { .in = -1, .out = -1 };
	int r = tn_answer_option(plugin);

	if (r >= 0)
		return r;
	if (!(given && given[0]) && !hashicorp_asks(plugin))
		return tenon_run(plugin);
	if (!tn_sunscreen_grpc.fits(plugin))
		return refuse_run(plugin,
				  "the host wants gRPC, which is only for commands and hooks (sunscreen)", "");
	r = tn_private_wire(&place.in, &place.out);
	if (r == 0)
		r = choose_place(&place);
	r = r < 0 ? refuse_run(plugin, "no place for its socket: ", strerror(-r)) : serve_place(plugin, &place);
	leave_place(&place);
	mor_fd_close(&place.in);
	mor_fd_close(&place.out);
	return r;
}
