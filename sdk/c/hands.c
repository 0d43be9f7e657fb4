/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations: a function that waits in tenon_ask() keeps its thread, and the baton goes on.
 *
 *   asks        the baton goes to the thread that resumed it, or to a spare thread, or to a new one, which
 *               leads from then on
 *   is resumed  the leader gives it the baton and waits until it asks again or ends
 *   ends        the leader goes on and the thread is spare; but the first thread keeps the baton and the leader
 *               becomes spare, so that functions run on the thread that called tenon_run() whenever they can
 *
 * Threads instead of switched stacks: debuggers and sanitizers understand them.
 */
#include "hands.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "dialect.h"
#include "session.h"

#define CONVERSATIONS_MAX 64

static _Thread_local bool thread_lost; /* this thread waited for the baton until the end */

static void *lead(void *arg);

bool tn_lost(void)
{
	return thread_lost;
}

/* ---- The baton ---- */

/* Under the lock. False: everything ends, and the baton does not come any more. */
static bool await_baton(struct tn_session *s, struct tn_hand *me)
{
	while (s->holder != me && !s->quit)
		pthread_cond_wait(&me->given, &s->lock);
	thread_lost = s->holder != me;
	return !thread_lost;
}

static void give_baton(struct tn_session *s, struct tn_hand *to)
{
	s->holder = to;
	pthread_cond_signal(&to->given);
}

static void make_spare(struct tn_session *s, struct tn_hand *hand)
{
	hand->next_spare = s->spare;
	s->spare = hand;
}

static void unspare(struct tn_session *s, const struct tn_hand *hand)
{
	for (struct tn_hand **at = &s->spare; *at; at = &(*at)->next_spare)
		if (*at == hand) {
			*at = hand->next_spare;
			return;
		}
}

static struct tn_hand *new_hand(struct tn_session *s)
{
	struct tn_hand *hand = mor_zalloc(sizeof(*hand));

	if (!hand)
		return NULL;
	hand->session = s;
	hand->looping = true;
	pthread_cond_init(&hand->given, NULL);
	if (pthread_create(&hand->thread, NULL, lead, hand) != 0) {
		pthread_cond_destroy(&hand->given);
		mor_free(hand);
		return NULL;
	}
	hand->next = s->hands;
	s->hands = hand;
	return hand;
}

/* Who leads while the holder waits; NULL: no memory for a thread. */
static struct tn_hand *find_leader(struct tn_session *s)
{
	struct tn_hand *hand = s->spare;

	if (!hand)
		return new_hand(s);
	s->spare = hand->next_spare;
	return hand;
}

/* ---- Waiting and going on ---- */

static void add_wait(struct tn_session *s, struct tn_wait *wait)
{
	if (s->waiting_last)
		s->waiting_last->next = wait;
	else
		s->waiting = wait;
	s->waiting_last = wait;
	s->waiting_count++;
}

static void drop_wait(struct tn_session *s, struct tn_wait *wait)
{
	struct tn_wait *before = NULL;

	for (struct tn_wait *at = s->waiting; at != wait; at = at->next)
		before = at;
	if (before)
		before->next = wait->next;
	else
		s->waiting = wait->next;
	if (s->waiting_last == wait)
		s->waiting_last = before;
	s->waiting_count--;
}

const char *tn_wait_answer(tenon_call *call)
{
	struct tn_session *s = call->session;
	struct tn_wait wait = { .call = call, .hand = s->holder };
	struct tn_turn *turn = s->turn;
	struct tn_hand *next = call->resumer;

	tn_idle(s);
	if (turn)
		tn_turn_detach(s, turn);
	while (s->waiting_count >= CONVERSATIONS_MAX)
		tn_give_up(s, s->waiting);
	pthread_mutex_lock(&s->lock);
	if (!next)
		next = find_leader(s);
	if (next) {
		add_wait(s, &wait);
		call->resumer = NULL;
		call->asked = true;
		give_baton(s, next);
		await_baton(s, wait.hand);
	} else {
		call->over = true;
	}
	pthread_mutex_unlock(&s->lock);
	return wait.answer;
}

