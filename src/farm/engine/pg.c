/* SPDX-License-Identifier: Apache-2.0 */
/* The connection: made, lost, made again; one question at a time. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "engine/pg_own.h"

#define WAIT_FIRST_MS 100
#define WAIT_MOST_MS  5000
#define CONNECT_MS    20000
#define WAIT_LOCK_MS  200

/* ---- ends ---- */

void mor_pg_ask_free(struct pg_ask *ask)
{
	for (int i = 0; ask && i < ask->count; i++)
		mor_free(ask->params[i]);
	mor_free(ask);
}

/* libpq's texts have several lines. None of them has the password. */
static const char *server_text(struct mor_farm *pg, char *out, size_t size)
{
	const char *text = pg->connection ? PQerrorMessage(pg->connection) : "";
	struct mor_slice line = mor_slice_of(text);

	line = mor_slice_trim(mor_slice_cut(&line, '\n'), " \n");
	return mor_printable(line.len ? line : mor_slice_of("no answer"), out, size);
}

static void unwatch(struct mor_farm *pg)
{
	if (pg->watched >= 0)
		epoll_ctl(pg->epoll, EPOLL_CTL_DEL, pg->watched, NULL);
	pg->watched = -1;
}

/* libpq may close a socket and open another one with the same number. */
static void watch_socket(struct mor_farm *pg, bool writing)
{
	int fd = PQsocket(pg->connection);
	struct epoll_event event = { .events = EPOLLIN | (writing ? (uint32_t)EPOLLOUT : 0) };

	if (fd != pg->watched)
		unwatch(pg);
	if (fd < 0)
		return;
	if (epoll_ctl(pg->epoll, EPOLL_CTL_MOD, fd, &event) < 0 && errno == ENOENT)
		epoll_ctl(pg->epoll, EPOLL_CTL_ADD, fd, &event);
	pg->watched = fd;
}

static void hang_up(struct mor_farm *pg)
{
	unwatch(pg);
	if (pg->answer)
		PQclear(pg->answer);
	pg->answer = NULL;
	if (pg->connection)
		PQfinish(pg->connection);
	pg->connection = NULL;
	pg->state = PG_DOWN;
	pg->greeting = 0;
}

static void fail_farm(struct mor_farm *pg, int code, const char *text)
{
	if (!pg->failure.code)
		mor_fail(&pg->failure, code, "%s", text);
	hang_up(pg);
}

/* The first connection must work: a wrong URL is better told at once. A later one is tried until it does. */
static void lose_server(struct mor_farm *pg, const char *why)
{
	char text[400];
	struct mor_buf line = MOR_BUF_INIT;

	if (!why)
		why = server_text(pg, text, sizeof(text));
	mor_buf_printf(&line, "the farm's server: %s%s", why, pg->met ? "; trying again" : "");
	if (!pg->met) {
		fail_farm(pg, MORTISE_ESYSTEM, line.data ? line.data : why);
	} else {
		if (!pg->told && line.data)
			pg->on_warning(line.data, pg->arg);
		pg->told = true;
		hang_up(pg);
		pg->retry_ms = mor_clock_ms() + pg->wait_ms;
		pg->wait_ms = 2 * pg->wait_ms < WAIT_MOST_MS ? 2 * pg->wait_ms : WAIT_MOST_MS;
	}
	mor_buf_fini(&line);
}

/* ---- connecting ---- */

static void ignore_notice(void *arg, const char *message)
{
	(void)arg;
	(void)message;
}

/* What the URL says wins: it comes last. A connection over a dead network ends after half a minute. */
static void begin_connection(struct mor_farm *pg)
{
	static const char *const names[] = { "application_name",
					     "keepalives_idle",
					     "keepalives_interval",
					     "keepalives_count",
					     "tcp_user_timeout",
					     "client_encoding",
					     "dbname",
					     NULL };
	const char *values[] = { "mortise", "15", "5", "3", "30000", "UTF8", pg->url, NULL };

	pg->connection = PQconnectStartParams(names, values, 1);
	if (!pg->connection || PQstatus(pg->connection) == CONNECTION_BAD) {
		lose_server(pg, NULL);
		return;
	}
	PQsetNoticeProcessor(pg->connection, ignore_notice, NULL);
	pg->state = PG_CONNECTING;
	pg->retry_ms = mor_clock_ms() + CONNECT_MS;
	watch_socket(pg, true);
}

static void go_on_connecting(struct mor_farm *pg)
{
	PostgresPollingStatusType status = PQconnectPoll(pg->connection);

	if (status == PGRES_POLLING_FAILED) {
		lose_server(pg, NULL);
	} else if (status == PGRES_POLLING_OK) {
		PQsetnonblocking(pg->connection, 1);
		pg->state = PG_READY;
		watch_socket(pg, false);
	} else if (mor_clock_ms() >= pg->retry_ms) {
		lose_server(pg, "it does not answer");
	} else {
		watch_socket(pg, status == PGRES_POLLING_WRITING);
	}
}

