/* SPDX-License-Identifier: Apache-2.0 */
/* The engine on PostgreSQL: pg.c has the connection and the queue, pg_verbs.c what is asked. */
#ifndef MOR_FARM_PG_OWN_H
#define MOR_FARM_PG_OWN_H

#include <libpq-fe.h>

#include "base/buf.h"
#include "engine/farm.h"

#define PG_PARAMS 14

typedef void pg_read_fn(const PGresult *result, struct mor_farm_reply *reply);

/* One question. The texts belong to it. */
struct pg_ask {
	struct pg_ask *next;
	const char *sql; /* constant; without parameters it may be many statements */
	char *params[PG_PARAMS];
	int count;
	/* fills the reply from the first result with rows, or NULL */
	pg_read_fn *read;
	mor_farm_reply_fn *fn;
	void *arg;
};

enum pg_state {
	PG_DOWN,       /* the next try is at retry_ms */
	PG_CONNECTING, /* until retry_ms                                 */
	PG_READY,      /* nothing is asked                               */
	PG_BUSY        /* the greeting, or the first of `asks`, has no answer yet */
};

/* Of the connection; farm.h has what others may know. */
struct mor_farm {
	char *url;
	struct mor_farm_run run; /* run "": none */
	bool bare;
	void (*on_warning)(const char *text, void *arg);
	void *arg;
	int epoll;
	int watched; /* the socket in it; -1: none */
	PGconn *connection;
	enum pg_state state;
	int64_t retry_ms;
	uint32_t wait_ms;  /* before the next try */
	bool met;          /* there was a connection before */
	bool told;         /* that it is lost */
	unsigned greeting; /* which greeting is next */
	int64_t lock_ms;   /* how long another owner's lock is waited for; 0: it was not met */
	uint64_t news;
	struct pg_ask *asks, **end;
	PGresult *answer; /* the last result with rows of the present question */
	mortise_error failure;
};

/* Takes `ask`, also on failure; NULL: no memory. */
int mor_pg_queue_take(struct mor_farm *pg, struct pg_ask *ask);
void mor_pg_ask_free(struct pg_ask *ask);
/* The greetings: what is asked first on every connection. NULL: no more are due. Free it. */
struct pg_ask *mor_pg_greeting(struct mor_farm *pg, unsigned number);
bool mor_pg_greeting_is_due(const struct mor_farm *pg);
/* The answer of the server. The farm fails if it is not the one that we need. 0, or MORTISE_EOVERLOAD: another
 * session has the run's lock, and may be about to end. */
int mor_pg_greeted(struct mor_farm *pg, unsigned number, const PGresult *result);

#endif
