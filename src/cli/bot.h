/*
 * mortise chat --config bot.toml: a chat bot whose plugins speak the ayiou dialect.
 *
 *	bot_chat.c    the run: plugins up, lines in, end       bot_walk.c   an event's way through the plugins
 *	bot_seat.c    one plugin and what waits for it         bot_act.c    what a plugin's answer amounts to
 *	bot_tell.c    what a person should know                bot_out.c    calls, and readers that are slow
 *
 * An event asks every plugin at once whether it matches, and is then handled by those that do, one after the other
 * in the order of their priority, until one blocks it. Events walk side by side, but no plugin handles a later one
 * before an earlier one. What is for one plugin waits in its own queue, in order, and only as much as the plugin may have at once is given to the host: so a crash
 * costs the event that the plugin held, and no other.
 *
 * Callbacks of the host only note what happened; what follows is done in mor_bot_tend(), outside of them.
 */
#ifndef MOR_CLI_BOT_H
#define MOR_CLI_BOT_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/list.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "manifest/bot.h"
#include "onebot/onebot.h"

#define MOR_BOT_QUEUE 1024 /* events that may wait for one plugin */

struct mor_bot_walk;
struct mor_seat;

enum mor_job_kind { MOR_JOB_MATCHES, MOR_JOB_HANDLE, MOR_JOB_CONNECT };

/* One call that a plugin is to get. Part of a visit, or of a seat (CONNECT). */
struct mor_job {
	struct mor_list node;
	struct mor_seat *seat;
	struct mor_bot_walk *walk; /* NULL: CONNECT */
	enum mor_job_kind kind;
	int64_t since_ms; /* waits since */
};

enum mor_visit_state {
	MOR_VISIT_ASKED,    /* matches is under way          */
	MOR_VISIT_MATCHED,  /* its turn will come            */
	MOR_VISIT_HANDLING,
	MOR_VISIT_OVER
};

struct mor_visit {
	struct mor_job job;
	enum mor_visit_state state;
};

struct mor_bot_walk {
	struct mor_list node;
	struct mor_bot_run *run;
	struct mor_onebot_event event;
	uint64_t number;  /* its line in the input */
	size_t turn;      /* whose it is; all behind: blocked, or done */
	unsigned open;    /* jobs under way */
	struct mor_visit visits[];
};

/* One plugin of the bot. */
struct mor_seat {
	struct mor_bot_run *run;
	const struct mor_bot_plugin *config;
	mortise_plugin *plugin;
	size_t index;
	char *label;              /* what people read: metadata.name and the key     */
	char **commands;          /* metadata.commands with aliases; or NULL         */
	struct mor_list queue;    /* of mor_job, oldest first                        */
	struct mor_list matched;  /* of mor_job: events it will handle, earliest first, when their turn comes */
	unsigned waiting, given;  /* in the queue; with the host                     */
	unsigned most;            /* that the plugin may have at once                */
	uint32_t matches_ms;      /* the limit of matches                            */
	struct mor_job connect;
	bool connect_queued;
	bool started, fresh;      /* fresh: has just become ready                    */
	bool late;                /* owes an answer that nobody waits for any more   */
	bool dead;                /* and will not come back                          */
	char why[400];            /* the text of its last state                      */
	char told[200];           /* the last warning, and how often it came since   */
	unsigned repeats;
};

/* Calls that stdout has not taken yet. */
struct mor_bot_out {
	struct mor_buf bytes;
	size_t sent; /* of them */
	bool full;   /* too much: nobody is asked for more */
	bool told;
};

struct mor_bot_run {
	struct mor_cli *cli;
	struct mor_session session;
	struct mor_bot *config;
	struct mor_seat *seats;
	size_t count;
	struct mor_list walks;
	struct mor_bot_out out;
	char *self_id;            /* of the bot, once it is connected; or NULL       */
	uint64_t line;            /* read so far                                     */
	bool stopping;
	int exit_code;
};

/* The whole command. `path` is the TOML file. Returns the exit code. */
int mor_bot_chat(struct mor_cli *cli, const struct mor_plugin_args *args, const char *path);

/* ---- bot_seat.c ---- */
int mor_seat_open(struct mor_seat *seat, mortise_error *err);
void mor_seat_close(struct mor_seat *seat); /* its process, if any, is killed */
void mor_seat_free(struct mor_seat *seat);
/* To the end of its queue; with the front: before all others. */
void mor_seat_queue(struct mor_seat *seat, struct mor_job *job, bool front);
/* Tells it that the bot is connected, in its turn. */
void mor_seat_connect(struct mor_seat *seat, bool front);
/* Looks after it: restart, end, whatever can be given. */
void mor_seat_tend(struct mor_seat *seat);
bool mor_seat_is_settled(const struct mor_seat *seat); /* ready or dead */
/* Would the text be hidden from it by prefilter? */
bool mor_seat_hides(const struct mor_seat *seat, struct mor_slice text);
/* More than half of its queue is taken by what it will soon have done: reading may wait for it. */
bool mor_seat_is_behind(const struct mor_seat *seat, int64_t now_ms);
/* What waits has waited for somebody else: its time begins now. */
void mor_seat_renew(struct mor_seat *seat);

/* ---- bot_walk.c ---- */
/* Takes the event. 0 or MORTISE_ENOMEM. */
int mor_walk_begin(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err);
/* A job has ended: reply NULL means that the plugin never got it. */
void mor_walk_job_done(struct mor_job *job, const mortise_reply *reply);
/* What it was to handle passes it by. */
void mor_walk_seat_died(struct mor_seat *seat);
void mor_walk_free_all(struct mor_bot_run *run);

/* ---- bot_act.c ---- */
bool mor_bot_matches(mortise_json result);
/* Reply and actions go out; true: the event is blocked. */
bool mor_bot_act(struct mor_seat *seat, const struct mor_bot_walk *walk, mortise_json result);

/* ---- bot_out.c ---- */
/* One line with its newline. 0 or MORTISE_ENOMEM. */
int mor_bot_out_put(struct mor_bot_run *run, struct mor_slice line);
size_t mor_bot_out_waiting(const struct mor_bot_run *run);
/* As much as the reader takes without waiting. */
void mor_bot_out_flush(struct mor_bot_run *run);
/* The rest, however long the reader takes; after a signal 2 seconds. What is left then is told, and lost. */
void mor_bot_out_drain(struct mor_bot_run *run);

/* ---- bot_tell.c: one line on stderr each; with --json one object ---- */
/* `seat` may be NULL, `event` 0. `what` is the first word: a kind of error, "overloaded", "warning", ... */
void mor_bot_tell(struct mor_bot_run *run, const struct mor_seat *seat, const char *what, uint64_t event,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));
/* One line says which plugin failed on which event, whatever the reason, with the plugin's own `data`. */
void mor_bot_tell_failure(const struct mor_job *job, const mortise_reply *reply);
/* The same warning over and over is told once, and how often it came when another one comes. */
void mor_bot_warn(struct mor_seat *seat, const char *text);
void mor_bot_warn_end(struct mor_seat *seat);
void mor_bot_event(const mortise_event *event, void *seat);

#endif
