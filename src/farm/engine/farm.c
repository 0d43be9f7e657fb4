/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/farm.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

static const struct mor_farm_engine *const engines[] = { &mor_farm_postgres };

int mor_farm_open(const struct mor_farm_options *opt, struct mor_farm **ret, mortise_error *err)
{
	const char *colon = strstr(opt->url, "://");
	struct mor_slice scheme = { opt->url, colon ? (size_t)(colon - opt->url) : 0 };

	for (size_t i = 0; colon && i < sizeof(engines) / sizeof(*engines); i++)
		if (mor_text_in(scheme, engines[i]->schemes))
			return engines[i]->open(opt, ret, err);
	return mor_fail(err, MORTISE_EINVAL,
			"a farm is named by a URL such as postgres://host/database; this one is not known");
}

struct mor_farm *mor_farm_free(struct mor_farm *farm)
{
	if (farm)
		farm->engine->free(farm);
	return NULL;
}

int mor_farm_fd(const struct mor_farm *farm)
{
	return farm->engine->fd(farm);
}

int mor_farm_step(struct mor_farm *farm)
{
	return farm->engine->step(farm);
}

const mortise_error *mor_farm_failure(const struct mor_farm *farm)
{
	return farm->engine->failure(farm);
}

bool mor_farm_idle(const struct mor_farm *farm)
{
	return farm->engine->idle(farm);
}

uint64_t mor_farm_news(const struct mor_farm *farm)
{
	return farm->engine->news(farm);
}

int mor_farm_submit(struct mor_farm *farm, const struct mor_farm_batch *batches, size_t count, bool again,
		    mor_farm_reply_fn *fn, void *arg)
{
	return farm->engine->submit(farm, batches, count, again, fn, arg);
}

int mor_farm_claim(struct mor_farm *farm, const struct mor_farm_worker *worker, uint64_t ticket,
		   const char *const *refused, mor_farm_reply_fn *fn, void *arg)
{
	return farm->engine->claim(farm, worker, ticket, refused, fn, arg);
}

int mor_farm_beat(struct mor_farm *farm, const struct mor_farm_worker *worker, const char *run, uint64_t first,
		  uint32_t ms, mor_farm_reply_fn *fn, void *arg)
{
	return farm->engine->beat(farm, worker, run, first, ms, fn, arg);
}

int mor_farm_commit(struct mor_farm *farm, const struct mor_farm_worker *worker, const char *run,
		    const struct mor_farm_batch *batch, const struct mor_farm_made *made, mor_farm_reply_fn *fn,
		    void *arg)
{
	return farm->engine->commit(farm, worker, run, batch, made, fn, arg);
}

int mor_farm_done(struct mor_farm *farm, uint64_t next, uint64_t from, uint64_t failed, mor_farm_reply_fn *fn,
		  void *arg)
{
	return farm->engine->done(farm, next, from, failed, fn, arg);
}

int mor_farm_trouble(struct mor_farm *farm, const struct mor_farm_worker *worker, const char *run,
		     const char *text)
{
	return farm->engine->trouble(farm, worker, run, text);
}

int mor_farm_failed(struct mor_farm *farm, uint64_t failed, const struct mor_farm_unit *units, size_t count)
{
	return farm->engine->failed(farm, failed, units, count);
}

int mor_farm_leave(struct mor_farm *farm, const struct mor_farm_worker *worker)
{
	return farm->engine->leave(farm, worker);
}

int mor_farm_ask(struct mor_farm *farm, enum mor_farm_question question, uint64_t number, mor_farm_reply_fn *fn,
		 void *arg)
{
	return farm->engine->ask(farm, question, number, fn, arg);
}
