/* SPDX-License-Identifier: Apache-2.0 */
/* One .talk script that is being played: what the host has told so far, and what of it was claimed. */
#ifndef TESTS_UNIT_HOST_TALK_PLAY_H
#define TESTS_UNIT_HOST_TALK_PLAY_H

#include "script.h"
#include "talk/talk.h"

#define MANY 64

struct call_record {
	mortise_call *handle;
	bool settled, claimed;
	int status;
	int64_t rpc_code;
	char *result, *data, *error;
	char *pieces[MANY];
	int piece_count, pieces_claimed;
};

struct event_record {
	enum mortise_event_type type;
	char *text, *level, *method, *params;
	bool claimed;
};

struct asked_record {
	mortise_request *request;
	char *method, *params;
	bool claimed, answered;
};

struct play {
	const char *path;
	struct mor_talk talk, greeting; /* the talk's steps may lie in the greeting */
	struct mor_talk_vars vars;
	mortise_host *host;
	mortise_plugin *plugin;
	struct call_record calls[MANY];
	struct event_record events[4096];
	struct asked_record asked[MANY];
	int call_count, event_count, asked_count;
	struct script_link *last;
};

_Noreturn void die(const struct play *play, unsigned line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void settle_loop(struct play *play);
struct script_link *running(struct play *play, unsigned line);
/* The first event that fits and is not claimed yet; NULL: no event does. */
struct event_record *find_event(struct play *play, struct mor_slice rest, unsigned line);
/* To be freed; NULL where no text is given. */
char *talk_copy(mortise_json json);

/* talk_acts.c */
void do_act(struct play *play, const struct mor_talk_step *step);

#endif
