/* SPDX-License-Identifier: Apache-2.0 */
/* What to run, the arguments of exec for it, and why it cannot be run. Starts nothing. */
#ifndef MOR_PROGRAM_RESOLVE_H
#define MOR_PROGRAM_RESOLVE_H

#include <limits.h>
#include <stdbool.h>

#include <mortise/mortise.h>

struct mor_plan_checked;
struct mor_policy;

/* What to run. Everything is borrowed until mor_proc_start() returns. */
struct mor_command {
	const char *const *argv; /* argv[0] with a slash: that file (relative to cwd); without: PATH      */
	const char *const *env;  /* the whole environment, NAME=VALUE, NULL-terminated; NULL: ours        */
	const char *cwd;         /* NULL: ours                                                            */
	const struct mor_policy *policy; /* NULL: guarded, no limits                                      */
	const struct mor_plan_checked *checked; /* NULL: it is not installed (policy/plan.h) */
	const char *listen; /* confined: it may listen on one unix socket in this directory; NULL: on none */
	const char *helper; /* path of mortise-jail; NULL: the one that came with us (helper.h) */
	bool direct;        /* use the direct back end; the policy is ignored */
	bool no_shims; /* what pyenv and its kin have put in front of a program is not run, but what is behind
			* it: a shim is a script of bash, and a confined plugin cannot run its search */
};

enum mor_proc_step { MOR_STEP_RESOLVE, MOR_STEP_PIPES, MOR_STEP_SPAWN, MOR_STEP_EXEC };

struct mor_exec_failure {
	enum mor_proc_step step;
	int os_errno;
	int code;       /* MORTISE_ENOTFOUND, MORTISE_EEXEC, MORTISE_ESYSTEM, MORTISE_ENOMEM, MORTISE_EJAIL;
			 * MORTISE_ECRASHED: its guardian was killed first, so another try may work */
	char text[384]; /* "/x/plugin: not executable (mode 0644): chmod +x it"                          */
};

/* The resolution by itself (info and error texts): the argv that would be executed, argv[0] being the file,
 * as seen from the command's cwd. One block, freed with mor_program_argv_free(). */
int mor_program_resolve(const struct mor_command *command, char ***ret_argv,
			struct mor_exec_failure *ret_failure);
void mor_program_argv_free(char **argv);
/* Does an interpreter run it, whatever its first line says (x.py, x.js)? */
bool mor_program_is_source(const char *path);
/* Errors that can be found without trying: no such file, a directory, not executable. 0 or a status. */
int mor_exec_foresee(const struct mor_command *command, const char *path, struct mor_exec_failure *failure);
/* exec failed with os_errno: finds the reason in the file. `path` is as seen from the command's cwd. */
int mor_exec_diagnose(const struct mor_command *command, const char *path, int os_errno,
		      struct mor_exec_failure *failure);

/* ---- for code that starts it ---- */

/* Fills *failure (NULL is fine) with "path: text" and returns code. */
int mor_exec_fail(struct mor_exec_failure *failure, enum mor_proc_step step, int os_errno, int code,
		  const char *path, const char *format, ...) __attribute__((format(printf, 6, 7)));
/* The place of `path` for the child, as seen from here. false: too long. */
bool mor_program_seen_from(const struct mor_command *command, const char *path, char out[PATH_MAX]);

#endif
