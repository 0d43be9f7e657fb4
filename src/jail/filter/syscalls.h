/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to each system call, in the six variants network (none, all, places) × spawn. One table
 * (syscalls.c): the generator of the filters, the broker's decoder (through the generated list of notified
 * calls) and the manual all use it.
 */
#ifndef MOR_JAIL_FILTER_SYSCALLS_H
#define MOR_JAIL_FILTER_SYSCALLS_H

#include <stddef.h>
#include <stdint.h>

/* A filter's index: one of the first three, plus MOR_FILTER_SPAWN. */
enum mor_filter_variant {
	MOR_FILTER_PLAIN,
	MOR_FILTER_NETWORK,
	MOR_FILTER_PLACES,
	MOR_FILTER_SPAWN,
	MOR_FILTERS = 6
};

/* What the broker does with a notified call. The order is that of its table of functions. */
/* clang-format off */
enum mor_notify {
	MOR_N_OPEN, MOR_N_OPENAT, MOR_N_OPENAT2, MOR_N_CREAT, MOR_N_TRUNCATE,
	MOR_N_MKDIR, MOR_N_MKDIRAT, MOR_N_MKNOD, MOR_N_MKNODAT, MOR_N_RMDIR, MOR_N_UNLINK, MOR_N_UNLINKAT,
	MOR_N_RENAME, MOR_N_RENAMEAT, MOR_N_RENAMEAT2, MOR_N_LINK, MOR_N_LINKAT, MOR_N_SYMLINK, MOR_N_SYMLINKAT,
	MOR_N_CHMOD, MOR_N_FCHMOD, MOR_N_FCHMODAT, MOR_N_FCHMODAT2,
	MOR_N_UTIME, MOR_N_UTIMES, MOR_N_FUTIMESAT, MOR_N_UTIMENSAT,
	MOR_N_FORK, MOR_N_EXECVE, MOR_N_SIGNAL, MOR_N_LIMITS, MOR_N_INSPECT, MOR_N_SOCKET, MOR_N_PAIR,
	MOR_N_CONNECT, MOR_N_BIND, MOR_N_LISTEN,
	MOR_N_CHOWN, MOR_N_FCHOWN, MOR_N_FCHOWNAT, MOR_N_IDS, MOR_N_GROUP, MOR_N_HANDLER,
	MOR_N_IOCTL,
	/* From here on: always forbidden; the kind of it. */
	MOR_N_FIRST_REFUSED,
	MOR_N_SPAWN = MOR_N_FIRST_REFUSED, MOR_N_NETWORK, MOR_N_NAMESPACE, MOR_N_HANDLE, MOR_N_MOUNT,
	MOR_N_SYSTEM, MOR_N_KERNEL, MOR_N_KEYS, MOR_N_IDENTITY, MOR_N_IPC, MOR_N_TERMINAL,
	MOR_N_COUNT
};
/* clang-format on */

enum mor_answer {
	MOR_ANSWER_ALLOW,
	MOR_ANSWER_ERRNO,
	MOR_ANSWER_NOTIFY,
	MOR_ANSWER_AND, /* of a test only */
	MOR_ANSWER_DIE  /* the guardian's own filter */
};

/* Tests use only registers: memory that another thread can change decides nothing. */
enum mor_test_op {
	MOR_TEST_END,
	/* the low 32 bits, after the mask (0: none), are this (CVE-2019-10063: the kernel drops the rest) */
	MOR_TEST_EQ,
	MOR_TEST_ANY, /* one of these bits is set            */
	MOR_TEST_PTR, /* not a null pointer, all 64 bits     */
	MOR_TEST_SELF /* the pid of the process that loads the filter */
};

struct mor_syscall_test {
	uint8_t op, arg;
	uint8_t answer; /* MOR_ANSWER_AND: only if the next test holds too */
	int error;
	uint32_t value, mask;
};

struct mor_syscall_row {
	const char *name;
	short number;     /* for calls newer than the library that resolves names; else 0 */
	uint8_t variants; /* bit n: in force in variant n. The first row that fits a variant wins */
	uint8_t answer;   /* if no test holds */
	uint8_t notify;   /* enum mor_notify: for this row's and its tests' notifications         */
	int error;
	const struct mor_syscall_test *tests; /* or NULL */
};

extern const struct mor_syscall_row mor_syscall_rows[];
extern const size_t mor_syscall_row_count;

/* The guardian's own calls (guardian.c), in the variants below MOR_FILTER_SPAWN, then the same
 * for a build with sanitizers. A call that is in
 * no row ends it. */
extern const struct mor_syscall_row mor_guardian_rows[];
extern const size_t mor_guardian_row_count;

#endif
