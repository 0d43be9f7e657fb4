/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise chat --config bot.toml: a chat bot whose plugins speak the ayiou dialect.
 *
 *	run.c     the run: plugins up, events in, end      walk.c   how an event goes through the plugins
 *	seat.c    one plugin and what waits for it         act.c    what a plugin's answer means
 *	body.c    one process of a plugin                  tell.c   what a person should know
 *	reload.c  the file, now and when it changes        out.c    readers that are slow
 *	lines.c   events from stdin, calls to stdout: out.c
 *	net.c     events from the network                  api.c    calls to the network and their results
 *
 * An event asks every plugin at once whether it matches, and is then handled by those that do, one after the
 * other in the order of their priority, until one blocks it. Several events may be under way at once, but no
 * plugin handles a later one before an earlier one. Each plugin has its own queue, in order, and the host gets
 * only as many events as the plugin may have at once: so a crash costs only the events that the plugin had.
 *
 * If the file changes a plugin while the bot runs, a new process is started. The old process goes on
 * until the new one is ready and its own last answer has come. Waiting events belong to the seat, so they
 * are not affected.
 *
 * Callbacks of the host only note what happened. tend_all() in run.c acts on it later, outside of them.
 */
#ifndef MOR_BOT_BOT_H
#define MOR_BOT_BOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <mortise/mortise.h>

#include "base/list.h"
#include "botfile/botfile.h"
#include "console/console.h"
#include "onebot/link.h"
#include "onebot/onebot.h"
#include "runner/runner.h"

#define MOR_BOT_QUEUE 1024 /* events that may wait for one plugin */

struct mor_bot_walk;
struct mor_bot_seat;

enum mor_bot_job_kind { MOR_BOT_JOB_MATCHES, MOR_BOT_JOB_HANDLE, MOR_BOT_JOB_CONNECT, MOR_BOT_JOB_RESULT };
extern const char *const mor_bot_job_methods[];

/* One call for a plugin. Part of a visit, of a seat (CONNECT), or on its own (RESULT). */
struct mor_bot_job {
	struct mor_list node;
	struct mor_bot_seat *seat;
	struct mor_bot_walk *walk; /* NULL: CONNECT, RESULT */
	enum mor_bot_job_kind kind;
	int64_t since_ms; /* waiting since */
	char *params;     /* RESULT: its own */
};

enum mor_bot_visit_state {
	MOR_BOT_VISIT_ASKED,   /* matches is under way          */
	MOR_BOT_VISIT_MATCHED, /* its turn will come            */
	MOR_BOT_VISIT_HANDLING,
	MOR_BOT_VISIT_OVER
};

struct mor_bot_visit {
	struct mor_bot_job job;
	struct mor_list asked; /* in seat->asked, until it is known whether the plugin matches */
	enum mor_bot_visit_state state;
};

struct mor_bot_walk {
	struct mor_list node;
	struct mor_bot_run *run;
	struct mor_onebot_event event;
	uint64_t number; /* line number in the input */
	size_t count;    /* one per plugin that existed when the event came */
	size_t turn;     /* whose turn it is; past the last: blocked, or done */
	unsigned open;   /* jobs that are running */
	struct mor_bot_visit visits[];
};

/* One process of a plugin, and the part of the file that configures it. */
struct mor_bot_body {
	struct mor_list node; /* in run->bodies */
	struct mor_bot_seat *seat;
	struct mor_botfile_plugin config; /* its own */
	char *installed;                  /* directory of the installed plugin; NULL: config.argv is all */
	/* of the files on its command line: another value means another program */
	uint64_t print;
	mortise_plugin *plugin;
	bool fresh;    /* it has just become ready */
	bool arrived;  /* and that is shown, because it started while the bot ran */
	bool retired;  /* it only has to end, and is freed then */
	char why[400]; /* the text of its last state                      */
};

