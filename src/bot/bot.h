/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise chat --config bot.toml: a chat bot whose plugins speak the ayiou dialect.
 *
 *	run.c     the run: plugins up, events in, end      walk.c   an event's way through the plugins
 *	seat.c    one plugin and what waits for it         act.c    what a plugin's answer amounts to
 *	body.c    one process of a plugin                  tell.c   what a person should know
 *	reload.c  the file, now and when it changes        out.c    readers that are slow
 *	lines.c   events from stdin, calls to stdout: out.c
 *	net.c     events from the network                  api.c    calls to the network, and what becomes of them
 *
 * An event asks every plugin at once whether it matches, and is then handled by those that do, one after the other
 * in the order of their priority, until one blocks it. Events walk side by side, but no plugin handles a later one
 * before an earlier one. What is for one plugin waits in its own queue, in order, and only as much as the plugin may
 * have at once is given to the host: so a crash costs the event that the plugin held, and no other.
 *
 * A plugin that the file changes while the bot runs is started anew beside the process that is there, which goes on
 * until the new one is ready and its own last answer is in. Whatever waits, waits at the seat, and is not touched by that.
 *
 * Callbacks of the host only note what happened; what follows is done in tend_all() of run.c, outside of them.
 */
#ifndef MOR_BOT_BOT_H
#define MOR_BOT_BOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <mortise/mortise.h>

#include "base/list.h"
#include "console/console.h"
#include "manifest/bot.h"
#include "onebot/link.h"
#include "onebot/onebot.h"
#include "runner/runner.h"

#define MOR_BOT_QUEUE 1024 /* events that may wait for one plugin */

struct mor_bot_walk;
struct mor_bot_seat;

enum mor_bot_job_kind { MOR_BOT_JOB_MATCHES, MOR_BOT_JOB_HANDLE, MOR_BOT_JOB_CONNECT, MOR_BOT_JOB_RESULT };

/* One call that a plugin is to get. Part of a visit, or of a seat (CONNECT), or by itself (RESULT). */
struct mor_bot_job {
	struct mor_list node;
	struct mor_bot_seat *seat;
	struct mor_bot_walk *walk; /* NULL: CONNECT, RESULT */
	enum mor_bot_job_kind kind;
	int64_t since_ms; /* waits since */
	char *params;     /* RESULT: its own */
};

enum mor_bot_visit_state {
	MOR_BOT_VISIT_ASKED,    /* matches is under way          */
	MOR_BOT_VISIT_MATCHED,  /* its turn will come            */
	MOR_BOT_VISIT_HANDLING,
	MOR_BOT_VISIT_OVER
};

struct mor_bot_visit {
	struct mor_bot_job job;
	enum mor_bot_visit_state state;
};

struct mor_bot_walk {
	struct mor_list node;
	struct mor_bot_run *run;
	struct mor_onebot_event event;
	uint64_t number;  /* its line in the input */
	size_t count;     /* of the plugins that there were when it came */
	size_t turn;      /* whose it is; all behind: blocked, or done */
	unsigned open;    /* jobs under way */
	struct mor_bot_visit visits[];
};

/* One process of a plugin, and the part of the file that it runs by. */
struct mor_bot_body {
	struct mor_list node;         /* of run->bodies */
	struct mor_bot_seat *seat;
	struct mor_botfile_plugin config; /* its own */
	uint64_t print;               /* of the files that its command line names: another one, another program */
	mortise_plugin *plugin;
	bool fresh;                   /* has just become ready                           */
	bool arrived;                 /* and that is to be told: it came while the bot ran */
	bool retired;                 /* is only to end, and then to be freed            */
	char why[400];                /* the text of its last state                      */
};

