/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: processes, what was seen of them, scripts, and the tables of rows. */
#ifndef MOR_CHECK_OWN_H
#define MOR_CHECK_OWN_H

#include "check/check.h"
#include "dialect/dialect.h"
#include "loop/loop.h"
#include "policy/policy.h"
#include "proc/proc.h"
#include "undo/scratch.h"
#include "wire/framing.h"
#include "wire/json.h"

/* ---- dialects as masks ---- */

#define MOR_CHECK_PLAIN          1u
#define MOR_CHECK_YAMS           2u
#define MOR_CHECK_AYIOU          4u
#define MOR_CHECK_GASSIST        8u
#define MOR_CHECK_SUNSCREEN      16u
#define MOR_CHECK_SUNSCREEN_JSON 32u
#define MOR_CHECK_KYTHE          64u
#define MOR_CHECK_ALL            127u
/* dialects where the host asks and one process answers many times */
#define MOR_CHECK_SERVERS \
	(MOR_CHECK_PLAIN | MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_GASSIST | MOR_CHECK_SUNSCREEN)

/* ---- what must not be seen in a whole run ---- */

enum mor_check_fault {
	MOR_CHECK_NO_FAULT,
	MOR_CHECK_NOISE,       /* bytes on stdout that are not a message          */
	MOR_CHECK_TRUNCATED,   /* stdout ended inside a message                   */
	MOR_CHECK_BAD_JSON,    /* a frame that is not JSON                        */
	MOR_CHECK_NO_MESSAGE,  /* JSON that is neither request, note nor response */
	MOR_CHECK_NO_VERSION,  /* without "jsonrpc":"2.0"                         */
	MOR_CHECK_BOTH,        /* result and error                                */
	MOR_CHECK_NULL_BESIDE, /* "error":null beside a result, or the other way  */
	MOR_CHECK_BAD_ERROR,   /* an error without integer code and text          */
	MOR_CHECK_STRANGE_ID,  /* an answer to a request that nobody sent         */
	MOR_CHECK_TWICE,       /* a second answer to a request                    */
	MOR_CHECK_ASKS,        /* a request to a host that answers none           */
	MOR_CHECK_BAD_NOTE,    /* a notification whose params are not the table's */
	MOR_CHECK_STDERR_MUCH, /* more on stderr than a person reads              */
	MOR_CHECK_STDERR_ODD,  /* bytes on stderr that are not text               */
	MOR_CHECK_DENIED,      /* it tried what its jail does not allow           */
	MOR_CHECK_FAULTS
};

struct mor_check_seen {
	unsigned count;
	char text[400]; /* of the first */
	char *talk;
};

/* ---- rows ---- */

struct mor_check_run;
struct mor_check_case;
typedef void mor_check_fn(struct mor_check_case *at);

struct mor_check_row {
	const char *name;      /* behind the dialect's name; NULL ends the table */
	const char *title;     /* what is right: "answers a request that arrives in pieces" */
	const char *spec;      /* NULL: the dialect's section about the transport */
	unsigned must, should; /* masks of dialects; in neither: the row is not theirs */
	const char *script;
	mor_check_fn *fn; /* instead of a script */
	enum mor_check_fault fault;
	const char *advice;
};

/* The usual row. level: `must` or `should`, of the dialects in `mask`. how: `.script = …`, `.fn = …` or
 * `.fault = …` */
#define MOR_CHECK_ROW(id, text, section, level, mask, how, cure) \
	{ \
		.name = id, .title = text, .spec = section, .level = mask, how, .advice = cure \
	}

/* The beginning of a step that sends a request: its id follows. */
#define MOR_CHECK_REQ "> {\"jsonrpc\":\"2.0\",\"id\":"