/* One plugin of the bot. */
struct mor_bot_seat {
	struct mor_bot_run *run;
	char *name;                /* its key in the file                             */
	char *label;               /* name for people: metadata.name and the key */
	char **commands;           /* metadata.commands with aliases; or NULL         */
	struct mor_bot_body *body; /* NULL: it has never been ready */
	struct mor_bot_body *next; /* the new process, which will replace the present one; or NULL */
	struct mor_list queue;     /* of mor_bot_job, oldest first                        */
	struct mor_list asked;     /* of mor_bot_visit: events it may still match, earliest first */
	struct mor_list matched;   /* of mor_bot_job: events it will handle in its turn, earliest first */
	unsigned waiting, given;   /* waiting in the queue; passed to the host */
	unsigned most;             /* how many the plugin may have at once */
	uint32_t matches_ms;       /* time limit of matches */
	struct mor_bot_job connect;
	bool connect_queued;
	bool late;          /* it still has to answer a call that nobody waits for */
	bool dead;          /* and will not be started again */
	bool wants_results; /* metadata.results                                */
	bool leaving;       /* no longer in the file: it finishes its work, then ends */
	char told[200];     /* the last warning, and how often it was repeated */
	unsigned repeats;
};

/* Calls that stdout has not accepted yet. */
struct mor_bot_out {
	struct mor_buf bytes;
	size_t sent; /* of them */
	bool full;   /* too much waits: no more events are read */
	bool told;
};

/* A call on its way to the network, or waiting for its answer. */
struct mor_bot_api_call {
	struct mor_list node;
	uint64_t number; /* the end of its echo                                 */
	uint64_t event;  /* the event that it answers */
	uint64_t peer;   /* the connection that carried it; 0: not sent yet */
	int64_t due_ms;  /* 0: waits for an earlier call to the same target */
	char *plugin;    /* key of its plugin */
	char *self_id;   /* the account; or NULL                                */
	bool group;
	char *target;
	int index; /* index of the action; -1: the reply */
	char *json;
	size_t len;
};

/* Calls, oldest first. */
struct mor_bot_api {
	struct mor_list calls;
	unsigned count;
	size_t bytes;
	uint64_t last; /* last number given */
	bool look;     /* a call may be sent now */
};

/* Events from the network that wait until plugins have caught up. */
struct mor_bot_net {
	struct mor_onebot_link *link; /* NULL: stdin and stdout instead */
	struct mor_list inbox;
	unsigned count;
	size_t bytes;
	unsigned late; /* events that came while the bot was ending */
	bool paused;   /* reading stopped: too much waits */
	int terminal;  /* the terminal that started us; -1: none. When it closes, we end */
};

/* The bot's file, watched for changes. */
struct mor_bot_watch {
	int fd;           /* inotify; -1: none                              */
	struct stat last; /* state of the file when it was read */
};

struct mor_bot_run {
	struct mor_console *console;
	struct mor_runner runner;
	const char *path;           /* of the file                                     */
	struct mor_botfile *config; /* as at the start; the plugins' parts are with the bodies */
	struct mor_bot_watch watch;
	struct mor_bot_seat **seats; /* in the order in which they handle an event */
	size_t count;
	struct mor_bot_seat **gone; /* seats that are ending */
	size_t gone_count;
	struct mor_list bodies;
	struct mor_list walks;
	struct mor_bot_out out;
	struct mor_bot_net net;
	struct mor_bot_api api;
	char *self_id; /* id of the bot, once it is connected; or NULL */
	uint64_t line; /* events read so far */
	bool stdio;    /* --stdio: never the network */
	bool started;  /* every plugin was ready or dead once */
	bool stopping;
	int exit_code;
};

/* The whole run. `path` is the TOML file. stdio: no network, even if the file names one. Returns the exit
 * code. */
int mor_bot_chat(struct mor_console *console, const struct mor_plugin_args *args, const char *path, bool stdio);

/* ---- body.c ---- */
/* Takes the config in every case. 0, or the reason why there cannot be such a plugin. */
int mor_bot_body_new_take(struct mor_bot_seat *seat, struct mor_botfile_plugin *config,
			  struct mor_bot_body **ret, mortise_error *err);
