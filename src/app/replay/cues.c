/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the lines of a file to what a player does. Raw bytes of the other side are cut into messages, as they
 * will arrive. Ids that the other side chooses become names, so that any id will do.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "replay/player.h"
#include "wire/json.h"

/* ---- ids ---- */

/* The ids that the other side has used, and the names that stand for them. */
struct ids {
	struct id {
		char text[64];
		size_t name; /* $_NAME */
	} * list;
	size_t count, cap, names;
};

static struct id *find_id(struct ids *ids, const char *text)
{
	for (size_t i = ids->count; i-- > 0;)
		if (strcmp(ids->list[i].text, text) == 0)
			return &ids->list[i];
	return NULL;
}

static struct id *learn_id(struct ids *ids, const char *text)
{
	struct id *id = find_id(ids, text);

	if (!id) {
		if (mor_grow(&ids->list, ids->count, &ids->cap, sizeof(*ids->list)) < 0)
			return NULL;
		id = &ids->list[ids->count++];
		mor_text_keep(id->text, sizeof(id->text), text, strlen(text));
	}
	id->name = ++ids->names;
	return id;
}

/* The value as it is, or the name of the id that it is. */
static void write_id(struct mor_writer *w, struct ids *ids, const struct mor_value *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	const struct id *id = NULL;
	char name[32];

	if (mor_json_write(value, false, &json) == 0 && mor_buf_byte(&json, '\0') == 0)
		id = find_id(ids, json.data);
	if (!id) {
		mor_w_value(w, value);
		return;
	}
	snprintf(name, sizeof(name), "$_%zu", id->name);
	mor_w_raw(w, mor_slice_of(name));
}

static void write_params(struct mor_writer *w, struct ids *ids, const char *ref, const struct mor_value *params)
{
	struct mor_json_iter it = mor_json_iter(params);

	if (!ref || mor_json_type(params) != MOR_JSON_OBJECT) {
		mor_w_value(w, params);
		return;
	}
	mor_w_object(w);
	while (mor_json_next(&it)) {
		mor_w_key_slice(w, it.name);
		if (mor_slice_is(it.name, ref))
			write_id(w, ids, it.value);
		else
			mor_w_value(w, it.value);
	}
	mor_w_end(w);
}

/* The message with names for the ids of the other side. `theirs`: it is from there. */
static void name_ids(const struct mor_value *root, struct ids *ids, const char *ref, bool theirs,
		     struct mor_buf *out)
{
	struct mor_writer w = { .out = out };
	struct mor_json_iter it = mor_json_iter(root);
	bool reply = !mor_json_get(root, "method");

	mor_w_object(&w);
	while (mor_json_next(&it)) {
		mor_w_key_slice(&w, it.name);
		if (mor_slice_is(it.name, "id") && theirs != reply)
			write_id(&w, ids, it.value);
		else if (mor_slice_is(it.name, "params") && !theirs)
			write_params(&w, ids, ref, it.value);
		else
			mor_w_value(&w, it.value);
	}
	mor_w_end(&w);
}

/* ---- cues ---- */

struct maker {
	struct mor_player *player;
	struct ids ids;
	const struct mor_talk_step *step;
	struct mor_cutter cutter; /* of their raw bytes */
	int status;
};

static void add_cue(struct maker *maker, enum mor_player_cue_kind kind, struct mor_slice text)
{
	struct mor_player *player = maker->player;
	struct mor_player_cue *cue;
	char *copy = mor_strndup(text.ptr ? text.ptr : "", text.len);

	if (!copy || mor_grow(&player->cues, player->count, &player->cap, sizeof(*cue)) < 0) {
		mor_free(copy);
		maker->status = MORTISE_ENOMEM;
		return;
	}
	cue = &player->cues[player->count++];
	*cue = (struct mor_player_cue){ .kind = kind, .step = maker->step, .text = copy, .len = text.len };
	if (kind != MOR_CUE_EXPECT)
		return;
	mor_talk_look(text, &cue->head);
	cue->any = strcmp(copy, "...") == 0;
	cue->reply = !cue->head.method[0] && cue->head.id[0];
}

