/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/player.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "wire/json.h"

#define SECRET  "secret_"
#define STARS   "***"
#define NOTHING ((struct mor_slice){ NULL, 0 })

/* One thing that came. */
struct heard {
	struct mor_list node;
	bool noise, reply;
	struct mor_talk_head head;
	size_t len;
	char body[];
};

static struct mor_slice heard_body(const struct heard *heard)
{
	return (struct mor_slice){ heard->body, heard->len };
}

static void forget(struct mor_player *player, struct heard *heard)
{
	player->heard_bytes -= heard->len;
	mor_list_remove(&heard->node);
	mor_free(heard);
}

static const char *other_side(const struct mor_player *player)
{
	return player->opt->as_plugin ? "host" : "plugin";
}

/* ---- life ---- */

int mor_player_init(struct mor_player *player, const struct mor_talk *talk,
		    const struct mor_player_options *opt)
{
	unsigned both = 1u << MOR_FRAMING_LINES | 1u << MOR_FRAMING_HEADERS;

	*player = (struct mor_player){ .opt = opt, .talk = talk };
	mor_list_init(&player->heard);
	mor_cutter_init(&player->cutter, (int)opt->framing, 0);
	if (both & 1u << opt->framing)
		player->cutter.deframer.reads = both; /* as hosts do */
	return mor_player_make_cues(player);
}

void mor_player_fini(struct mor_player *player)
{
	struct mor_list *node;

	while ((node = mor_list_pop(&player->heard)))
		mor_free(mor_container_of(node, struct heard, node));
	for (size_t i = 0; i < player->count; i++)
		mor_free(player->cues[i].text);
	mor_free(player->cues);
	mor_talk_vars_fini(&player->vars);
	mor_cutter_fini(&player->cutter);
	mor_buf_fini(&player->out);
	mor_buf_fini(&player->difference.expected);
	mor_buf_fini(&player->difference.came);
	mor_buf_fini(&player->difference.values);
	mor_buf_fini(&player->difference.json);
}

/* ---- what comes ---- */

bool mor_player_skips(const struct mor_player *player, const char *method)
{
	for (const char *const *skip = player->opt->skipped; method[0] && skip && *skip; skip++)
		if (strcmp(*skip, method) == 0)
			return true;
	return false;
}

static void hear(void *arg, enum mor_item_kind kind, struct mor_slice whole, const struct mor_item *item)
{
	struct mor_player *player = arg;
	bool noise = kind != MOR_ITEM_FRAME || mor_talk_check(item->body, NULL) < 0;
	struct mor_slice body = noise ? whole : item->body;
	struct mor_talk_head look = { .id = "" };
	struct heard *heard;

	if (!noise)
		mor_talk_look(body, &look);
	if (!noise && player->on_message)
		player->on_message(player->arg, false, body);
	if (kind == MOR_ITEM_BLANK || (noise && player->opt->noise) || mor_player_skips(player, look.method))
		return;
	heard = mor_alloc(sizeof(*heard) + body.len);
	if (!heard) {
		player->heard_bytes = SIZE_MAX / 2;
		return;
	}
	*heard = (struct heard){ .noise = noise, .reply = !look.method[0] && look.id[0], .len = body.len };
	heard->head = look;
	memcpy(heard->body, body.ptr, body.len);
	mor_list_append(&player->heard, &heard->node);
	player->heard_bytes += body.len;
}

int mor_player_input(struct mor_player *player, struct mor_slice bytes)
{
	int r;

	if (player->input_over)
		return 0;
	player->input_over = !bytes.ptr;
	r = mor_cutter_feed(&player->cutter, bytes, player->input_over, hear, player);
	if (r < 0 || player->heard_bytes >= SIZE_MAX / 2)
		return MORTISE_ENOMEM;
	return player->heard_bytes > MOR_PLAYER_HEARD ? MORTISE_ELIMIT : 0;
}

void mor_player_ended(struct mor_player *player, int status)
{
	player->ended = true;
	player->status = status;
}

/* ---- differences ---- */

static void keep_value(void *arg, struct mor_slice pointer, struct mor_slice expected, struct mor_slice actual)
{
	struct mor_player_difference *d = arg;
	struct mor_writer w = { .out = &d->json };
	const char *nothing = "nothing";

	mor_buf_printf(&d->values, "%.*s: %.*s -> %.*s\n", (int)pointer.len, pointer.ptr,
		       expected.len ? (int)expected.len : 7, expected.len ? expected.ptr : nothing,
		       actual.len ? (int)actual.len : 7, actual.len ? actual.ptr : nothing);
	if (d->json.len)
		mor_buf_byte(&d->json, ',');
	mor_w_object(&w);
	mor_w_pair_slice(&w, "pointer", pointer);
	mor_w_pair_slice(&w, "expected", expected);
	mor_w_pair_slice(&w, "came", actual);
	mor_w_end(&w);
}