/* Cannot fail: a process that does not start gets the state FAILED, and is handled later. */
void mor_bot_body_start(struct mor_bot_body *body);
/* The process is STOPPED, but nobody asked for that. It is started again if the file says so. false: it is
 * not. */
bool mor_bot_body_revive(struct mor_bot_body *body);
/* Has it stopped or failed? */
bool mor_bot_body_is_over(const struct mor_bot_body *body);
/* Is it ready for calls? NULL is not. */
bool mor_bot_body_is_ready(const struct mor_bot_body *body);
/* Ends it politely, and frees it after that. NULL is fine. */
void mor_bot_body_retire(struct mor_bot_body *body);
/* Frees it; a process that still runs is killed. */
void mor_bot_body_free(struct mor_bot_body *body);
/* Frees the processes that have ended. */
void mor_bot_bodies_tend(struct mor_bot_run *run);
/* Of the files that a command line names, by inode, size and time; of an installed plugin, of its directory:
 * another version has another one. */
uint64_t mor_bot_body_print(const struct mor_botfile_plugin *config);

/* ---- seat.c ---- */
struct mor_bot_seat *mor_bot_seat_new(struct mor_bot_run *run, const char *name); /* NULL: out of memory */
void mor_bot_seat_free(struct mor_bot_seat *seat);
struct mor_bot_seat *mor_bot_seat_find(const struct mor_bot_run *run, const char *name); /* NULL: none */
void mor_bot_job_free(struct mor_bot_job *job); /* For RESULT only; other jobs are parts of another struct. */
/* Nothing runs, and nothing waits. */
bool mor_bot_seat_is_idle(const struct mor_bot_seat *seat);
/* At the end of its queue; with `front`: before all others. */
void mor_bot_seat_queue(struct mor_bot_seat *seat, struct mor_bot_job *job, bool front);
/* Tells the plugin that the bot is connected, when its turn comes. */
void mor_bot_seat_connect(struct mor_bot_seat *seat, bool front);
/* One round of work: restart it, end it, or give it what it can take. */
void mor_bot_seat_tend(struct mor_bot_seat *seat);
/* Would prefilter hide this text from the plugin? */
bool mor_bot_seat_hides(const struct mor_bot_seat *seat, struct mor_slice text);
/* More than half of the queue is taken by jobs that will end soon: reading can wait for them. */
bool mor_bot_seat_is_behind(const struct mor_bot_seat *seat, int64_t now_ms);
/* The jobs waited for another reason: their time starts now. */
void mor_bot_seat_renew(struct mor_bot_seat *seat);

/* ---- walk.c ---- */
/* Takes the event. 0 or MORTISE_ENOMEM. */
int mor_bot_walk_begin_take(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err);
/* A job has ended. reply NULL: the plugin never got it. A job on its own is freed. */
void mor_bot_walk_job_done(struct mor_bot_job *job, const mortise_reply *reply);
/* The plugin skips all events that it was going to handle. */
void mor_bot_walk_seat_died(struct mor_bot_seat *seat);
void mor_bot_walk_free_all(struct mor_bot_run *run);

/* ---- act.c ---- */
bool mor_bot_matches(mortise_json result);
/* Sends the reply and the actions. true: the event is blocked. */
bool mor_bot_act(struct mor_bot_seat *seat, const struct mor_bot_walk *walk, mortise_json result);

/* ---- out.c ---- */
/* Too many calls wait. Until half of them have gone, no event is read or given to a plugin. This text is
 * printed once. */
void mor_bot_set_full(struct mor_bot_run *run, bool full, const char *text);
/* One line with its newline. 0 or MORTISE_ENOMEM. */
int mor_bot_out_put(struct mor_bot_run *run, struct mor_slice line);
size_t mor_bot_out_waiting(const struct mor_bot_run *run);
/* Writes as much as the reader takes without waiting. */
void mor_bot_out_flush(struct mor_bot_run *run);
/* Writes the rest and waits for the reader; after a signal at most 2 seconds. What is left then is reported
 * and lost. */
void mor_bot_out_drain(struct mor_bot_run *run);

/* ---- reload.c ---- */
/* Makes and starts a seat for every plugin in run->config. From now on the file is watched. 0, or why the
 * bot cannot run. */