/* One plugin of the bot. */
struct mor_bot_seat {
	struct mor_bot_run *run;
	char *name;               /* its key in the file                             */
	char *label;              /* what people read: metadata.name and the key     */
	char **commands;          /* metadata.commands with aliases; or NULL         */
	struct mor_bot_body *body;    /* NULL: has not been ready yet                    */
	struct mor_bot_body *next;    /* starts, and takes its place; or NULL            */
	struct mor_list queue;    /* of mor_bot_job, oldest first                        */
	struct mor_list matched;  /* of mor_bot_job: events it will handle, earliest first, when their turn comes */
	unsigned waiting, given;  /* in the queue; with the host                     */
	unsigned most;            /* that the plugin may have at once                */
	uint32_t matches_ms;      /* the limit of matches                            */
	struct mor_bot_job connect;
	bool connect_queued;
	bool late;                /* owes an answer that nobody waits for any more   */
	bool dead;                /* and will not come back                          */
	bool wants_results;       /* metadata.results                                */
	bool leaving;             /* no longer in the file: does what it has, then ends */
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

/* A call on its way to the network, or waiting for its answer. */
struct mor_bot_api_call {
	struct mor_list node;
	uint64_t number;       /* the end of its echo                                 */
	uint64_t event;        /* that it answers                                     */
	uint64_t peer;         /* the connection it was sent over; 0: not sent yet    */
	int64_t due_ms;        /* 0: waits for an earlier one to the same target      */
	char *plugin;          /* whose it is: the key                                */
	char *self_id;         /* the account; or NULL                                */
	bool group;
	char *target;
	int index;             /* of the action; -1: the reply                        */
	char *json;
	size_t len;
};

/* Calls, oldest first. */
struct mor_bot_api {
	struct mor_list calls;
	unsigned count;
	size_t bytes;
	uint64_t last;  /* number given */
	bool look;      /* one may be sent now */
};

/* Events from the network that wait until plugins have caught up. */
struct mor_bot_net {
	struct mor_onebot_link *link; /* NULL: stdin and stdout instead */
	struct mor_list inbox;
	unsigned count;
	size_t bytes;
	unsigned late;         /* came while the bot was ending  */
	bool paused;           /* nothing is read: too much waits */
	int terminal;          /* that we were started at; -1: none. Its end is ours */
};

/* The file, looked after for changes. */
struct mor_bot_watch {
	int fd;           /* inotify; -1: none                              */
	struct stat last; /* of the file, when it was read                  */
};

struct mor_bot_run {
	struct mor_console *console;
	struct mor_runner runner;
	const char *path;         /* of the file                                     */
	struct mor_botfile *config;   /* as it was at the start; its plugins are with the bodies */
	struct mor_bot_watch watch;
	struct mor_bot_seat **seats;  /* in the order of their turns                     */
	size_t count;
	struct mor_bot_seat **gone;   /* those that are leaving                          */
	size_t gone_count;
	struct mor_list bodies;
	struct mor_list walks;
	struct mor_bot_out out;
	struct mor_bot_net net;
	struct mor_bot_api api;
	char *self_id;            /* of the bot, once it is connected; or NULL       */
	uint64_t line;            /* read so far                                     */
	bool stdio;               /* never the network                               */
	bool started;             /* all plugins were ready or dead, once            */
	bool stopping;
	int exit_code;
};

/* All of it. `path` is the TOML file; stdio: not the network, whatever the file says. Returns the exit code. */
int mor_bot_chat(struct mor_console *console, const struct mor_plugin_args *args, const char *path, bool stdio);

/* ---- body.c ---- */
/* Takes the config, whatever becomes of it. 0, or why there cannot be such a plugin. */
int mor_bot_body_new(struct mor_bot_seat *seat, struct mor_botfile_plugin *config, struct mor_bot_body **ret, mortise_error *err);
/* Cannot fail: one that does not start is FAILED, and tended as that. */
void mor_bot_body_start(struct mor_bot_body *body);
/* STOPPED though nobody asked for it: started again where the file wants that. false: it is not. */
bool mor_bot_body_revive(struct mor_bot_body *body);
/* Has it come to rest? */
bool mor_bot_body_is_over(const struct mor_bot_body *body);
/* Is it ready for calls? NULL is not. */
bool mor_bot_body_is_ready(const struct mor_bot_body *body);
/* Politely to its end; it is freed behind that. NULL is fine. */
void mor_bot_body_retire(struct mor_bot_body *body);
/* What is left of it; a process that still runs is killed. */
void mor_bot_body_free(struct mor_bot_body *body);
/* Frees those that have come to their end. */
void mor_bot_bodies_tend(struct mor_bot_run *run);
/* Of the files that a command line names, by inode, size and time. */
uint64_t mor_bot_body_print(const struct mor_botfile_plugin *config);

/* ---- seat.c ---- */
struct mor_bot_seat *mor_bot_seat_new(struct mor_bot_run *run, const char *name); /* NULL: out of memory */
void mor_bot_seat_free(struct mor_bot_seat *seat);
void mor_bot_job_free(struct mor_bot_job *job); /* RESULT; the others are parts of something */
/* Nothing is under way or to come. */
bool mor_bot_seat_is_idle(const struct mor_bot_seat *seat);
/* To the end of its queue; with the front: before all others. */
void mor_bot_seat_queue(struct mor_bot_seat *seat, struct mor_bot_job *job, bool front);
/* Tells it that the bot is connected, in its turn. */
void mor_bot_seat_connect(struct mor_bot_seat *seat, bool front);
/* Looks after it: restart, end, whatever can be given. */
void mor_bot_seat_tend(struct mor_bot_seat *seat);
/* Would the text be hidden from it by prefilter? */
bool mor_bot_seat_hides(const struct mor_bot_seat *seat, struct mor_slice text);
/* More than half of its queue is taken by what it will soon have done: reading may wait for it. */
bool mor_bot_seat_is_behind(const struct mor_bot_seat *seat, int64_t now_ms);
/* What waits has waited for somebody else: its time begins now. */
void mor_bot_seat_renew(struct mor_bot_seat *seat);

/* ---- walk.c ---- */
/* Takes the event. 0 or MORTISE_ENOMEM. */
int mor_bot_walk_begin(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err);
/* A job has ended: reply NULL means that the plugin never got it. One that stands by itself is freed. */
void mor_bot_walk_job_done(struct mor_bot_job *job, const mortise_reply *reply);
/* What it was to handle passes it by. */
void mor_bot_walk_seat_died(struct mor_bot_seat *seat);
void mor_bot_walk_free_all(struct mor_bot_run *run);

/* ---- act.c ---- */
bool mor_bot_matches(mortise_json result);
/* Reply and actions go out; true: the event is blocked. */
bool mor_bot_act(struct mor_bot_seat *seat, const struct mor_bot_walk *walk, mortise_json result);

/* ---- out.c ---- */
/* Too many calls wait: until half of them have gone no event is read or given to a plugin. Told once, with this text. */
void mor_bot_set_full(struct mor_bot_run *run, bool full, const char *text);
/* One line with its newline. 0 or MORTISE_ENOMEM. */
int mor_bot_out_put(struct mor_bot_run *run, struct mor_slice line);
size_t mor_bot_out_waiting(const struct mor_bot_run *run);
/* As much as the reader takes without waiting. */
void mor_bot_out_flush(struct mor_bot_run *run);
/* The rest, however long the reader takes; after a signal 2 seconds. What is left then is told, and lost. */
void mor_bot_out_drain(struct mor_bot_run *run);

/* ---- reload.c ---- */
/* A seat for every plugin in run->config, which starts; the file is watched from now on. 0, or what keeps the bot from running. */
int mor_bot_open(struct mor_bot_run *run, mortise_error *err);
void mor_bot_close(struct mor_bot_run *run);
/* Looks after those that the file no longer has. */
void mor_bot_tend_gone(struct mor_bot_run *run);
/* Reads it again: what is new starts, what has changed is replaced, what is gone ends, all else goes on. A file that is wrong
 * is told, and changes nothing. */
void mor_bot_reload(struct mor_bot_run *run);
/* Has it changed? Then it is read again. */
void mor_bot_watch_look(struct mor_bot_run *run);

/* ---- lines.c: stdin ---- */
struct mor_bot_lines {
	struct mor_buf bytes;
	size_t seen;   /* no newline before this */
	bool ended;
	bool too_long; /* the rest of this line is thrown away */
};
/* As many whole lines as may be taken now. */
void mor_bot_lines_feed(struct mor_bot_run *run, struct mor_bot_lines *in);
void mor_bot_lines_read(struct mor_bot_run *run, struct mor_bot_lines *in);

/* ---- net.c ---- */
/* Connects, or listens, as the file says. Where it says nothing of that, stdin and stdout are the network. */
int mor_bot_net_open(struct mor_bot_run *run, mortise_error *err);
/* Events from the inbox, as many as may be taken now. */
void mor_bot_net_feed(struct mor_bot_run *run);
/* Says good-bye; what was sent has a moment for its answer. One more signal ends that. */
void mor_bot_net_close(struct mor_bot_run *run);
void mor_bot_net_free(struct mor_bot_run *run);

/* ---- api.c ---- */
/* A call of a plugin, by its number; `index` of the action, -1: the reply. NULL: out of memory. */
struct mor_bot_api_call *mor_bot_api_new(const struct mor_bot_seat *seat, const struct mor_bot_walk *walk, struct mor_onebot_target target, int index);
/* On its way. Takes the call. 0 or MORTISE_ENOMEM. */
int mor_bot_api_put(struct mor_bot_run *run, struct mor_bot_api_call *call, struct mor_slice json);
/* Sends what can be sent, gives up what took too long. */
void mor_bot_api_tend(struct mor_bot_run *run);
/* What was sent has its whole time again: nobody has read the answers. */
void mor_bot_api_renew(struct mor_bot_run *run);
/* When something is due next; -1: never. */
int mor_bot_api_wait_ms(const struct mor_bot_run *run);
void mor_bot_api_answered(struct mor_bot_run *run, const struct mor_onebot_event *response);
void mor_bot_api_lost(struct mor_bot_run *run, uint64_t peer);
void mor_bot_api_free(struct mor_bot_run *run);

/* ---- run.c ---- */
/* Plugins that are merely behind are waited for; ones that are slow are not. Whoever reads the calls always is. */
bool mor_bot_is_held(const struct mor_bot_run *run);
/* One line of input, whatever it is. */
void mor_bot_take(struct mor_bot_run *run, struct mor_slice line);
/* One event, or answer. 0 or MORTISE_ENOMEM. */
int mor_bot_take_event(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err);

/* ---- tell.c: one line on stderr each; with --json one object ---- */
/* `seat` may be NULL, `event` 0. `what` is the first word: a kind of error, "overloaded", "warning", ... */
void mor_bot_tell(struct mor_bot_run *run, const struct mor_bot_seat *seat, const char *what, uint64_t event,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));
/* One line says which plugin failed on which event, whatever the reason, with the plugin's own `data`. */
void mor_bot_tell_failure(const struct mor_bot_job *job, const mortise_reply *reply);
/* The same warning over and over is told once, and how often it came when another one comes. */
void mor_bot_warn(struct mor_bot_seat *seat, const char *text);
void mor_bot_warn_end(struct mor_bot_seat *seat);
void mor_bot_event(const mortise_event *event, void *body);

#endif
