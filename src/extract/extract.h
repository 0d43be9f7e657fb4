/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files -> text by content_extractor_v1 plugins. What its files share.
 *
 *	run.c    the run; jobs start here and their rows leave in the order of the files
 *	input.c  one file: its bytes, MIME type, extension, and the params they make
 *	kind.c   which plugin takes which kind of file: extractor.supports, once per kind
 *	row.c    what an answer becomes on stdout
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
#include "runner/runner.h"
#include "wire/json.h"

struct mor_extract;

#define MOR_EXTRACT_MAX_SIZE ((uint64_t)190 << 20) /* its base64 still fits the dialect's 256 MiB */

/* What is wanted. */
struct mor_extract_args {
	const char *const *files;            /* "-" is stdin                                    */
	size_t file_count;
	struct mor_text_list plugins;        /* who extracts; of several the most confident ... */
	const char *const *command;          /* ... and this command line, or NULL              */
	struct mor_text_list options;        /* KEY=VALUE for extractor.extract                 */
	uint32_t jobs;                       /* processes per plugin; 0: one per processor      */
	uint32_t retries;
	const char *source;                  /* "bytes" or "path"                               */
	const char *mime, *extension;        /* of all files; NULL: each one's own              */
	const char *output;                  /* a file, or NULL or "-": stdout                  */
	uint64_t max_size;                   /* of a file that is sent as bytes                 */
	bool metadata;                       /* before the content, where text is printed       */
	const struct mor_plugin_args *plugin;
};

/* All of it, results and errors told. Returns the exit code. */
int mor_extract_run(struct mor_console *console, const struct mor_extract_args *args);

/* One plugin of the command line. */
struct mor_extract_plugin {
	struct mor_extract *extract;
	const char *typed;          /* as the user named it, or NULL: a command */
	mortise_pool *pool;
	struct mor_doc *described;  /* once it has greeted us: interfaces, capabilities */
	bool refused;               /* it cannot be used, and others go on without it; said on stderr */
};

enum mor_extract_supports { MOR_EXTRACT_SUPPORTS_ASKED, MOR_EXTRACT_SUPPORTS_NO, MOR_EXTRACT_SUPPORTS_UNKNOWN, MOR_EXTRACT_SUPPORTS_YES };

struct mor_extract_answer {
	struct mor_extract_kind *kind;
	struct mor_extract_plugin *extractor;
	enum mor_extract_supports verdict;
	double confidence;
	const char *mime; /* as it is asked about and sent: the kind's, or this plugin's own word for the same */
};

/* Files of one MIME type and extension. */
struct mor_extract_kind {
	struct mor_extract_kind *next;
	struct mor_extract *extract;
	char *found;                   /* the type as libmagic or --mime says it */
	char *mime;                    /* the same as YAMS calls it */
	char *extension;
	size_t pending;                /* answers still awaited */
	const struct mor_extract_answer *best; /* NULL: nobody takes it */
	struct mor_extract_job *waiting;       /* until the last answer is there */
	struct mor_extract_answer answers[]; /* one per plugin */
};

enum mor_extract_job_state { MOR_EXTRACT_JOB_FREE, MOR_EXTRACT_JOB_BUSY, MOR_EXTRACT_JOB_DONE };

struct mor_extract_job {
	struct mor_extract *extract;
	struct mor_extract_job *next; /* in a kind's waiting list */
	enum mor_extract_job_state state;
	const char *path;     /* as typed; "-" is stdin */
	struct mor_buf data;  /* the content, where it is sent as bytes */
	char *mime;           /* as it was found; once it has been routed, as it is sent */
	char *extension;
	struct mor_extract_plugin *extractor; /* who got it */
	int64_t begun_ms;
	size_t cost;          /* bytes held by it and by the queue */
	struct mor_buf row;   /* what goes to stdout */
	mortise_error err;    /* code 0: it went well */
	char *err_data;
};

struct mor_extract {
	struct mor_console *console;
	const struct mor_extract_args *args;
	struct mor_runner runner;
	struct mor_extract_plugin *extractors;
	size_t extractor_count;
	struct mor_tree option_tree;
	struct mor_doc *options;  /* --option, as one object */
	magic_t magic;
	struct mor_extract_kind *kinds;
	struct mor_extract_job *ring;     /* the window; file i is in ring[i % window] */
	size_t window, file_count;
	size_t started, printed;  /* files */
	size_t busy, cost, cost_limit;
	int last_exit_code;       /* of a file that failed */
	bool headed;              /* a heading was printed: a blank line comes before the next */
	bool stopping;            /* callbacks have nothing to say any more */
	mortise_error fatal;      /* a plugin that cannot be used at all; code 0: none */
	char *fatal_data;
};

/* input.c */
int mor_extract_magic_open(struct mor_extract *x, mortise_error *err);
/* Reads, and fills data, mime, extension; or sets the job's error. */
void mor_extract_job_prepare(struct mor_extract_job *job);
/* Params of extractor.extract; the job's data is given back. */
int mor_extract_job_params(struct mor_extract_job *job, struct mor_buf *out);

/* kind.c */
/* Plugins that have refused and still run: they have nothing to do any more. Outside callbacks. */
void mor_extract_stop_refused(struct mor_extract *x);
/* Has the job sent to whom it belongs, now or when the answers are there. */
void mor_extract_kind_route(struct mor_extract_job *job);
void mor_extract_kinds_free(struct mor_extract *x);

/* run.c */
void mor_extract_job_send(struct mor_extract_job *job, struct mor_extract_plugin *extractor);
void mor_extract_job_fail(struct mor_extract_job *job, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Its answer or error is final; from now on it waits for its turn to be printed. */
void mor_extract_job_settle(struct mor_extract_job *job);
const char *mor_extract_job_name(const struct mor_extract_job *job); /* for texts */

/* row.c */
/* The answer into job->row, or an error into job->err. */
void mor_extract_job_take_reply(struct mor_extract_job *job, const mortise_reply *reply);
void mor_extract_job_print(struct mor_extract_job *job);

#endif
