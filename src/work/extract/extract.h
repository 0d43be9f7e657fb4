/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files -> text by content_extractor_v1 plugins. What its files share.
 *
 *	run.c    the run; jobs start here and their rows leave in the order of the files
 *	input.c  one file: its bytes, MIME type, extension, and the params they make
 *	claim.c  what manifests say about kinds of files: which plugins are started for one
 *	kind.c   which plugin takes which kind of file: extractor.supports, once per kind
 *	row.c    what an answer becomes on stdout
 *	shard.c  one shard of a run: which files, and the list of its part
 *
 * Only a window of files is under way at any time, so memory does not grow with their number.
 */
#ifndef MOR_EXTRACT_EXTRACT_H
#define MOR_EXTRACT_EXTRACT_H

#include <magic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "console/args.h"
#include "part/part.h"
#include "runner/runner.h"
#include "wire/json.h"

struct mor_extract;
struct mor_extract_job;

#define MOR_EXTRACT_MAX_SIZE ((uint64_t)190 << 20) /* its base64 still fits into the dialect's 256 MiB */

/* Of addresses: memory is only what messages have used, and no more of those are kept than were in
 * work at once. */
#define MOR_EXTRACT_SPARE_MOST ((size_t)2 << 30)

/* A file that another machine has looked at (a farm's owner): it is not looked at again. */
struct mor_extract_given {
	const char *place; /* where its bytes are: absolute */
	const char *mime, *extension;
	int code; /* it could not be read: its status ... */
	const char *why;
};

/* What the user wants. */
struct mor_extract_args {
	const char *const *files; /* "-" is stdin                                    */
	size_t file_count;
	struct mor_shard shard; /* only these of the files, as a part for mortise join */
	/* plugins that extract; of several, the most confident one gets the file ... */
	struct mor_text_list plugins;
	/* the user has named none: these were found. Their manifests decide which are started (claim.c), and
	 * one that cannot be used is no error */
	bool picked;
	const char *const *command;   /* ... and this command line, or NULL              */
	struct mor_text_list options; /* KEY=VALUE for extractor.extract                 */
	uint32_t jobs;                /* processes per plugin; 0: one per processor      */
	uint32_t retries;
	const char *source;           /* "bytes" or "path"                               */
	const char *mime, *extension; /* for all files; NULL: found for each file */
	const char *output;           /* a file, or NULL or "-": stdout */
	uint64_t max_size;            /* limit for a file that is sent as bytes */
	bool metadata;                /* printed before the content, in text output */
	bool json;                    /* rows of JSON, not text */
	const struct mor_plugin_args *plugin;
	const struct mor_extract_given *given; /* one for each file; or NULL */
	/* Gets each job, in the order of the files, with its row or its error; NULL: they are printed. */
	void (*settled)(struct mor_extract_job *job, size_t number, void *arg);
	void *arg;
};

/* The whole run; results and errors are printed. Returns the exit code. */
int mor_extract_run(struct mor_console *console, const struct mor_extract_args *args);

/* ---- the same for a loop that has more to do; `args` is borrowed ---- */

int mor_extract_new(struct mor_console *console, const struct mor_extract_args *args, struct mor_extract **ret,
		    mortise_error *err);
/* `args` names other files, and the plugins go on running. Only when all files before are over. */
void mor_extract_again(struct mor_extract *x);
mortise_host *mor_extract_host(const struct mor_extract *x); /* its descriptor says when to take a step */
void mor_extract_step(struct mor_extract *x);
/* All files are over, or none can be: then *ret_failure says why. */
bool mor_extract_over(const struct mor_extract *x, const mortise_error **ret_failure);
/* plugins end politely. NULL is fine; returns NULL */
struct mor_extract *mor_extract_free(struct mor_extract *x);

/* ---- files without plugins, for a farm's owner ---- */