/* How a dialect is spoken, for rows that are shared. */
struct mor_check_tongue {
	unsigned dialect;
	const char *name;
	const char *spec;        /* short name of the specification */
	const char *wire;        /* its section about the transport */
	const char *stop;        /* its section about the end       */
	const char *greet;       /* script of the greeting; NULL: none */
	const char *greet_id;    /* the row that judges the greeting */
	const char *probe;       /* members of a harmless request: "\"method\":\"ping\"" */
	const char *call;        /* the same for a function of the author, %s is its name as JSON; NULL: none */
	const char *call_method; /* the method behind it: its result is as the dialect's table says */
	const char *bye;         /* script that says good-bye, before stdin is closed; or NULL */
	const struct mor_check_row *rows;
};
const struct mor_check_tongue *mor_check_tongue(const char *dialect); /* NULL: none */
extern const struct mor_check_tongue *const mor_check_tongues[];
extern const struct mor_check_row mor_check_common_rows[];
int mor_check_keep_only(struct mor_check_report *report, const char *const *only, mortise_error *err);

/* ---- one process ---- */

struct mor_check_message {
	struct mor_doc *doc;
	const struct mor_value *root, *id, *method, *result, *error;
	bool taken;
};

struct mor_check_asked {
	char id[64]; /* JSON text */
	unsigned answers;
};

struct mor_check_session {
	struct mor_check_run *run;
	struct mor_proc *proc;
	struct mor_watch in, out;
	struct mor_deframer deframer;
	struct mor_buf got, queue;
	size_t queue_done;
	bool holding;      /* nothing is written before `flush` */
	bool close_wanted; /* stdin is to be closed behind the queue */
	bool headers;      /* a message came with Content-Length */
	int came;          /* enum mor_framing of the last message, as its first bytes look; -1: unknown */
	bool out_over, ended, exec_failed;
	struct mor_proc_exit how;
	char failure[400]; /* why it could not be started */
	struct mor_check_message *message;
	size_t messages, message_cap;
	struct mor_check_asked *asked;
	size_t asked_count, asked_cap;
	struct mor_buf talk; /* evidence */
	unsigned talk_lines;
	uint64_t stderr_bytes, frame_bytes;
};

int mor_check_session_open(struct mor_check_run *run, struct mor_check_session *s, mortise_error *err);
/* Closes stdin, gives the process a moment, and kills it. */
void mor_check_session_close(struct mor_check_session *s);
/* Queues one message in the dialect's framing; raw: the bytes as they are. */
void mor_check_send(struct mor_check_session *s, struct mor_slice body);
void mor_check_send_raw(struct mor_check_session *s, struct mor_slice bytes);
/* In three writes, each after the plugin has read the one before. */
void mor_check_send_split(struct mor_check_session *s, struct mor_slice body);
void mor_check_end_input(struct mor_check_session *s);
/* Runs the loop until `done` is true, the process is over and drained, or the time is up. True: it is done. */
typedef bool mor_check_done_fn(struct mor_check_session *s, void *arg);
bool mor_check_wait(struct mor_check_session *s, uint32_t ms, mor_check_done_fn *done, void *arg);
bool mor_check_wait_exit(struct mor_check_session *s, uint32_t ms);
/* Why nothing came: "it exited with status 1: ImportError ...", "no answer in 5 s". */
void mor_check_silence(struct mor_check_session *s, uint32_t ms, struct mor_buf *out);
void mor_check_note_talk(struct mor_check_session *s, char mark, struct mor_slice text);

/* ---- what was seen (seen.c) ---- */

