/* SPDX-License-Identifier: Apache-2.0 */
/* A bot without processes: its plugins are seats whose jobs the test takes and answers itself. */
#ifndef TESTS_UNIT_BOT_SMALL_H
#define TESTS_UNIT_BOT_SMALL_H

#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "dispatch/bot.h"
#include "said.h"

#define SEATS 3

struct small {
	struct said said;
	struct mor_bot_run run;
	struct mor_botfile file;
	struct mor_bot_seat *seats[SEATS];
	struct mor_bot_body bodies[SEATS];
};

static inline void small_begin(struct small *s, size_t count)
{
	static const char *const names[SEATS] = { "first", "second", "third" };

	*s = (struct small){ .file.network.api_ms = 30000 };
	s->run = (struct mor_bot_run){ .console = &s->said.console, .watch.fd = -1, .config = &s->file };
	mor_list_init(&s->run.walks);
	mor_list_init(&s->run.bodies);
	mor_list_init(&s->run.net.inbox);
	mor_list_init(&s->run.api.calls);
	s->run.seats = s->seats;
	s->run.count = count;
	for (size_t i = 0; i < count; i++) {
		s->seats[i] = mor_bot_seat_new(&s->run, names[i]);
		assert_non_null(s->seats[i]);
		s->seats[i]->body = &s->bodies[i];
	}
	said_begin(&s->said);
}

/* Ends what stderr collects: said.err has it, and a new collection begins. */
static inline void assert_told(struct small *s, const char *wanted)
{
	said_end(&s->said);
	assert_string_equal(s->said.err, wanted);
	said_begin(&s->said);
}

static inline void small_end(struct small *s)
{
	assert_told(s, "");
	said_end(&s->said);
	said_forget(&s->said);
	mor_bot_api_free(&s->run);
	mor_bot_walk_free_all(&s->run);
	for (size_t i = 0; i < s->run.count; i++)
		mor_bot_seat_free(s->seats[i]);
	mor_buf_fini(&s->run.out.bytes);
	mor_free(s->run.self_id);
}

/* A line of input: an event. */
static inline void small_take(struct small *s, const char *line)
{
	mor_bot_take(&s->run, mor_slice_of(line));
}

/* The seat's next job, as the host would get it; NULL: none waits. */
static inline struct mor_bot_job *small_job(struct mor_bot_seat *seat)
{
	struct mor_list *node = mor_list_pop(&seat->queue);

	if (!node)
		return NULL;
	seat->waiting--;
	return mor_container_of(node, struct mor_bot_job, node);
}

/* The plugin answers that job. */
static inline void small_answer(struct mor_bot_job *job, const char *json)
{
	mor_bot_walk_job_done(job, &(mortise_reply){ .result = { json, strlen(json) } });
}

#endif
