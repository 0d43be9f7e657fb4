/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One escape attempt: a function that really tries, and says whether it got through. The table of a file is in
 * catalogue order; `row` is the row of the catalogue in tests/jail/README.md (0: beyond the catalogue).
 */
#ifndef JAIL_ATTEMPT_H
#define JAIL_ATTEMPT_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define SECRET "MORTISE-SECRET" /* how every planted secret begins */

/* What the runner has prepared; handed over as KEY=VALUE arguments, since a jail scrubs the environment. */
struct stage {
	const char *name;      /* of this attempt                                                        */
	const char *dir;       /* has outside/ (secret.txt, victim.txt, host.sock), ws/, declared/, plugin/ */
	const char *abstract;  /* abstract unix socket of a listener                                     */
	const char *shm;       /* a file in /dev/shm                                                     */
	pid_t host;            /* the victim: same user, not in the jail                                 */
	unsigned long address; /* of a secret in the victim's memory                                     */
	int host_fd;           /* a descriptor of the victim, open on the secret                         */
	int port;              /* TCP (sends the secret) and UDP on loopback                             */
	int open;              /* TCP on loopback, in the list of places: says "open"                     */
	int full;              /* TCP on loopback, in the list of places: takes no connection            */
	int rounds;            /* of the races                                                           */
};

struct result {
	bool escaped;
	int error;
	const char *how;
	int rounds, met; /* of a race: tried, and those in which the jail had to say no; 0: none */
};

/* Only to end what hangs: what is waited for comes, however slowly. */
enum { PATIENCE_S = 120, LIFE_S = 240 };

enum attempt_flags {
	NEEDS_WRITE = 1, /* makes sense only with --write                                                   */
	NOT_BARE = 2,    /* not run unconfined: it would touch the runner or the machine                    */
	REACHES = 4      /* "escaped" means that the kernel looked at the call, not that it succeeded       */
};

/* Expectations: D violation and exit 9; R refused with an errno and told of, in both modes; B blocked with an
 * errno; E either of them; M metadata; A granted (and must then work); ? no claim. net, spawn: with that
 * permission; 0: the same. Not both may be given, unless they are the same: see run.py, expects(). */
struct attempt {
	const char *name, *class;
	int row;
	char expect, net, spawn;
	unsigned flags;
	struct result (*fn)(const struct stage *s);
};

extern const struct attempt read_attempts[], proc_attempts[], race_attempts[], meta_attempts[],
	write_attempts[], grant_attempts[], spawn_attempts[], network_attempts[], ipc_attempts[],
	host_attempts[], kernel_attempts[], places_attempts[], mount_attempts[], broker_attempts[],
	attr_attempts[], limit_attempts[], protect_attempts[];

/* ---- what the attempts share (main.c) ---- */

struct result yes(const char *how);
struct result no(const char *how);                 /* with errno as it is now                          */
struct result got(const char *how, long returned); /* escaped when not negative                        */
/* Escaped when the kernel got as far as judging arguments: any errno but those of a filter. */
struct result reached(const char *how, long returned);
struct result read_secret(const char *how, int fd); /* escaped when the secret comes out; closes fd    */
bool contains(const char *data, size_t size, const char *needle);
const char *in(const struct stage *s, const char *rest); /* dir/rest; up to four at a time             */
void report(const struct stage *s, struct result r);

/* io_uring without liburing: one operation, its result or -errno. (uring.c) */
struct io_uring_sqe;
long uring_one(const struct io_uring_sqe *sqe);

/* The 32-bit entry: int $0x80. -ENOSYS where that entry is missing. */
long int80(long nr, long a, long b, long c);
/* A page below 4 GiB, which both foreign ABIs can address. */
void *low_page(void);

int victim(const char *secret_path, const char *secret); /* victim.c: the process that host attempts aim at */

#endif
