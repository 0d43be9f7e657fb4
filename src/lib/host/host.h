/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host: what all its plugins share, and who may call it.
 *
 * Everything in this room runs in the loop's dispatch or in a public function of the host's own
 * thread. The parts:
 *
 *	host.h       the host; the thread rule         plugin.h     a plugin, as the embedder holds it
 *	embedder.h   every call into the embedder      call.h       a call, from its start to its end
 *	supervise.h  processes begin and end           request.h    what a plugin asks of us
 *	receive.h    what arrives from a plugin        pool.h       several workers, one queue
 *
 * The way to one running process is a link (src/lib/link/link.h); what guards it is src/lib/guard/guarded.h.
 * The other headers belong to one part each and say so.
 */
#ifndef MOR_HOST_HOST_H
#define MOR_HOST_HOST_H

#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/list.h"
#include "host/owner.h"
#include "link/link.h"
#include "loop/loop.h"

#define MOR_COMPOSE_KEEP ((size_t)64 * 1024)

struct mor_dialect;

struct mortise_host {
	struct mor_loop *loop;
	struct mor_owner *owner;
	/* a copy in a forked child, being freed: nobody is told, and nothing outside is touched */
	bool is_copy;
	bool command_words;   /* MORTISE_COMMAND_WORDS */
	unsigned in_callback; /* how many callbacks of the embedder are on the stack: see embedder.h */
	mortise_event_fn *on_event;
	mortise_trust_fn *on_trust;
	void *arg;
	mortise_tap_fn *tap;
	void *tap_arg;
	struct mor_list plugins, pools;
	struct mor_list environments; /* of struct mor_env: those that plugins have */
	struct mor_list orphans;      /* requests whose plugin is gone, until they are answered */
	struct mor_list spare_calls;  /* calls are recycled: no allocation on the hot path */
	unsigned spare_count;
	struct mor_buf compose; /* the message being written; reused, up to MOR_COMPOSE_KEEP */
	mor_link_make_fn *make_link;
	const struct mor_dialect *dialect; /* one dialect more than the registry has, or NULL: for tests */
	uint32_t random;                   /* jitter of the backoff */
	char *helper;                      /* path of mortise-jail; NULL: where it was installed */
};

/* For tests: a virtual clock and another kind of link. */
int mor_host_new_with(const mortise_host_options *opt, unsigned loop_flags, mor_link_make_fn *make_link,
		      mortise_host **ret_host, mortise_error *err);

/* 0, or MORTISE_ETHREAD on a foreign thread. */
int mor_host_check_thread(const mortise_host *host, mortise_error *err);
int mor_host_fail_thread(const struct mor_owner *owner, mortise_error *err);
/* 0, or MORTISE_ECALLBACK inside a callback or dispatch. For who has checked the thread. */
int mor_host_check_idle(const mortise_host *host, mortise_error *err);
/* Both. */
int mor_host_check_outside(const mortise_host *host, mortise_error *err);
/* For functions that free: like mor_host_check_thread(), but a forked child may free its copy, which is made
 * harmless first. */
int mor_host_check_leaving(mortise_host *host);

#endif