int mor_bot_open(struct mor_bot_run *run, mortise_error *err);
void mor_bot_close(struct mor_bot_run *run);
/* Handles the plugins that are no longer in the file. */
void mor_bot_tend_gone(struct mor_bot_run *run);
/* Reads the file again: new plugins start, changed ones are replaced, removed ones end, all others go on. An
 * error in the file is reported, and nothing changes. */
void mor_bot_reload(struct mor_bot_run *run);
/* If the file has changed, it is read again. */
void mor_bot_watch_look(struct mor_bot_run *run);

/* ---- lines.c: stdin ---- */
struct mor_bot_lines {
	struct mor_buf bytes;
	size_t seen; /* there is no newline before this place */
	bool ended;
	bool too_long; /* the rest of this line is skipped */
};
/* Reads as many whole lines as allowed now. */
void mor_bot_lines_feed(struct mor_bot_run *run, struct mor_bot_lines *in);
void mor_bot_lines_read(struct mor_bot_run *run, struct mor_bot_lines *in);

/* ---- net.c ---- */
/* Connects or listens, as the file says. Without a network in the file, stdin and stdout are used. */
int mor_bot_net_open(struct mor_bot_run *run, mortise_error *err);
/* Takes as many events from the inbox as allowed now. */
void mor_bot_net_feed(struct mor_bot_run *run);
/* Closes the connection. Calls already sent get a short time for their answers. One more signal ends that. */
void mor_bot_net_close(struct mor_bot_run *run);
void mor_bot_net_free(struct mor_bot_run *run);

/* ---- api.c ---- */
/* A call of a plugin, by its number. `index` of the action, -1: the reply. NULL: out of memory. */
struct mor_bot_api_call *mor_bot_api_new(const struct mor_bot_seat *seat, const struct mor_bot_walk *walk,
					 struct mor_onebot_target target, int index);
/* Sends the call, or queues it. Takes the call. 0 or MORTISE_ENOMEM. */
int mor_bot_api_put_take(struct mor_bot_run *run, struct mor_bot_api_call *call, struct mor_slice json);
/* Sends what can be sent, and gives up calls that took too long. */
void mor_bot_api_tend(struct mor_bot_run *run);
/* Calls already sent get their full time again, because nobody has read the answers. */
void mor_bot_api_renew(struct mor_bot_run *run);
/* Time of the next deadline; -1: none. */
int mor_bot_api_wait_ms(const struct mor_bot_run *run);
void mor_bot_api_answered(struct mor_bot_run *run, const struct mor_onebot_event *response);
void mor_bot_api_lost(void *run, uint64_t peer); /* as in mor_onebot_link_handler */
void mor_bot_api_free(struct mor_bot_run *run);

/* ---- run.c ---- */
/* We wait for plugins that have much to do, but not for slow ones. We always wait for the reader of the
 * calls. */
bool mor_bot_is_held(const struct mor_bot_run *run);
/* Handles one line of input of any kind. */
void mor_bot_take(struct mor_bot_run *run, struct mor_slice line);
/* Handles one event or answer. 0 or MORTISE_ENOMEM. */
int mor_bot_take_event(struct mor_bot_run *run, struct mor_onebot_event *event, mortise_error *err);

/* ---- tell.c: prints one line on stderr each; with --json one object ---- */
/* `seat` may be NULL, `event` 0. `what` is the first word: a kind of error, "overloaded", "warning", ... */
void mor_bot_tell(struct mor_bot_run *run, const struct mor_bot_seat *seat, const char *what, uint64_t event,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));
/* One line says which plugin failed on which event, for every reason, with the plugin's own `data`. */
void mor_bot_tell_failure(const struct mor_bot_job *job, const mortise_reply *reply);
/* A repeated warning is printed once. When another one comes, the number of repetitions is printed. */
void mor_bot_warn(struct mor_bot_seat *seat, const char *text);
void mor_bot_warn_end(struct mor_bot_seat *seat);
void mor_bot_event(const mortise_event *event, void *body);

#endif
