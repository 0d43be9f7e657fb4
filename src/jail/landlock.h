/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock by direct system calls: a rule set of paths, then the lock. What the kernel's ABI lacks is left
 * out here and stopped by the filter or the broker; `mortise doctor` says what is then enforced by one layer
 * only.
 */
#ifndef MOR_JAIL_LANDLOCK_H
#define MOR_JAIL_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Linux 5.19: renaming between directories. Below this ABI we refuse to start. */
enum { MOR_LANDLOCK_FLOOR = 2 };

/* The kernel's ABI, at most cap (0: no cap); 0: no Landlock. */
unsigned mor_landlock_abi(unsigned cap);

struct mor_landlock {
	int fd;
	unsigned abi;
	uint64_t handled;
};
/* network: TCP stays open. scope: no signals and no abstract sockets to the outside (ABI 6). 0 or -errno. */
int mor_landlock_begin(struct mor_landlock *lock, unsigned abi, bool network, bool scope);
/* `fd` is an O_PATH handle; access is of enum mor_path_access and applies to everything below. */
int mor_landlock_allow(const struct mor_landlock *lock, int fd, bool directory, unsigned access);
/* Connections to this TCP port, where the ABI knows of ports (4). */
int mor_landlock_allow_port(const struct mor_landlock *lock, unsigned port);
/* Allows only that sockets get a name below. */
int mor_landlock_allow_socket(const struct mor_landlock *lock, int fd);
/* Allows only the removal of empty directories directly below. */
int mor_landlock_allow_rmdir(const struct mor_landlock *lock, int fd);
/* Needs no_new_privs or CAP_SYS_ADMIN. Closes the rule set in every case. */
int mor_landlock_enforce(struct mor_landlock *lock);

#endif
