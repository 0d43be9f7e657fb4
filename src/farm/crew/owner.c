/* SPDX-License-Identifier: Apache-2.0 */
#include "crew/owner.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "crew/plan.h"

#define BAD_LIMIT    5    /* so many bad segments for one batch, and the run ends: somebody lies */
#define FIRST_WINDOW 8    /* batches: as long as it is not known how large they should be ... */
#define FIRST_MS     2000 /* ... but no longer than this: then they are not too small */
#define POLL_MOST_MS 2000 /* the farm says when there is something to ask; but it may forget to */

enum slot_state {
	SLOT_NEW,   /* to be submitted */
	SLOT_AGAIN, /* to be submitted, whatever the farm knows of it */
	SLOT_ASKED,
	SLOT_READY /* its segment is known */
};

struct slot {
	struct mor_farm_batch batch;
	enum slot_state state;
	bool cached;
	unsigned bad; /* bad segments so far */
	char segment[MOR_DIGEST_SIZE];
};

struct mor_crew_owner {
	struct mor_crew_owner_options opt;
	struct slot *slots; /* in order, without gaps */
	size_t count, cap;
	struct mor_crew_plan plan;
	int64_t begun_ms;
	uint64_t planned; /* units up to here have a slot, or are done */
	bool polling;     /* `done` has no answer yet */
	int64_t polled_ms, poll_at, moved_ms;
	uint64_t news; /* of the farm, as far as it was asked */
	struct mor_crew_owner_stats stats;
	mortise_error failure;
};

static bool is_in_store(uint64_t first, uint32_t count, void *arg)
{
	const struct mor_crew_owner *owner = arg;
	char key[MOR_DIGEST_SIZE], segment[MOR_DIGEST_SIZE];

	mor_crew_key(owner->opt.work, first, count, owner->opt.digest, owner->opt.arg, key);
	return mor_depot_key_get(owner->opt.depot, key, segment);
}

static uint64_t unit_weight(uint64_t unit, void *arg)
{
	const struct mor_crew_owner *owner = arg;

	return owner->opt.weigh(unit, owner->opt.arg);
}

int mor_crew_owner_new(const struct mor_crew_owner_options *opt, struct mor_crew_owner **ret,
		       mortise_error *err)
{
	struct mor_crew_owner *owner = mor_zalloc(sizeof(*owner));

	if (!owner)
		return mor_fail_memory(err);
	owner->opt = *opt;
	owner->plan = (struct mor_crew_plan){ .units = opt->units,
					      .fixed = opt->batch,
					      .most = opt->most,
					      .weight = opt->weight,
					      .found = is_in_store,
					      .weigh = unit_weight,
					      .arg = owner };
	owner->planned = mor_crew_plan_begin(&owner->plan, opt->next);
	owner->begun_ms = owner->moved_ms = mor_clock_ms();
	*ret = owner;
	return 0;
}

struct mor_crew_owner *mor_crew_owner_free(struct mor_crew_owner *owner)
{
	if (owner)
		mor_free(owner->slots);
	return mor_free(owner);
}

bool mor_crew_owner_finished(const struct mor_crew_owner *owner)
{
	return owner->count == 0 && owner->planned >= owner->opt.units;
}

struct mor_crew_owner_stats mor_crew_owner_stats(const struct mor_crew_owner *owner)
{
	return owner->stats;
}

