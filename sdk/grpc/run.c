/* SPDX-License-Identifier: Apache-2.0 */
/* tenon_grpc_run(): where to listen, the bridge, and the session behind it. */
#include <tenon/grpc.h>

#include <errno.h>
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

static int serve_session(struct tn_session *session, struct tn_bridge *bridge, const struct place *place)
{
	int r;

	bridge->usual_kind = session->dialect == &tn_sunscreen_json_grpc ? "app" : "scaffold";
	if (place->folder[0])
		print_line(place);
	r = tn_serve_signals(session);
	tn_bridge_leave(bridge);
	return r;
}

static int serve_place(const tenon_plugin *plugin, const struct place *place)
{
	struct tn_session session;
	struct tn_bridge bridge;
	int listener, r;

	listener = open_listener(&place->address);
	if (listener < 0) {
		fprintf(stderr, "%s: cannot listen on %s: %s\n", name_of(plugin), place->address.sun_path,
			strerror(errno));
		return 1;
	}
	if (tn_session_init(&session, plugin, dialect_of(plugin)) < 0) {
		mor_fd_close(&listener);
		return refuse_run(plugin, strerror(errno), "");
	}
	session.wire = &bridge.wire;
	if (tn_bridge_init_take(&bridge, plugin, listener, session.wake) < 0)
		r = refuse_run(plugin, "no memory for gRPC", "");
	else
		r = serve_session(&session, &bridge, place);
	tn_bridge_fini(&bridge);
	tn_session_fini(&session);
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