/* ---- asking ---- */

static int send_ask(struct mor_farm *pg, const struct pg_ask *ask)
{
	if (ask->count == 0)
		return PQsendQuery(pg->connection, ask->sql);
	return PQsendQueryParams(pg->connection, ask->sql, ask->count, NULL, (const char *const *)ask->params,
				 NULL, NULL, 0);
}

static void flush_ask(struct mor_farm *pg)
{
	int r = PQflush(pg->connection);

	if (r < 0)
		lose_server(pg, NULL);
	else
		watch_socket(pg, r > 0);
}

/* True: something was sent. */
static bool send_next(struct mor_farm *pg)
{
	struct pg_ask *greeting = mor_pg_greeting(pg, pg->greeting);
	struct pg_ask *ask = greeting ? greeting : pg->asks;
	bool sent = ask && send_ask(pg, ask);

	mor_pg_ask_free(greeting);
	if (!ask)
		return false;
	if (!sent) {
		lose_server(pg, NULL);
		return false;
	}
	pg->state = PG_BUSY;
	flush_ask(pg);
	return pg->state == PG_BUSY;
}

/* ---- answers ---- */

/* The server ends, is full, or two of us met: ask again. A run that is gone (23503) is made again by the
 * greeting of the next connection. */
static bool is_passing(const char *sqlstate)
{
	static const char *const passing[] = { "08", "40", "53", "57P", "23503" };

	for (size_t i = 0; i < sizeof(passing) / sizeof(*passing); i++)
		if (strncmp(sqlstate, passing[i], strlen(passing[i])) == 0)
			return true;
	return false;
}

static void refuse_answer(struct mor_farm *pg, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	char line[400], missing[300];

	if (!state || is_passing(state)) {
		lose_server(pg, text);
		return;
	}
	if (strcmp(state, "3F000") == 0 || strcmp(state, "42883") == 0) {
		text = "this database has no farm, or an old one: run mortise farm init with this URL, as its "
		       "owner";
	} else if (strcmp(state, "42501") == 0 && pg->bare) {
		snprintf(missing, sizeof(missing),
			 "%s: make the farm as a database user who may create roles, and schemas in this "
			 "database (CREATEROLE; CREATE on the database)",
			 text ? text : "permission denied");
		text = missing;
	} else if (strcmp(state, "42501") == 0) {
		text = "this database user may not do that: it needs the role mortise_farm_owner, or "
		       "mortise_farm_worker for a worker";
	}
	fail_farm(pg, MORTISE_EINPUT,
		  mor_printable(mor_slice_of(text ? text : "the farm's server refuses it"), line,
				sizeof(line)));
}

/* The present question has its answer. */
static void answered(struct mor_farm *pg)
{
	PGresult *result = mor_take(&pg->answer);
	struct pg_ask *ask = pg->asks;

	pg->state = PG_READY;
	pg->wait_ms = WAIT_FIRST_MS;
	if (mor_pg_greeting_is_due(pg)) {
		int r = mor_pg_greeted(pg, pg->greeting, result);

		pg->greeting++;
		if (r < 0)
			hang_up(pg);
		/* a session that has just ended may hold the run's lock until the server has seen its end */
		if (r < 0 && !pg->failure.code)
			pg->retry_ms = mor_clock_ms() + WAIT_LOCK_MS;
	} else if (ask) {
		struct mor_farm_reply reply = { .text = "" };

		pg->asks = ask->next;
		if (!pg->asks)
			pg->end = &pg->asks;
		if (ask->read && result)
			ask->read(result, &reply);
		if (ask->fn)
			ask->fn(&reply, ask->arg);
		mor_pg_ask_free(ask);
	}
	if (result)
		PQclear(result);
}

static void take_results(struct mor_farm *pg)
{
	while (pg->state == PG_BUSY && !PQisBusy(pg->connection)) {
		PGresult *result = PQgetResult(pg->connection);
		ExecStatusType status;

		if (!result) {
			answered(pg);
			return;
		}
		status = PQresultStatus(result);
		if (status == PGRES_TUPLES_OK) {
			if (pg->answer)
				PQclear(pg->answer);
			pg->answer = result;
			continue;
		}
		if (status != PGRES_COMMAND_OK)
			refuse_answer(pg, result);
		PQclear(result);
	}
}

/* Any worker may say anything. */
static void tell_trouble(const struct mor_farm *pg, const char *text)
{
	char line[600], shown[500];

	snprintf(line, sizeof(line), "worker %s", mor_printable(mor_slice_of(text), shown, sizeof(shown)));
	pg->on_warning(line, pg->arg);
}

/* What the server says unasked: the function own() listens to the run. */
static void take_news(struct mor_farm *pg)
{
	PGnotify *notice;

	while ((notice = PQnotifies(pg->connection))) {
		pg->news++;
		if (notice->extra && *notice->extra)
			tell_trouble(pg, notice->extra);
		PQfreemem(notice);
	}
}