/* What a run says about its files; the job's bytes, type and extension, or its error. */
int mor_extract_look(struct mor_extract *x, const char *path, struct mor_extract_job *ret);
void mor_extract_look_end(struct mor_extract *x);
void mor_extract_job_clear(struct mor_extract_job *job);
/* What is printed for a job before its row, "" in most cases. `first`: nothing was printed before. */
void mor_extract_job_heading(const struct mor_extract_job *job, bool first, struct mor_buf *out);
/* A job with an error: the line on stderr, and its row. */
void mor_extract_job_tell(struct mor_extract_job *job);

/* One plugin of the command line. */
struct mor_extract_plugin {
	struct mor_extract *extract;
	const char *typed; /* as the user named it, or NULL: a command */
	struct mor_resolved *resolved;
	const struct mor_manifest *manifest; /* its own, as on disk */
	mortise_pool *pool;
	struct mor_doc *described; /* known after its greeting: interfaces, capabilities */
	bool refused;              /* it cannot be used, and the others go on; reported on stderr */
};

enum mor_extract_supports {
	MOR_EXTRACT_SUPPORTS_ASKED,
	MOR_EXTRACT_SUPPORTS_NO,
	MOR_EXTRACT_SUPPORTS_UNKNOWN,
	MOR_EXTRACT_SUPPORTS_YES
};

struct mor_extract_answer {
	struct mor_extract_kind *kind;
	struct mor_extract_plugin *extractor;
	unsigned round; /* in which it is asked; 0: never */
	enum mor_extract_supports verdict;
	double confidence;
	const char *mime; /* as we ask for it and send it: the kind's type, or this plugin's own word for it */
};

/* Files of one MIME type and extension. */
struct mor_extract_kind {
	struct mor_extract_kind *next;
	struct mor_extract *extract;
	char *found; /* the type from libmagic or --mime */
	char *mime;  /* the same type in YAMS' words */
	char *extension;
	unsigned round;                        /* the last one that was asked */
	size_t pending;                        /* answers that are still missing */
	const struct mor_extract_answer *best; /* NULL: no plugin takes it */
	struct mor_extract_job *waiting;       /* jobs that wait for the last answer */
	struct mor_extract_answer answers[];   /* one per plugin */
};

enum mor_extract_job_state { MOR_EXTRACT_JOB_FREE, MOR_EXTRACT_JOB_BUSY, MOR_EXTRACT_JOB_DONE };

struct mor_extract_job {
	struct mor_extract *extract;
	struct mor_extract_job *next; /* in a kind's waiting list */
	enum mor_extract_job_state state;
	const char *path;                      /* as typed; "-" is stdin */
	const struct mor_extract_given *given; /* or NULL */
	struct mor_buf data;                   /* the content of a stream */
	struct mor_buf params; /* of extractor.extract; lent to the pool until the answer is there */
	char *mime;            /* as found; after routing, as it is sent */
	char *extension;
	struct mor_extract_plugin *extractor; /* the plugin that got it */
	int64_t begun_ms;
	size_t cost;        /* bytes held by the job and by the queue */
	struct mor_buf row; /* output for stdout */
	mortise_error err;  /* code 0: no error */
	char *err_data;
};

struct mor_extract {
	struct mor_console *console;
	const struct mor_extract_args *args;
	struct mor_runner runner;
	struct mor_extract_plugin *extractors;
	size_t extractor_count;
	struct mor_tree option_tree;
	struct mor_doc *options; /* --option, as one object */
	magic_t magic;
	struct mor_extract_kind *kinds;
	struct mor_extract_job *ring; /* the window; file i is in ring[i % window] */
	const char *const *files;     /* of this shard */
	size_t window, file_count;
	struct mor_buf block;   /* a file is read through it */
	struct mor_buf *spares; /* memory of earlier messages: at most mor_extract_spares_most() */
	size_t spare_count, spare_bytes;
	struct mor_buf part;     /* the list of its part, so far */
	size_t started, printed; /* numbers of files */
	size_t busy, cost, cost_limit;
	int last_exit_code;  /* of a file that failed */
	bool headed;         /* a heading was printed: a blank line comes before the next */
	bool stopping;       /* the run is ending: callbacks do nothing */
	mortise_error fatal; /* a plugin that cannot be used at all; code 0: none */
	char *fatal_data;
};