/* Only the first one is kept. */
static enum mor_player_need differ_at(struct mor_player *player, unsigned line, const char *text,
				      struct mor_slice expected, struct mor_slice came)
{
	struct mor_player_difference *d = &player->difference;

	player->differences++;
	if (d->line)
		return MOR_PLAYER_DIFFERS;
	d->line = line;
	snprintf(d->text, sizeof(d->text), "%s", text);
	mor_buf_slice(&d->expected, expected);
	mor_buf_slice(&d->came, came);
	return MOR_PLAYER_DIFFERS;
}

static struct mor_slice cue_text(const struct mor_player_cue *cue)
{
	return (struct mor_slice){ cue->text, cue->len };
}

/* The line where the file stands now; after its end, that of the last. */
static unsigned current_line(const struct mor_player *player)
{
	if (player->count == 0)
		return 1;
	return player->cues[player->at < player->count ? player->at : player->count - 1].step->line;
}

void mor_player_give_up(struct mor_player *player, const char *why)
{
	const struct mor_player_cue *cue = player->at < player->count ? &player->cues[player->at] : NULL;
	struct heard *first = mor_list_empty(&player->heard) ?
				      NULL :
				      mor_container_of(player->heard.next, struct heard, node);

	differ_at(player, current_line(player), why, cue ? cue_text(cue) : NOTHING,
		  first ? heard_body(first) : NOTHING);
}

/* ---- comparing ---- */

/* The id that a reply must have: names have values by now. */
static bool id_fits(struct mor_player *player, const struct mor_player_cue *cue, const struct heard *heard)
{
	MOR_CLEAN(mor_buf) struct mor_buf id = MOR_BUF_INIT;

	if (mor_talk_fill(mor_slice_of(cue->head.id), &player->vars, &id, NULL) < 0)
		return true; /* a name without a value: any */
	return mor_slice_is(mor_buf_view(&id), heard->head.id);
}

static bool may_claim(struct mor_player *player, const struct mor_player_cue *cue, const struct heard *heard)
{
	if (cue->kind == MOR_CUE_NOISE || heard->noise)
		return (cue->kind == MOR_CUE_NOISE) == heard->noise;
	if (cue->any)
		return true;
	if (cue->reply != heard->reply)
		return false;
	return cue->reply ? id_fits(player, cue, heard) : strcmp(cue->head.method, heard->head.method) == 0;
}

static struct heard *find_claim(struct mor_player *player, const struct mor_player_cue *cue)
{
	struct mor_list *node;

	for (node = player->heard.next; node != &player->heard; node = node->next) {
		struct heard *heard = mor_container_of(node, struct heard, node);

		if (may_claim(player, cue, heard))
			return heard;
		if (player->opt->ordered)
			return heard; /* it is the wrong one, and that is the difference */
	}
	return NULL;
}

/* Something that came and that no line from here on can claim; NULL: none. */
static struct heard *find_surplus(struct mor_player *player)
{
	for (struct mor_list *node = player->heard.next; node != &player->heard; node = node->next) {
		struct heard *heard = mor_container_of(node, struct heard, node);
		bool wanted = false;

		for (size_t i = player->at; i < player->count && !wanted; i++)
			wanted = (player->cues[i].kind == MOR_CUE_EXPECT ||
				  player->cues[i].kind == MOR_CUE_NOISE) &&
				 may_claim(player, &player->cues[i], heard);
		if (!wanted)
			return heard;
	}
	return NULL;
}

/* Stars stand for anything up to what follows them. */
static bool noise_fits(struct mor_slice expected, struct mor_slice came)
{
	const char *stars;

	while ((stars = memmem(expected.ptr, expected.len, STARS, strlen(STARS)))) {
		size_t before = (size_t)(stars - expected.ptr);
		struct mor_slice rest = { stars + strlen(STARS), expected.len - before - strlen(STARS) };
		size_t n = 0;

		if (came.len < before || memcmp(came.ptr, expected.ptr, before) != 0)
			return false;
		came = (struct mor_slice){ came.ptr + before, came.len - before };
		while (n < came.len && !(rest.len && came.ptr[n] == rest.ptr[0]))
			n++;
		came = (struct mor_slice){ came.ptr + n, came.len - n };
		expected = rest;
	}
	return mor_slice_eq(expected, came);
}