static void hear_server(struct mor_farm *pg)
{
	if (!PQconsumeInput(pg->connection)) {
		lose_server(pg, NULL);
		return;
	}
	take_news(pg);
	if (pg->state == PG_BUSY)
		flush_ask(pg);
	if (pg->state == PG_BUSY)
		take_results(pg);
}

/* Greetings are over and there was a connection: from now on a loss is passing. */
static void mind_ready(struct mor_farm *pg)
{
	if (mor_pg_greeting_is_due(pg))
		return;
	pg->met = true;
	pg->told = false;
}

int mor_farm_step(struct mor_farm *pg)
{
	uint64_t news = pg->news;

	if (pg->failure.code)
		return -1;
	if (pg->state == PG_DOWN && mor_clock_ms() >= pg->retry_ms)
		begin_connection(pg);
	if (pg->state == PG_CONNECTING)
		go_on_connecting(pg);
	if (pg->state == PG_READY || pg->state == PG_BUSY)
		hear_server(pg);
	while (pg->state == PG_READY) {
		mind_ready(pg);
		if (!send_next(pg))
			break;
		hear_server(pg);
	}
	if (pg->failure.code || pg->state == PG_READY || pg->state == PG_BUSY)
		return pg->news == news ? -1 : 0; /* with news, the owner has something to do at once */
	return pg->retry_ms > mor_clock_ms() ? (int)(pg->retry_ms - mor_clock_ms()) : 0;
}

/* ---- the rest ---- */

int mor_pg_queue_take(struct mor_farm *pg, struct pg_ask *ask)
{
	bool whole = ask != NULL;

	for (int i = 0; whole && i < ask->count; i++)
		whole = ask->params[i] != NULL;
	if (!whole) {
		mor_pg_ask_free(ask);
		return MORTISE_ENOMEM;
	}
	*pg->end = ask;
	pg->end = &ask->next;
	return 0;
}

/* Everybody on the machine can read a command line. */
static int check_url(const char *url, mortise_error *err)
{
	char *why = NULL;
	PQconninfoOption *options = PQconninfoParse(url, &why);
	int r = 0;

	if (!options) {
		/* libpq's text may repeat the URL */
		r = mor_fail(err, MORTISE_EINVAL, "the URL of the farm is not one that libpq understands");
		if (why)
			PQfreemem(why);
		return r;
	}
	for (PQconninfoOption *option = options; option->keyword; option++)
		if (option->val && strcmp(option->keyword, "password") == 0)
			r = mor_fail(err, MORTISE_EINVAL,
				     "the URL of the farm has a password, which others can read on the command "
				     "line: put it into ~/.pgpass");
	PQconninfoFree(options);
	return r;
}

struct mor_farm *mor_farm_free(struct mor_farm *pg)
{
	if (!pg)
		return NULL;
	hang_up(pg);
	while (pg->asks) {
		struct pg_ask *ask = pg->asks;

		pg->asks = ask->next;
		mor_pg_ask_free(ask);
	}
	mor_fd_close(&pg->epoll);
	mor_free(pg->url);
	return mor_free(pg);
}

int mor_farm_open(const struct mor_farm_options *opt, struct mor_farm **ret, mortise_error *err)
{
	const char *colon = strstr(opt->url, "://");
	struct mor_slice scheme = { opt->url, colon ? (size_t)(colon - opt->url) : 0 };
	struct mor_farm *pg;
	int r;

	if (!mor_text_in(scheme, "postgres|postgresql"))
		return mor_fail(err, MORTISE_EINVAL,
				"a farm is named by a URL such as postgres://host/database; this one is not "
				"known");
	if (!(pg = mor_zalloc(sizeof(*pg))))
		return mor_fail_memory(err);
	*pg = (struct mor_farm){ .on_warning = opt->on_warning,
				 .arg = opt->arg,
				 .bare = opt->bare,
				 .watched = -1,
				 .wait_ms = WAIT_FIRST_MS,
				 .url = mor_strdup(opt->url) };
	pg->end = &pg->asks;
	if (opt->run)
		pg->run = *opt->run;
	pg->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = pg->epoll < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, errno, "epoll") :
	    pg->url       ? check_url(opt->url, err) :
			    mor_fail_memory(err);
	if (r == 0)
		*ret = pg;
	else
		mor_farm_free(pg);
	return r;
}

int mor_farm_fd(const struct mor_farm *pg)
{
	return pg->epoll;
}

const mortise_error *mor_farm_failure(const struct mor_farm *pg)
{
	return pg->failure.code ? &pg->failure : NULL;
}

bool mor_farm_idle(const struct mor_farm *pg)
{
	return !pg->asks;
}

uint64_t mor_farm_news(const struct mor_farm *pg)
{
	return pg->news;
}