/* The answer in memory of the call that gets it; false without memory. */
static bool hand_over(tenon_call *call, struct tn_wait *wait, const struct mor_message *message,
		      const char *text)
{
	struct mor_message copy;
	const char *body;

	if (!message || !text)
		return false;
	body = tn_call_keep(call, message->whole);
	wait->answer = tn_call_keep(call, mor_slice_of(text));
	if (!body || !wait->answer ||
	    mor_envelope_scan((struct mor_slice){ body, message->whole.len }, 0, 0, &copy, NULL) < 0)
		return false;
	tn_call_renew(call);
	if (copy.kind == MOR_MSG_REQUEST)
		call->id = copy.id;
	call->params_text = copy.params;
	if (call->session->dialect->resumed)
		call->session->dialect->resumed(call);
	return !call->over;
}

void tn_resume(struct tn_session *s, struct tn_wait *wait, const struct mor_message *message, const char *text)
{
	struct tn_hand *me = s->holder;
	struct tn_turn *turn = s->turn;
	tenon_call *call = wait->call;

	tn_idle(s);
	if (turn)
		tn_turn_detach(s, turn);
	if (!hand_over(call, wait, message, text)) {
		call->over = call->answered = true;
		wait->answer = NULL;
	}
	if (turn)
		tn_busy(s, turn);
	call->seq = s->seq;
	call->resumer = me;
	pthread_mutex_lock(&s->lock);
	drop_wait(s, wait);
	give_baton(s, wait->hand);
	await_baton(s, me);
	pthread_mutex_unlock(&s->lock);
}

void tn_give_up(struct tn_session *s, struct tn_wait *wait)
{
	struct tn_hand *me = s->holder;
	struct tn_turn *turn = s->turn;

	me->looping = false;
	tn_resume(s, wait, NULL, NULL);
	me->looping = true;
	if (turn)
		tn_busy(s, turn);
}

void tn_conversed(struct tn_session *s, tenon_call *call)
{
	struct tn_hand *me = s->holder, *leader = call->resumer;

	if (!leader)
		return;
	tn_idle(s);
	pthread_mutex_lock(&s->lock);
	if (me->first && leader->looping) {
		make_spare(s, leader);
	} else {
		make_spare(s, me);
		give_baton(s, leader);
		await_baton(s, me);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- Threads ---- */

static struct tn_hand *first_hand(struct tn_session *s)
{
	struct tn_hand *hand = s->hands;

	while (!hand->first)
		hand = hand->next;
	return hand;
}

bool tn_wind_up(struct tn_session *s)
{
	struct tn_hand *me = s->holder;

	tn_end(s);
	if (s->waiting)
		tn_cancel(s);
	while (!thread_lost && s->waiting)
		tn_resume(s, s->waiting, NULL, NULL);
	if (thread_lost || me->first)
		return me->first;
	pthread_mutex_lock(&s->lock);
	unspare(s, first_hand(s));
	give_baton(s, first_hand(s));
	await_baton(s, me);
	pthread_mutex_unlock(&s->lock);
	return false;
}

static void *lead(void *arg)
{
	struct tn_hand *me = arg;
	struct tn_session *s = me->session;
	bool mine;

	pthread_mutex_lock(&s->lock);
	mine = await_baton(s, me);
	pthread_mutex_unlock(&s->lock);
	if (mine)
		tn_lead(s);
	return NULL;
}

int tn_hands_init(struct tn_session *s)
{
	struct tn_hand *hand = mor_zalloc(sizeof(*hand));

	if (!hand)
		return -ENOMEM;
	*hand = (struct tn_hand){ .session = s, .thread = pthread_self(), .first = true, .looping = true };
	pthread_cond_init(&hand->given, NULL);
	s->hands = s->holder = hand;
	return 0;
}

void tn_hands_fini(struct tn_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->quit = true;
	s->holder = NULL;
	for (struct tn_hand *hand = s->hands; hand; hand = hand->next)
		pthread_cond_signal(&hand->given);
	pthread_mutex_unlock(&s->lock);
	while (s->hands) {
		struct tn_hand *hand = s->hands;

		s->hands = hand->next;
		if (!hand->first)
			pthread_join(hand->thread, NULL);
		pthread_cond_destroy(&hand->given);
		mor_free(hand);
	}
}
