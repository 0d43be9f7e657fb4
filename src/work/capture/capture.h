/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What mortise kzip does. Records of compilations: what a compiler was told, and every file that it reads, into
 * a kzip; and what such archives hold.
 *
 *	create.c    the whole archive
 *	unit.c      one compilation with its files into the archive
 *	ask.c       asks a compiler what it reads
 *	compdb.c    all commands of compile_commands.json, several compilers at a time
 *	info.c      what an archive holds, as a page
 *	archives.c  archives into one, and single files and units out of one
 */
#ifndef MOR_CAPTURE_CAPTURE_H
#define MOR_CAPTURE_CAPTURE_H

#include <sys/types.h>

#include "console/console.h"
#include "kythe/archive/depends.h"
#include "kythe/archive/kzip.h"
#include "kythe/archive/vnames.h"

struct mor_capture_seen; /* a path that was read before */

struct mor_capture {
	struct mor_console *console;
	const char *language, *corpus; /* used if neither the files nor the rules name one; or NULL */
	struct mor_kzip_writer *writer;
	struct mor_vname_rules *rules;
	char *cwd;
	struct mor_capture_seen **seen; /* a hash table: a header that 1,000 units read is read once */
	size_t seen_count, seen_slots;
};

/* One compilation. Everything is borrowed. Paths are as the build spells them, relative to `directory`. */
struct mor_capture_source {
	const char *directory; /* absolute */
	const char *const *arguments;
	size_t argument_count;
	/* a source is also an input, even if it is not listed there */
	const char *const *sources, *const *inputs;
	size_t source_count, input_count;
};

int mor_capture_unit(struct mor_capture *capture, const struct mor_capture_source *what, mortise_error *err);
void mor_capture_forget(struct mor_capture *capture); /* frees what was seen */

/* All commands of compile_commands.json (`path`; "-" is stdin), `jobs` compilers at a time (0: one per
 * processor). A command that fails is reported and counted, and the others go on. */
int mor_capture_compdb(struct mor_capture *capture, const char *path, uint32_t jobs, size_t *ret_failed,
		       mortise_error *err);

/* A compiler that is running for us. */
struct mor_capture_asking {
	pid_t pid;
	int out, err; /* files in memory */
};
/* MORTISE_EEXEC when it cannot be started. */
int mor_capture_asking_start(struct mor_capture_asking *asking, const char *directory,
			     const char *const *arguments, size_t count, mortise_error *err);
/* Call it after the compiler has ended with `status` (from waitpid). Fails with what the compiler said on
 * stderr. */
int mor_capture_asking_result(struct mor_capture_asking *asking, int status, struct mor_strings *ret,
			      mortise_error *err);
/* kills and reaps it if it still runs (pid > 0) */
void mor_capture_asking_fini(struct mor_capture_asking *asking);
/* The entry of `files` that is the path `file` in another spelling; NULL: none. */
const char *mor_capture_asked_source(const struct mor_strings *files, const char *directory, const char *file);

/* ---- the whole ---- */

/* What the user wants; texts as typed, or NULL. */
struct mor_capture_args {
	const char *output, *language, *corpus, *vnames, *compile_commands;
	enum mor_kzip_encoding encoding;
	struct mor_text_list sources, inputs;
	const char *const *command;
	size_t command_words;
	uint32_t jobs;
};

/* These print what happened. They return 0, a status with *err set, or a positive exit code if everything is
 * reported. */
int mor_capture_create(struct mor_console *console, const struct mor_capture_args *args, mortise_error *err);
/* `paths`: NULL-terminated. */
int mor_capture_merge(struct mor_console *console, const char *output, enum mor_kzip_encoding encoding,
		      const char *const *paths, mortise_error *err);
/* `verify`: every file is read. */
int mor_capture_info(struct mor_console *console, const char *path, bool verify, mortise_error *err);
/* `unit` and `word` as in mor_kzip_find_typed(). */
int mor_capture_cat(struct mor_console *console, const char *path, const char *unit, const char *word,
		    mortise_error *err);

/* Opens the archive for reading. Warnings go to stderr, each after the archive's name. `warned` must live as
 * long as the archive. */
struct mor_capture_warned {
	struct mor_console *console;
	const char *path;
};
int mor_capture_open(struct mor_console *console, const char *path, struct mor_capture_warned *warned,
		     struct mor_kzip **ret, mortise_error *err);
/* Prints on stdout what was written; on stderr if the archive itself went there. */
void mor_capture_told(struct mor_console *console, const char *output, const struct mor_kzip_writer *writer,
		      size_t failed);

#endif
