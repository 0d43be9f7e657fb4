/*
 * mortise kzip create|info|cat|merge.
 *
 *	kzip.c          the command, cat, merge
 *	kzip_info.c     info
 *	kzip_create.c   create: from files that are named, or from one command
 *	kzip_compdb.c   create: from compile_commands.json, several compilers at a time
 *	kzip_depends.c  asks a compiler what it reads
 *	kzip_record.c   one unit with its files into the archive
 */
#ifndef MOR_CLI_KZIP_H
#define MOR_CLI_KZIP_H

#include <sys/types.h>

#include "cli/cli.h"
#include "kythe/archive/depends.h"
#include "kythe/archive/kzip.h"
#include "kythe/archive/vnames.h"

struct mor_kzip_args {
	const char *output, *language, *corpus, *vnames, *compile_commands, *encoding, *unit;
	struct mor_text_list sources, inputs;
	uint32_t jobs;
	bool verify;
	struct mor_common_args common;
};

/* Each gets the words behind the action. They return 0, a status with *err set, or a positive exit code when all has been
 * told. MORTISE_EINVAL is a mistake of usage. */
int mor_kzip_create(struct mor_cli *cli, mortise_error *err);
int mor_kzip_info(struct mor_cli *cli, mortise_error *err);

/* Opens for reading; warnings go to stderr, each after the archive's name. `warned` must live as long as the archive. */
struct mor_kzip_warned {
	struct mor_cli *cli;
	const char *path;
};
int mor_kzip_open_cli(struct mor_cli *cli, const char *path, struct mor_kzip_warned *warned, struct mor_kzip **ret,
		      mortise_error *err);
/* --encoding, else KYTHE_KZIP_ENCODING, else protobuf. */
int mor_kzip_encoding_cli(const struct mor_kzip_args *args, enum mor_kzip_encoding *ret, mortise_error *err);
/* What was written, on stdout. */
void mor_kzip_told(struct mor_cli *cli, const struct mor_kzip_writer *writer, size_t failed);

/* ---- create ---- */

struct mor_seen_file; /* a path that has been read already */

struct mor_creation {
	struct mor_cli *cli;
	const struct mor_kzip_args *args;
	struct mor_kzip_writer *writer;
	struct mor_vname_rules *rules;
	char *cwd;
	struct mor_seen_file **seen; /* a hash table: a header that 1,000 units read is read once */
	size_t seen_count, seen_slots;
};

/* One compilation. All borrowed; paths are as the build spells them, relative ones to `directory`. */
struct mor_compilation {
	const char *directory; /* absolute */
	const char *const *arguments;
	size_t argument_count;
	const char *const *sources, *const *inputs; /* a source is an input, too, whether it is listed there or not */
	size_t source_count, input_count;
};

int mor_creation_record(struct mor_creation *creation, const struct mor_compilation *what, mortise_error *err);
void mor_creation_forget(struct mor_creation *creation); /* frees what was seen */

int mor_creation_compdb(struct mor_creation *creation, size_t *ret_failed, mortise_error *err);

/* A compiler that is being asked. */
struct mor_asking {
	pid_t pid;
	int out, err; /* files in memory */
};
/* MORTISE_EEXEC when it cannot be started. */
int mor_asking_start(struct mor_asking *asking, const char *directory, const char *const *arguments, size_t count,
		     mortise_error *err);
/* After it has ended with `status` (as of waitpid). Fails with what it said on stderr. */
int mor_asking_result(struct mor_asking *asking, int status, struct mor_strings *ret, mortise_error *err);
void mor_asking_fini(struct mor_asking *asking); /* kills and reaps it if it still runs (pid > 0) */
/* The one of `files` that is the path `file` in another spelling; NULL: none is. */
const char *mor_asked_source(const struct mor_strings *files, const char *directory, const char *file);

#endif
