/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files behind mortise_doctor(). */
#ifndef MOR_GUARD_DOCTOR_H
#define MOR_GUARD_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/jail.h>

#include "policy/cgroup.h"
#include "policy/probe.h"

/* What was found, before it is judged. */
struct mor_doctor_facts {
	char kernel[80];
	int kernel_major, kernel_minor;
	int landlock, landlock_errno;
	struct mor_probe_seccomp seccomp;
	struct mor_probe_namespaces ns;
	int getfd;                          /* 0, or the errno of its refusal */
	char container[MOR_CONTAINER_NAME]; /* "": in none */
	struct mor_cgroups groups;
	int64_t pipe_max, pipe_pages_soft;
	int64_t userns_clone, userns_max, userns_apparmor; /* sysctls; -1: the kernel has no such one */
	uint64_t files_soft, files_hard;
	char rung[12];             /* of level guarded */
	char python[80], node[80]; /* "/usr/bin/python3 3.11.2", or "" */
	const char *helper;
	mortise_error helper_error; /* code 0: it exists, has our version, and runs a program */
};
void mor_doctor_find(struct mor_doctor_facts *ret);

enum mor_doctor_finding { MOR_FOUND_OK, MOR_FOUND_LIMITED, MOR_FOUND_MISSING };

/* One line of the table: what it is, what needs it, what is lost without it, what to do. `judge` writes what
 * was found, and may replace the remedy by a better one. */
struct mor_doctor_check {
	const char *name, *title, *promise, *without, *remedy;
	enum mor_doctor_finding (*judge)(const struct mor_doctor_facts *facts, char found[160],
					 const char **remedy);
};
extern const struct mor_doctor_check mor_doctor_checks[]; /* ends with a NULL name */

/* "in a Docker container: user namespaces are refused; t1 needs ...", or "" where there is nothing to say.
 * `t1`: that level works. */
enum { MOR_DOCTOR_PLACE = 320 };
void mor_doctor_place(const struct mor_doctor_facts *facts, bool t1, char out[MOR_DOCTOR_PLACE]);

/* "Python 3.11.2" of `program --version`, only its first line. false: it did not answer in time. */
bool mor_doctor_version(const char *program, char *out, size_t size);

#endif