static bool message_fits(struct mor_player *player, const struct mor_player_cue *cue, const struct heard *heard)
{
	struct mor_talk_compare how = { .ignored = player->opt->ignored };
	mortise_error err = { 0 };

	if (mor_talk_match_with(cue_text(cue), heard_body(heard), &player->vars, &how, &err) == 0)
		return true;
	if (!player->difference.line) {
		how.on_difference = keep_value;
		how.arg = &player->difference;
		(void)mor_talk_match_with(cue_text(cue), heard_body(heard), &player->vars, &how, &err);
	}
	differ_at(player, cue->step->line, err.text, cue_text(cue), heard_body(heard));
	/* a host that says something else still gets its answer: the id is taken from what it said */
	if (player->opt->as_plugin && cue->head.id[0] == '$' && heard->head.id[0])
		(void)mor_talk_var_set(&player->vars, mor_slice_of(cue->head.id + 1),
				       mor_slice_of(heard->head.id));
	return false;
}

static bool claim_fits(struct mor_player *player, const struct mor_player_cue *cue, const struct heard *heard)
{
	if (heard->noise != (cue->kind == MOR_CUE_NOISE)) {
		differ_at(player, cue->step->line,
			  heard->noise ? "bytes came that are no message" :
					 "a message came instead of other bytes",
			  cue_text(cue), heard_body(heard));
		return false;
	}
	if (!heard->noise)
		return message_fits(player, cue, heard);
	if (noise_fits(cue_text(cue), heard_body(heard)))
		return true;
	differ_at(player, cue->step->line, "other bytes came", cue_text(cue), heard_body(heard));
	return false;
}

static enum mor_player_need compare_heard(struct mor_player *player, const struct mor_player_cue *cue,
					  struct heard *heard)
{
	bool same = claim_fits(player, cue, heard);

	player->compared += cue->kind == MOR_CUE_EXPECT;
	if (player->on_compared)
		player->on_compared(player->arg, cue->step, same);
	forget(player, heard);
	player->at++;
	return same || player->opt->as_plugin ? MOR_PLAYER_DONE : MOR_PLAYER_DIFFERS;
}

/* A plugin that is played goes on: the host may have good reasons. */
static enum mor_player_need refuse_surplus(struct mor_player *player, struct mor_slice expected,
					   struct heard *surplus)
{
	char text[160];

	snprintf(text, sizeof(text), "the %s sent something that is not in the file", other_side(player));
	differ_at(player, current_line(player), text, expected, heard_body(surplus));
	if (!player->opt->as_plugin)
		return MOR_PLAYER_DIFFERS;
	forget(player, surplus);
	return MOR_PLAYER_DONE;
}

static void say_end(int code, int number, char *out, size_t size)
{
	const char *name = number > 0 ? sigabbrev_np(number) : NULL;

	if (number > 0)
		snprintf(out, size, "signal %s", name ? name : "?");
	else
		snprintf(out, size, "exit %d", code);
}

static void say_status(int status, char *out, size_t size)
{
	say_end(WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : -1, out,
		size);
}

static enum mor_player_need expect_heard(struct mor_player *player, const struct mor_player_cue *cue)
{
	struct heard *heard = find_claim(player, cue), *surplus;
	char text[160], ended[32];

	if (heard)
		return compare_heard(player, cue, heard);
	surplus = find_surplus(player);
	if (surplus)
		return refuse_surplus(player, cue_text(cue), surplus);
	if (!player->input_over)
		return MOR_PLAYER_INPUT;
	/* Usually the end follows at once, and says more. */
	if (!player->ended && !player->opt->as_plugin && !player->lingered) {
		player->lingered = true;
		return MOR_PLAYER_END;
	}
	say_status(player->status, ended, sizeof(ended));
	if (player->ended)
		snprintf(text, sizeof(text), "nothing came: the plugin ended with %s", ended);
	else
		snprintf(text, sizeof(text), "nothing came: the %s has closed its %s", other_side(player),
			 player->opt->as_plugin ? "side" : "stdout");
	return differ_at(player, cue->step->line, text, cue_text(cue), NOTHING);
}

/* ---- sending ---- */

/* "token" and "token_2" both name secret_token_2. */
static const char *secret_value(const struct mor_player *player, struct mor_slice name)
{
	for (const char *const *s = player->opt->secrets; s && *s; s++) {
		size_t len = strcspn(*s, "=");

		if ((*s)[len] && len <= name.len && memcmp(name.ptr, *s, len) == 0 &&
		    (len == name.len || name.ptr[len] == '_'))
			return *s + len + 1;
	}
	return "secret";
}

/* A name without a value in what we send: a secret, or a number that we choose, as a host does for ids. */
static void choose_value(void *arg, struct mor_slice name)
{
	struct mor_player *player = arg;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	size_t prefix = strlen(SECRET);

	if (mor_talk_var_get(&player->vars, name).ptr)
		return;
	if (name.len > prefix && memcmp(name.ptr, SECRET, prefix) == 0)
		mor_buf_json_string(&json, mor_slice_of(secret_value(player,
								     (struct mor_slice){ name.ptr + prefix,
											 name.len - prefix })));
	else if (player->opt->as_plugin)
		return; /* what it stands for has not come: that is told */
	else
		mor_buf_printf(&json, "%lld", (long long)++player->next_id);
	(void)mor_talk_var_set(&player->vars, name, mor_buf_view(&json));
}