static void warn_owner(struct mor_crew_owner *owner, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void warn_owner(struct mor_crew_owner *owner, const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mor_note_warning(text, owner->opt.console);
}

/* ---- the window ---- */

static void fill_slot(struct mor_crew_owner *owner, struct slot *slot, uint64_t first, uint32_t count)
{
	*slot = (struct slot){ .batch = { .first = first, .count = count } };
	mor_crew_key(owner->opt.work, first, count, owner->opt.digest, owner->opt.arg, slot->batch.key);
	if (mor_depot_key_get(owner->opt.depot, slot->batch.key, slot->segment)) {
		slot->state = SLOT_READY;
		slot->cached = true;
	}
}

static size_t window_now(struct mor_crew_owner *owner)
{
	bool waits = !owner->opt.batch && !owner->plan.seen && mor_clock_ms() - owner->begun_ms < FIRST_MS;

	owner->plan.slow = !waits;
	return waits && owner->opt.window > FIRST_WINDOW ? FIRST_WINDOW : owner->opt.window;
}

static int fill_window(struct mor_crew_owner *owner, mortise_error *err)
{
	while (owner->count < window_now(owner) && owner->planned < owner->opt.units) {
		uint32_t count = mor_crew_plan_batch(&owner->plan, owner->planned);

		if (mor_grow(&owner->slots, owner->count, &owner->cap, sizeof(struct slot)) < 0)
			return mor_fail_memory(err);
		fill_slot(owner, &owner->slots[owner->count++], owner->planned, count);
		owner->planned += count;
	}
	return 0;
}

/* All slots in this state, in groups. */
static int submit_slots(struct mor_crew_owner *owner, enum slot_state state, mortise_error *err)
{
	struct mor_farm_batch group[MOR_FARM_GROUP];
	size_t count = 0;

	for (size_t i = 0; i <= owner->count; i++) {
		if (i < owner->count && owner->slots[i].state == state) {
			owner->slots[i].state = SLOT_ASKED;
			group[count++] = owner->slots[i].batch;
		}
		if (count < MOR_FARM_GROUP && (count == 0 || i < owner->count))
			continue;
		if (mor_farm_submit(owner->opt.farm, group, count, state == SLOT_AGAIN, NULL, NULL) < 0)
			return mor_fail_memory(err);
		count = 0;
	}
	return 0;
}

/* ---- poison ---- */

/* One unit that kills its workers becomes a segment like any other, but none that a later run would find. */
static int give_up_unit(struct mor_crew_owner *owner, struct slot *slot, uint32_t claims, mortise_error *err)
{
	const char *name = owner->opt.name(slot->batch.first, owner->opt.arg);
	struct mor_segment_unit unit = { .code = MORTISE_ECRASHED,
					 .attempts = claims,
					 .sum = mor_sum("", 0, 0),
					 .name = mor_slice_of(name) };
	struct mor_segment_writer *writer = NULL;
	char why[100];
	int r;

	snprintf(why, sizeof(why), "its worker died, %u times", claims);
	unit.why = mor_slice_of(why);
	r = mor_segment_writer_new(owner->opt.depot, slot->batch.key, 1, &writer, err);
	r = r ? r : mor_segment_writer_add(writer, &unit, err);
	r = r ? r : mor_segment_writer_finish(writer, slot->segment, err);
	mor_segment_writer_free(writer);
	if (r == 0)
		slot->state = SLOT_READY;
	return r;
}

static int split_slot(struct mor_crew_owner *owner, size_t number, uint32_t claims, mortise_error *err)
{
	struct slot *slot = &owner->slots[number], half;
	struct mor_farm_batch whole = slot->batch;
	uint32_t part;

	owner->stats.split++;
	if (whole.count == 1)
		return give_up_unit(owner, slot, claims, err);
	if (mor_grow(&owner->slots, owner->count, &owner->cap, sizeof(struct slot)) < 0)
		return mor_fail_memory(err);
	part = mor_crew_plan_split(whole.count);
	slot = &owner->slots[number];
	memmove(slot + 1, slot, (owner->count++ - number) * sizeof(*slot));
	fill_slot(owner, slot, whole.first, part);
	fill_slot(owner, &half, whole.first + part, whole.count - part);
	slot[1] = half;
	for (size_t i = 0; i < 2; i++)
		if (slot[i].state == SLOT_NEW)
			slot[i].state = SLOT_AGAIN;
	warn_owner(owner, "units %" PRIu64 " to %" PRIu64 " have ended %u workers: they are tried in halves",
		   whole.first + 1, whole.first + whole.count, claims);
	return 0;
}

/* ---- what has ended ---- */

static struct slot *find_asked(struct mor_crew_owner *owner, const struct mor_farm_batch *batch)
{
	for (size_t i = 0; i < owner->count; i++) {
		struct slot *slot = &owner->slots[i];

		if (slot->batch.first == batch->first)
			return slot->state == SLOT_ASKED && slot->batch.count == batch->count &&
					       strcmp(slot->batch.key, batch->key) == 0 ?
				       slot :
				       NULL;
	}
	return NULL;
}

static void on_done(const struct mor_farm_reply *reply, void *arg)
{
	struct mor_crew_owner *owner = arg;

	owner->polling = false;
	owner->poll_at = owner->polled_ms + POLL_MOST_MS;
	for (size_t i = 0; i < reply->count; i++) {
		const struct mor_farm_ended *ended = &reply->ended[i];
		struct slot *slot = find_asked(owner, &ended->batch);

		if (!slot)
			continue; /* late, or of another owner: nothing that we wait for */
		owner->moved_ms = mor_clock_ms();
		if (ended->state == MOR_FARM_DONE) {
			memcpy(slot->segment, ended->segment, sizeof(slot->segment));
			slot->state = SLOT_READY;
			mor_crew_plan_learn(&owner->plan, slot->batch.count, ended->took_ms);
			if (reply->count == MOR_FARM_GROUP)
				owner->poll_at = 0; /* there may be more */
		} else if (split_slot(owner, (size_t)(slot - owner->slots), ended->claims, &owner->failure) <
			   0) {
			return;
		}
	}
}

static int poll_farm(struct mor_crew_owner *owner, mortise_error *err)
{
	uint64_t next = owner->count ? owner->slots[0].batch.first : owner->opt.units;
	size_t i = 0;

	while (i < owner->count && owner->slots[i].state == SLOT_READY)
		i++;
	if (owner->news != mor_farm_news(owner->opt.farm) &&
	    owner->poll_at > owner->polled_ms + owner->opt.poll_ms)
		owner->poll_at = owner->polled_ms + owner->opt.poll_ms;
	if (owner->polling || i == owner->count || mor_clock_ms() < owner->poll_at)
		return 0;
	owner->polling = true;
	owner->polled_ms = mor_clock_ms();
	owner->news = mor_farm_news(owner->opt.farm);
	if (mor_farm_done(owner->opt.farm, next, owner->slots[i].batch.first, owner->stats.failed, on_done,
			  owner) < 0)
		return mor_fail_memory(err);
	return 0;
}

/* The engine may have lost what it was given. */
static void audit(struct mor_crew_owner *owner)
{
	if (mor_clock_ms() - owner->moved_ms < 2 * (int64_t)owner->opt.lease_ms)
		return;
	owner->moved_ms = mor_clock_ms();
	for (size_t i = 0; i < owner->count; i++)
		if (owner->slots[i].state == SLOT_ASKED)
			owner->slots[i].state = SLOT_NEW;
}

/* ---- taking ---- */

static int check_segment(const struct slot *slot, const struct mor_segment *segment, mortise_error *err)
{
	if (strcmp(segment->key, slot->batch.key) != 0 || segment->count != slot->batch.count)
		return mor_fail(err, MORTISE_EINPUT, "%s: it is the segment of another batch", segment->path);
	return 0;
}

static void drop_first(struct mor_crew_owner *owner, const struct mor_segment *segment)
{
	owner->stats.batches++;
	owner->stats.cached += owner->slots[0].cached;
	owner->stats.cached_units += owner->slots[0].cached ? segment->count : 0;
	for (size_t i = 0; i < segment->count; i++)
		owner->stats.failed += segment->units[i].code != 0;
	memmove(owner->slots, owner->slots + 1, --owner->count * sizeof(struct slot));
	owner->moved_ms = mor_clock_ms();
}

/* Nobody shall find it again. What is the segment of another batch is good for that one, and stays: otherwise a
 * lying worker could have it removed. */
static int ask_again(struct mor_crew_owner *owner, struct slot *slot, const struct mor_segment *segment,
		     mortise_error *err)
{
	owner->stats.again++;
	if (++slot->bad > BAD_LIMIT)
		return mor_fail_prefix(err, "one batch had too many bad segments");
	warn_owner(owner, "%s; it is done again", err->text);
	mor_depot_remove(owner->opt.depot, MOR_DEPOT_KEY, slot->batch.key);
	if (!segment || strcmp(segment->key, slot->batch.key) == 0)
		mor_depot_remove(owner->opt.depot, MOR_DEPOT_SEGMENT, slot->segment);
	slot->state = SLOT_AGAIN;
	slot->cached = false;
	*err = (mortise_error){ 0 };
	return 0;
}

static int take_first(struct mor_crew_owner *owner, mortise_error *err)
{
	struct slot *slot = &owner->slots[0];
	struct mor_segment *segment = NULL;
	int r = mor_segment_open(owner->opt.depot, slot->segment, &segment, err);

	r = r ? r : check_segment(slot, segment, err);
	r = r ? r : owner->opt.take(&slot->batch, segment, slot->segment, owner->opt.take_arg, err);
	if (r == 0)
		drop_first(owner, segment);
	else if (r == MORTISE_EINPUT || r == MORTISE_ENOTFOUND)
		r = ask_again(owner, slot, segment, err);
	mor_segment_free(segment);
	return r;
}

/* ms until the farm is to be asked; it may be the audit's turn, too. */
static int owner_wait(const struct mor_crew_owner *owner)
{
	int64_t left = owner->polling ? POLL_MOST_MS : owner->poll_at - mor_clock_ms();

	return left < 0 ? 0 : left > POLL_MOST_MS ? POLL_MOST_MS : (int)left;
}

int mor_crew_owner_step(struct mor_crew_owner *owner, int *ret_wait, mortise_error *err)
{
	bool ready;
	int r = owner->failure.code;

	if (r < 0)
		*err = owner->failure;
	/* one at a time: the caller looks for signals in between */
	if (r == 0 && owner->count && owner->slots[0].state == SLOT_READY)
		r = take_first(owner, err);
	audit(owner);
	r = r ? r : fill_window(owner, err);
	r = r ? r : submit_slots(owner, SLOT_AGAIN, err);
	r = r ? r : submit_slots(owner, SLOT_NEW, err);
	r = r ? r : poll_farm(owner, err);
	ready = mor_crew_owner_finished(owner) || (owner->count && owner->slots[0].state == SLOT_READY);
	*ret_wait = ready ? 0 : owner_wait(owner);
	return r;
}
