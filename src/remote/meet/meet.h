/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a plugin that listens on a unix socket is met: a directory of its own, the line with which it
 * says where it listens, the connection, and whether it is really the plugin that answers there. Nothing
 * here waits; who waits for the line or for the socket is the caller. docs/design/0009-grpc.md says why
 * each step is needed.
 */
#ifndef MOR_MEET_MEET_H
#define MOR_MEET_MEET_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/slice.h"
#include "undo/scratch.h"

/* ---- the line: CORE|APP|NETWORK|ADDRESS|PROTOCOL, as HashiCorp's go-plugin prints it ---- */

#define MOR_MEET_LINE 4096 /* a longer one is malformed */
#define MOR_MEET_PATH 108  /* of a socket, with its NUL */

struct mor_meet_line {
	uint32_t app; /* version of the application's protocol */
	char path[MOR_MEET_PATH];
};
/* Does it look like one? It begins with a number and has three bars or more. All else is what plugins print. */
bool mor_meet_is_line(struct mor_slice line);
/* `line` without its end; blanks around it do not count. 0; MORTISE_EPROTO: not such a line;
 * MORTISE_ETRANSPORT: a network, protocol or certificate that we do not have. The text has no plugin's name. */
int mor_meet_read_line(struct mor_slice line, struct mor_meet_line *ret, mortise_error *err);

/* ---- the place ---- */

struct mor_meet {
	struct mor_scratch scratch; /* its path is what the plugin gets as TMPDIR */
	char socket[MOR_MEET_PATH]; /* where it may listen without a line (MORTISE_GRPC_SOCKET) */
};
/* Makes the directory, mode 0700, below `parent`; NULL: $XDG_RUNTIME_DIR, else /tmp. What processes that were
 * killed have left there is removed. 0, MORTISE_ENOMEM, or MORTISE_ESYSTEM with err. */
int mor_meet_open(struct mor_meet *meet, const char *parent, mortise_error *err);
/* Removes it with everything in it. Also after a failed mor_meet_open(), and twice. */
void mor_meet_close(struct mor_meet *meet);

/* ---- the connection ---- */

/* Whose processes may answer: the plugin and what is below it; and what the guardian has adopted. 0: none. */
struct mor_meet_tree {
	int plugin, guardian;
};
/* Connects to `path`, which must be a socket directly in the directory. *ret_fd is non-blocking. 0; or
 *	MORTISE_ENOTFOUND   nothing is there yet
 *	MORTISE_ECLOSED     nobody listens there (any more)
 *	MORTISE_EOVERLOAD   it does not accept connections fast enough: try again
 *	MORTISE_EVIOLATION  not in the directory, a link, not a socket, of another user, or answered by a
 *			    process that is not the plugin's
 *	MORTISE_ESYSTEM     the kernel refused a step */
int mor_meet_connect(const struct mor_meet *meet, const char *path, const struct mor_meet_tree *tree,
		     int *ret_fd, mortise_error *err);

/* `pid` is `root` or one of its descendants, now. */
bool mor_meet_is_below(int pid, int root);

#endif