static enum mor_player_need send_message(struct mor_player *player, const struct mor_player_cue *cue)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	mortise_error err = { 0 };
	char text[600];

	mor_talk_each_name(cue_text(cue), choose_value, player);
	if (mor_talk_fill(cue_text(cue), &player->vars, &body, &err) < 0) {
		snprintf(text, sizeof(text), "this message cannot be sent: %s", err.text);
		differ_at(player, cue->step->line, text, cue_text(cue), NOTHING);
		return MOR_PLAYER_STUCK;
	}
	if (player->on_message)
		player->on_message(player->arg, true, mor_buf_view(&body));
	mor_enframe(player->opt->framing, mor_buf_view(&body), &player->out);
	player->sent++;
	player->at++;
	return MOR_PLAYER_SEND;
}

/* ---- the end ---- */

/* A signal that no `>s` line has sent: in tests, `= signal TERM` alone means that the host sent it. */
static bool owes_signal(const struct mor_player *player, const struct mor_talk_step *step)
{
	return !player->ended && (step->signal == SIGTERM || step->signal == SIGKILL) &&
	       player->signalled != step->signal;
}

static enum mor_player_need end_plugin(struct mor_player *player, const struct mor_player_cue *cue)
{
	const struct mor_talk_step *step = cue->step;
	char want[32], have[32], text[160];

	if (owes_signal(player, step)) {
		player->signal = player->signalled = step->signal;
		return MOR_PLAYER_SIGNAL;
	}
	if (!player->ended)
		return MOR_PLAYER_END;
	say_end(step->exit_code, step->signal, want, sizeof(want));
	say_status(player->status, have, sizeof(have));
	player->at++;
	if (player->on_compared)
		player->on_compared(player->arg, step, strcmp(want, have) == 0);
	if (strcmp(want, have) == 0)
		return MOR_PLAYER_DONE;
	snprintf(text, sizeof(text), "the plugin ended with %s, not with %s", have, want);
	return differ_at(player, step->line, text, NOTHING, NOTHING);
}

static enum mor_player_need refuse_rest(struct mor_player *player)
{
	struct heard *surplus;
	enum mor_player_need need = MOR_PLAYER_DONE;

	while (need == MOR_PLAYER_DONE && (surplus = find_surplus(player)))
		need = refuse_surplus(player, NOTHING, surplus);
	return need;
}

static enum mor_player_need await_end(struct mor_player *player)
{
	enum mor_player_need need = refuse_rest(player);

	if (need != MOR_PLAYER_DONE)
		return need;
	if (!player->input_over)
		return MOR_PLAYER_INPUT;
	player->at++;
	return MOR_PLAYER_DONE;
}

/* ---- one cue ---- */

/* DONE: go on with the next cue. */
static enum mor_player_need play_cue(struct mor_player *player, const struct mor_player_cue *cue)
{
	bool as_plugin = player->opt->as_plugin;

	switch (cue->kind) {
	case MOR_CUE_SEND:
		return send_message(player, cue);
	case MOR_CUE_SEND_RAW:
		mor_buf_slice(&player->out, cue_text(cue));
		player->at++;
		return MOR_PLAYER_SEND;
	case MOR_CUE_CLOSE:
		player->at++;
		return MOR_PLAYER_CLOSE;
	case MOR_CUE_NOISE:
		if (player->opt->noise) {
			player->at++;
			return MOR_PLAYER_DONE;
		}
		return expect_heard(player, cue);
	case MOR_CUE_EXPECT:
		return expect_heard(player, cue);
	case MOR_CUE_OVER:
		return await_end(player);
	case MOR_CUE_WAIT:
		player->at++;
		player->pause_ms = cue->step->ms;
		return player->opt->pace ? MOR_PLAYER_PAUSE : MOR_PLAYER_DONE;
	case MOR_CUE_SIGNAL:
		player->at++;
		player->signal = player->signalled = cue->step->signal;
		return as_plugin ? MOR_PLAYER_DONE : MOR_PLAYER_SIGNAL;
	case MOR_CUE_END:
		break;
	}
	if (!as_plugin)
		return end_plugin(player, cue);
	player->end = cue->step;
	return MOR_PLAYER_END;
}

enum mor_player_need mor_player_next(struct mor_player *player)
{
	enum mor_player_need need = MOR_PLAYER_DONE;

	while (need == MOR_PLAYER_DONE && player->at < player->count)
		need = play_cue(player, &player->cues[player->at]);
	return need == MOR_PLAYER_DONE ? refuse_rest(player) : need;
}