/* Only plain JSON is rewritten: who writes names has named the ids too. */
static void add_message(struct maker *maker, bool theirs, struct mor_slice text)
{
	MOR_CLEAN(mor_buf) struct mor_buf named = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_talk_head look;
	bool plain = mor_doc_parse(text, MOR_JSON_NAN, MOR_JSON_DEPTH_MAX, &doc, NULL) == 0 &&
		     mor_json_type(mor_doc_root(doc)) == MOR_JSON_OBJECT;

	mor_talk_look(text, &look);
	if (plain && theirs && look.method[0] && look.id[0] && !learn_id(&maker->ids, look.id))
		maker->status = MORTISE_ENOMEM;
	if (plain && maker->ids.count) {
		name_ids(mor_doc_root(doc), &maker->ids, maker->player->opt->ref, theirs, &named);
		if (named.status)
			maker->status = MORTISE_ENOMEM;
		else
			text = mor_buf_view(&named);
	}
	if (!theirs || !mor_player_skips(maker->player, look.method))
		add_cue(maker, theirs ? MOR_CUE_EXPECT : MOR_CUE_SEND, text);
}

static void add_item(void *arg, enum mor_item_kind kind, struct mor_slice whole, const struct mor_item *item)
{
	struct maker *maker = arg;

	if (kind == MOR_ITEM_FRAME && mor_talk_check(item->body, NULL) == 0)
		add_message(maker, true, item->body);
	else if (kind != MOR_ITEM_BLANK)
		add_cue(maker, MOR_CUE_NOISE, whole);
}

static void add_raw(struct maker *maker, bool theirs, struct mor_slice bytes)
{
	if (!theirs)
		add_cue(maker, MOR_CUE_SEND_RAW, bytes);
	else if (mor_cutter_feed(&maker->cutter, bytes, !bytes.ptr, add_item, maker) < 0)
		maker->status = MORTISE_ENOMEM;
}

static void add_step(struct maker *maker)
{
	const struct mor_talk_step *step = maker->step;
	bool as_plugin = maker->player->opt->as_plugin;
	struct mor_slice none = { NULL, 0 };

	switch (step->kind) {
	case MOR_TALK_SEND:
	case MOR_TALK_RECEIVE:
		add_message(maker, (step->kind == MOR_TALK_SEND) == as_plugin, step->text);
		break;
	case MOR_TALK_SEND_RAW:
	case MOR_TALK_RECEIVE_RAW:
		add_raw(maker, (step->kind == MOR_TALK_SEND_RAW) == as_plugin, step->text);
		break;
	case MOR_TALK_SEND_END:
	case MOR_TALK_RECEIVE_END:
		if ((step->kind == MOR_TALK_SEND_END) == as_plugin)
			add_raw(maker, true, none);
		add_cue(maker, (step->kind == MOR_TALK_SEND_END) == as_plugin ? MOR_CUE_OVER : MOR_CUE_CLOSE,
			none);
		break;
	case MOR_TALK_WAIT:
		add_cue(maker, MOR_CUE_WAIT, none);
		break;
	case MOR_TALK_SIGNAL:
		add_cue(maker, MOR_CUE_SIGNAL, none);
		break;
	case MOR_TALK_EXIT:
		add_cue(maker, MOR_CUE_END, none);
		break;
	case MOR_TALK_STDERR:
	case MOR_TALK_EVENT:
	case MOR_TALK_ACT:
		break;
	}
}

int mor_player_make_cues(struct mor_player *player)
{
	struct maker maker = { .player = player };

	mor_cutter_init(&maker.cutter, (int)player->opt->framing, 0);
	for (size_t i = 0; i < player->talk->count && maker.status == 0; i++) {
		maker.step = &player->talk->steps[i];
		add_step(&maker);
	}
	mor_cutter_fini(&maker.cutter);
	mor_free(maker.ids.list);
	return maker.status;
}
