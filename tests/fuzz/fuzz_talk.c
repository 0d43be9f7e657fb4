/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts that are read are written and read again; a pattern fits what it was filled to; a script may be
 * another's greeting, or its own; the canonical form says the same. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "talk/talk.h"

static void check_pattern(struct mor_slice pattern)
{
	MOR_CLEAN(mor_buf) struct mor_buf filled = MOR_BUF_INIT;
	struct mor_talk_vars vars = { NULL };

	CHECK(mor_talk_check(pattern, NULL) == 0);
	if (mor_talk_fill(pattern, &vars, &filled, NULL) == 0)
		CHECK(mor_talk_match(pattern, mor_buf_view(&filled), &vars, NULL) == 0);
	mor_talk_match(pattern, MOR_SLICE("{\"id\":1,\"params\":{\"a\":[1,2]}}"), &vars, NULL);
	mor_talk_vars_fini(&vars);
}

static void ignore_change(void *arg, const struct mor_talk_step *a, const struct mor_talk_step *b)
{
	(void)arg;
	(void)a;
	(void)b;
}

static void check_rewritten(const struct mor_talk *talk)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_talk again;

	CHECK(mor_buf_text(&out, "talk 1 again\n") == 0);
	for (size_t i = 0; i < talk->count; i++)
		CHECK(mor_talk_write(&out, talk->steps[i].kind, talk->steps[i].text) == 0);
	CHECK(mor_talk_parse(mor_buf_view(&out), &again, NULL) == 0);
	CHECK(again.count == talk->count);
	for (size_t i = 0; i < talk->count; i++) {
		const struct mor_talk_step *a = &talk->steps[i], *b = &again.steps[i];

		CHECK(a->kind == b->kind && a->ms == b->ms && a->exit_code == b->exit_code &&
		      a->signal == b->signal);
		if (a->kind == MOR_TALK_SEND_RAW || a->kind == MOR_TALK_RECEIVE_RAW)
			CHECK(mor_slice_eq(a->text, b->text));
	}
	mor_talk_fini(&again);
}

/* The canonical form of a script is one, and says the same. */
static void check_formatted(struct mor_slice text)
{
	MOR_CLEAN(mor_buf) struct mor_buf once = MOR_BUF_INIT, twice = MOR_BUF_INIT;
	static const char *const ignored[] = { "/id", NULL };
	struct mor_talk before, after;
	struct mor_talk_diff_options opt = { .ignored = ignored, .on_change = ignore_change };

	CHECK(mor_talk_format(text, &once, NULL) == 0);
	CHECK(mor_talk_format(mor_buf_view(&once), &twice, NULL) == 0);
	CHECK(mor_slice_eq(mor_buf_view(&once), mor_buf_view(&twice)));
	CHECK(mor_talk_parse(text, &before, NULL) == 0 &&
	      mor_talk_parse(mor_buf_view(&once), &after, NULL) == 0);
	CHECK(before.count == after.count && mor_talk_diff(&before, &after, &opt) == 0);
	mor_talk_fini(&before);
	mor_talk_fini(&after);
}

static void check_greeted(struct mor_talk *talk)
{
	static const char head[] = "talk 1 again\n* greeted\n* greets\n= exit 0\n";
	struct mor_talk greeted;
	unsigned at = mor_talk_greeted_at(talk);
	bool fits = !at && strcmp(talk->dialect, "again") == 0;

	CHECK(mor_talk_parse(MOR_SLICE(head), &greeted, NULL) == 0);
	CHECK((mor_talk_greet(&greeted, talk, NULL) == 0) == fits);
	CHECK(greeted.count == (fits ? 2 * talk->count + 3 : 3));
	mor_talk_fini(&greeted);
	CHECK((mor_talk_greet(talk, talk, NULL) == 0) == !at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mor_talk talk;
	mortise_error err = { 0 };
	int r = mor_talk_parse((struct mor_slice){ (const char *)data, size }, &talk, &err);

	CHECK(r == 0 || (r == MORTISE_EMANIFEST && err.text[0]));
	if (r < 0)
		return 0;
	for (size_t i = 0; i < talk.count; i++)
		if (talk.steps[i].kind == MOR_TALK_SEND || talk.steps[i].kind == MOR_TALK_RECEIVE)
			check_pattern(talk.steps[i].text);
	check_rewritten(&talk);
	check_formatted((struct mor_slice){ (const char *)data, size });
	check_greeted(&talk);
	mor_talk_fini(&talk);
	return 0;
}
