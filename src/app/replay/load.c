/* SPDX-License-Identifier: Apache-2.0 */
/* A file, and what else belongs to it. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/args.h"
#include "dialect/dialect.h"
#include "replay/replay.h"

#define REPLAY_FILE_LIMIT ((size_t)1 << 30)
#define GREETING          "greeting.inc"

int mor_replay_read(const char *path, struct mor_talk *ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r = mor_args_read(path, REPLAY_FILE_LIMIT, &text, err);

	if (r < 0)
		return r;
	if ((r = mor_talk_parse(mor_buf_view(&text), ret, err)) < 0)
		mor_fail_prefix(err, path);
	return r;
}

static int load_greeting(struct mor_replay *replay, mortise_error *err)
{
	size_t dir = (size_t)(mor_base_name(replay->file) - replay->file);
	MOR_CLEAN_TEXT char *path = mor_text_format("%.*s" GREETING, (int)dir, replay->file);
	int r = path ? mor_replay_read(path, &replay->greeting, err) : mor_fail_memory(err);

	return r < 0 ? r : mor_talk_greet(&replay->talk, &replay->greeting, err);
}

/* The framing of the dialect, and the member that names a call in its notifications. */
static int load_dialect(struct mor_replay *replay, mortise_error *err)
{
	const struct mor_dialect *dialect = mor_dialect_find(replay->talk.dialect);
	int framing = replay->talk.framing ? mor_framing_by_name(replay->talk.framing) :
		      dialect              ? (int)dialect->link.framing :
					     -1;

	if (!dialect && !replay->talk.framing) {
		int r = mor_runner_dialect_unknown(replay->talk.dialect, err);

		mor_fail_prefix(err, replay->file);
		return r;
	}
	replay->play.framing = framing < 0 ? MOR_FRAMING_LINES : (enum mor_framing)framing;
	for (const struct mor_method *row = dialect ? dialect->methods : NULL; row && row->name; row++) {
		const char *ref = mor_outcome_of(row)->ref;

		if (ref && *ref == '/' && !strchr(ref + 1, '/') && !replay->play.ref)
			replay->play.ref = ref + 1;
	}
	return 0;
}

int mor_replay_load(struct mor_replay *replay, const char *file, mortise_error *err)
{
	int r;

	replay->file = file;
	r = mor_replay_read(file, &replay->talk, err);
	if (r == 0 && mor_talk_greeted_at(&replay->talk))
		r = load_greeting(replay, err);
	return r < 0 ? r : load_dialect(replay, err);
}

void mor_replay_fini(struct mor_replay *replay)
{
	mor_talk_fini(&replay->talk);
	mor_talk_fini(&replay->greeting);
}