void mor_check_see_frame(struct mor_check_session *s, struct mor_slice body);
void mor_check_see_fault(struct mor_check_session *s, enum mor_check_fault fault, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void mor_check_see_stderr(struct mor_check_session *s, struct mor_slice line);
void mor_check_message_fini(struct mor_check_message *message);
/* Remembers what is asked: the ids of requests in a text that is being sent. */
void mor_check_asks(struct mor_check_session *s, struct mor_slice body);

/* ---- a run ---- */

struct mor_check_run {
	const struct mor_check_options *opt;
	const struct mor_check_tongue *tongue;
	const struct mor_dialect *dialect;
	enum mor_framing framing;
	struct mor_loop *loop;
	struct mor_policy policy;
	bool confined;
	char **env, **argv;
	char own_scratch[PATH_MAX]; /* a directory in it that the plugin may write */
	struct mor_scratch scratch; /* files for the plugin: a workspace, inputs */
	struct mor_check_report *report;
	struct mor_check_seen seen[MOR_CHECK_FAULTS];
	uint64_t frames, responses, errors, processes; /* seen so far */
	struct mor_doc *hello;                         /* result of the first greeting, or NULL */
	char no_greeting[300];                         /* why no greeting works; "": it does */
	bool no_work;                                  /* kythe: an analysis does not end */
	bool lingers; /* does not end with its stdin: later processes are killed at once */
	int64_t deadline;
	uint32_t answer_ms;
	char level[12];
};

/* ---- one row being checked (script.c) ---- */

struct mor_check_case {
	struct mor_check_run *run;
	const struct mor_check_row *row;
	struct mor_check_session *s; /* NULL: not started yet */
	struct mor_check_session session;
	enum mor_check_verdict verdict; /* PASS until a step says otherwise */
	struct mor_buf why;
	int64_t next_id;
	unsigned vnames;                       /* kythe: so many were asked for */
	const struct mor_check_message *asked; /* kythe: the request that the next step answers */
	const struct mor_value *last;          /* result that the last step looked at */
};

/* A line of a script: its first word, and what is done with the rest. */
#define MOR_CHECK_STEP struct mor_check_case *at, struct mor_slice rest __attribute__((unused))
struct mor_check_step {
	const char *name; /* NULL ends the table */
	void (*run)(MOR_CHECK_STEP);
};
/* The steps of our part as a driver (kythe_driver.c); in these scripts the plugin is the one that asks. */
extern const struct mor_check_step mor_check_kythe_steps[];
mor_check_fn mor_check_kythe_output, mor_check_kythe_written; /* rows about its output */

/* A text of a script with its names (%W) replaced. */
void mor_check_expand(struct mor_check_case *at, struct mor_slice line, struct mor_buf *out);
/* Runs the steps; stops at the first that fails. */
void mor_check_script(struct mor_check_case *at, const char *script);
/* Nothing came although something had to: fails with `what` and why. */
void mor_check_fail_silence(struct mor_check_case *at, const char *what, uint32_t ms);
void mor_check_failed(struct mor_check_case *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mor_check_unseen(struct mor_check_case *at, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool mor_check_goes_on(const struct mor_check_case *at)
{
	return at->verdict == MOR_CHECK_PASS;
}
/* Starts a process and greets it, unless `bare`. */
bool mor_check_begin(struct mor_check_case *at, bool bare);
/* The response to `id` (JSON text), which is taken; NULL: the case has failed. If it is the only answer that is
 * missing, one with a wrong id is taken for it: a row of its own judges the id. */
const struct mor_check_message *mor_check_response(struct mor_check_case *at, struct mor_slice id);
const struct mor_check_message *mor_check_response_exact(struct mor_check_case *at, struct mor_slice id);
/* The same without an error if the process ends instead: then *ret_over is true. */
const struct mor_check_message *mor_check_response_or_end(struct mor_check_case *at, struct mor_slice id,
							  bool *ret_over);
static inline bool mor_check_is_response(const struct mor_check_message *m)
{
	return !m->taken && !m->method && (m->result || m->error);
}
/* The next note or request of `method`; NULL: the case has failed. */
const struct mor_check_message *mor_check_from_plugin(struct mor_check_case *at, const char *method);

/* ---- functions that rows of several dialects use (shared.c) ---- */

uint32_t mor_check_call_ms(const struct mor_check_run *run); /* time limit of such a function */
mor_check_fn mor_check_calls;                                /* the functions that --call names are answered */
mor_check_fn mor_check_manifest_name;                        /* manifest and greeting tell the same */
mor_check_fn mor_check_manifest_version;
mor_check_fn mor_check_manifest_warnings;
/* What the plugin has told about itself; NULL: the case is over. */
const struct mor_value *mor_check_hello(struct mor_check_case *at);

/* ---- reports (report.c) ---- */

#define MOR_CHECK_CLEAN 2048
/* What plugins and hosts have said, on one line: it may be any bytes. NULL is "". Returns out. */
const char *mor_check_clean(const char *text, char out[static MOR_CHECK_CLEAN]);

/* ---- set-up (setup.c) ---- */

int mor_check_setup(struct mor_check_run *run, mortise_error *err);
void mor_check_setup_fini(struct mor_check_run *run);
/* PATH in the scratch directory, with this content. 0 or a status. */
int mor_check_put_file(struct mor_check_run *run, const char *name, const char *content);

#endif