/* input.c */
int mor_extract_magic_open(struct mor_extract *x, mortise_error *err);
/* Reads, and fills mime, extension and the first half of the params; or sets the job's error. */
void mor_extract_job_prepare(struct mor_extract_job *job);
/* As many of each kind, mapped or not, as files are in work at once: small ones must not push
 * large ones out. */
static inline size_t mor_extract_spares_most(const struct mor_extract *x)
{
	return 2 * x->window;
}
/* Memory of an earlier message, or none: the smallest that is enough, else the largest. `mapped`: blocks of
 * MOR_BUF_MAPPED and more, which grow without a copy; otherwise smaller ones only. */
struct mor_buf mor_extract_spare_take(struct mor_extract *x, bool mapped, size_t need);
/* *buf is empty afterwards. */
void mor_extract_spare_put(struct mor_extract *x, struct mor_buf *buf);
void mor_extract_spares_free(struct mor_extract *x);
/* The rest of the params, when the plugin is known. */
int mor_extract_job_params(struct mor_extract_job *job);

/* claim.c. `can` is what a manifest or a greeting says at MOR_EXTRACT_ABILITIES, or NULL. */
#define MOR_EXTRACT_INTERFACE "content_extractor_v1"
#define MOR_EXTRACT_ABILITIES "/capabilities/content_extraction"
#define MOR_EXTRACT_ROUNDS    2
char *mor_extract_claim_lower(char *text); /* changes it, and returns it; NULL is fine */
/* A type in YAMS' words and lower case. NULL: no memory. */
char *mor_extract_claim_normal(const char *found);
/* The word that is listed for this type, or NULL. */
const char *mor_extract_claim_mime(const struct mor_value *can, const struct mor_extract_kind *kind);
/* Is the type listed, or the extension? */
bool mor_extract_claim_covers(const struct mor_value *can, const struct mor_extract_kind *kind);
/* false: its manifest says that it does something else. */
bool mor_extract_claim_extracts(const struct mor_manifest *manifest);
unsigned mor_extract_claim_round(const struct mor_extract_plugin *e, const struct mor_extract_kind *kind);
/* One line on stderr: who gets this kind of file, and why not the others. */
void mor_extract_claim_tell(const struct mor_extract_kind *kind);

/* kind.c */
/* Stops plugins that refused but still run: they have nothing to do. Call it outside callbacks. */
void mor_extract_stop_refused(struct mor_extract *x);
/* Sends the job to the right plugin, now or when the answers are there. */
void mor_extract_kind_route(struct mor_extract_job *job);
void mor_extract_kinds_free(struct mor_extract *x);

/* run.c */
void mor_extract_job_send(struct mor_extract_job *job, struct mor_extract_plugin *extractor);
void mor_extract_job_fail(struct mor_extract_job *job, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The answer or error is final. From now on the job waits for its turn to be printed. */
void mor_extract_job_settle(struct mor_extract_job *job);
const char *mor_extract_job_name(const struct mor_extract_job *job); /* used in texts */

/* shard.c */
int mor_extract_shard_take(struct mor_extract *x, mortise_error *err);
/* A job's output, written: `heading` and its row. */
void mor_extract_shard_note(struct mor_extract_job *job, struct mor_slice heading);
/* The list of the part, at the end of the output. Without a shard nothing happens. 0 or MORTISE_ENOMEM. */
int mor_extract_shard_end(struct mor_extract *x);

/* row.c */
/* Writes the answer into job->row, or an error into job->err. */
void mor_extract_job_take_reply(struct mor_extract_job *job, const mortise_reply *reply);
void mor_extract_job_print(struct mor_extract_job *job);

#endif
