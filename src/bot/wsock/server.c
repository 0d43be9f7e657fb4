/* SPDX-License-Identifier: Apache-2.0 */
/* A server: accepts connections and decides which ones may stay. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "wsock/conn.h"

#define AT_ONCE 16  /* limit of connections accepted in one turn */
#define REST_MS 100 /* pause after a lack of descriptors or memory */

void *mor_ws_server_arg(const struct mor_ws_server *server)
{
	return server->options.arg;
}

/* ---- incoming connections ---- */

static void watch_doors(struct mor_ws_server *server, unsigned events)
{
	for (unsigned i = 0; i < server->door_count; i++)
		if (server->doors[i].watch.loop)
			(void)mor_watch_change(&server->doors[i].watch, events);
}

void mor_ws_server_forget(struct mor_ws_server *server, struct mor_ws *ws)
{
	for (size_t i = 0; i < server->count; i++)
		if (server->young[i] == ws)
			server->young[i] = server->young[--server->count];
	watch_doors(server, MOR_READABLE);
}

static void show_address(const struct sockaddr_storage *address, socklen_t len, char out[64])
{
	char host[48], port[8];

	if (getnameinfo((const struct sockaddr *)address, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) == 0)
		snprintf(out, 64, "%s port %s", host, port);
	else
		snprintf(out, 64, "an unknown address");
}

static void on_rest_over(struct mor_timer *timer)
{
	watch_doors(mor_container_of(timer, struct mor_ws_server, rest), MOR_READABLE);
}

/* A connection that we cannot accept now waits in the kernel. */
static void rest(struct mor_ws_server *server)
{
	watch_doors(server, 0);
	(void)mor_timer_set(server->loop, &server->rest, REST_MS, on_rest_over);
}

static void on_somebody(struct mor_watch *watch, unsigned events)
{
	struct mor_ws_door *door = mor_container_of(watch, struct mor_ws_door, watch);
	struct mor_ws_server *server = door->server;

	(void)events;
	for (unsigned i = 0; i < AT_ONCE && server->count < server->options.most; i++) {
		struct sockaddr_storage address;
		socklen_t len = sizeof(address);
		int fd = accept4(door->fd, (struct sockaddr *)&address, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct mor_ws *ws;
		char from[64];

		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
			rest(server);
		if (fd < 0)
			return;
		show_address(&address, len, from);
		ws = mor_ws_incoming_take(server, fd, from);
		if (ws)
			server->young[server->count++] = ws;
	}
	if (server->count == server->options.most)
		watch_doors(server, 0);
}

/* ---- life ---- */

/* If there is also a socket for IPv4, this one takes only IPv6. Otherwise the two would conflict. */
static int listen_at(const struct addrinfo *address, bool alone)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (address->ai_family == AF_INET6 && !alone)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 1 }, sizeof(int));
	if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, 128) == 0)
		return fd;
	mor_fd_close(&fd); /* keeps errno */
	return -errno;
}

/* 0 or -errno. */
static int open_door(struct mor_ws_server *server, const struct addrinfo *address, bool alone)
{
	struct mor_ws_door *door = &server->doors[server->door_count];
	int fd = listen_at(address, alone);

	if (fd < 0)
		return fd;
	*door = (struct mor_ws_door){ .server = server, .fd = fd };
	if (mor_watch_start(server->loop, &door->watch, fd, MOR_READABLE, on_somebody) < 0) {
		mor_fd_close(&fd);
		return -errno;
	}
	server->door_count++;
	return 0;
}

/* A host name may have an address that this machine does not have (IPv6 is off). One usable address is
 * enough. But an address already in use is an error. */
static int open_server(struct mor_ws_server *server, mortise_error *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV },
			*list = NULL;
	char port[8], shown[MOR_URL_AUTHORITY];
	int error, last = 0;

	snprintf(port, sizeof(port), "%u", server->url.port);
	error = getaddrinfo(server->url.host, port, &hints, &list);
	if (error)
		return mor_fail(err, MORTISE_ESYSTEM, "listen: %s: %s", server->url.host, gai_strerror(error));
	for (const struct addrinfo *at = list; at && last != -EADDRINUSE && server->door_count < MOR_WS_DOORS;
	     at = at->ai_next)
		last = open_door(server, at, !list->ai_next);
	freeaddrinfo(list);
	if (server->door_count && last != -EADDRINUSE)
		return 0;
	return mor_fail_errno(err, MORTISE_ESYSTEM, -last, "listen: %s",
			      mor_url_authority(&server->url, shown));
}

int mor_ws_listen(struct mor_loop *loop, const struct mor_ws_server_options *options,
		  struct mor_ws_server **ret, mortise_error *err)
{
	struct mor_ws_server *server = mor_zalloc(sizeof(*server));
	int r;

	if (!server)
		return mor_fail_memory(err);
	server->loop = loop;
	server->options = *options;
	server->url = *options->url;
	server->options.url = &server->url;
	server->young = mor_zalloc(options->most * sizeof(struct mor_ws *));
	r = server->young ? open_server(server, err) : mor_fail_memory(err);
	if (r == 0)
		*ret = server;
	else
		mor_ws_server_free(server);
	return r;
}

void mor_ws_server_free(struct mor_ws_server *server)
{
	if (!server)
		return;
	for (unsigned i = 0; i < server->door_count; i++) {
		mor_watch_stop(&server->doors[i].watch);
		mor_fd_close(&server->doors[i].fd);
	}
	mor_timer_stop(&server->rest);
	while (server->count)
		mor_ws_free(server->young[0]);
	mor_free(server->young);
	mor_free(server);
}
