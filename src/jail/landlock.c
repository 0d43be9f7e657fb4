/* SPDX-License-Identifier: Apache-2.0 */
/* See landlock.h. Bookworm's header knows ABI 2, so the structures and rights of later ones are defined
 * here. */
#include "jail/landlock.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/plan.h"

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP    (1ULL << 0)
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)
#define LANDLOCK_RULE_NET_PORT          2
#endif
#ifndef LANDLOCK_SCOPE_SIGNAL
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL               (1ULL << 1)
#endif

#define READS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* Nobody may make devices and sockets; the broker makes one, see mor_landlock_allow_socket(). */
#define WRITES \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SYM | \
	 LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE)
#define ABI1 ((1ULL << 13) - 1) /* EXECUTE ... MAKE_SYM */
#define ON_FILES \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | \
	 LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_IOCTL_DEV)

struct port_rule {
	uint64_t allowed_access, port;
};
struct ruleset { /* as of ABI 6; an older kernel gets the part that it knows */
	uint64_t fs, net, scoped;
};

unsigned mor_landlock_abi(unsigned cap)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (abi < 0)
		return 0;
	return cap && (unsigned long)abi > cap ? cap : (unsigned)abi;
}

static uint64_t known_rights(unsigned abi)
{
	uint64_t rights = ABI1;

	if (abi >= 2)
		rights |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		rights |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 5)
		rights |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return rights;
}

int mor_landlock_begin(struct mor_landlock *lock, unsigned abi, bool network, bool scope)
{
	struct ruleset set = { .fs = known_rights(abi) };
	size_t size = abi >= 6 ? sizeof(set) : abi >= 4 ? 16 : 8;

	if (abi >= 4 && !network)
		set.net = LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP;
	if (abi >= 6 && scope)
		set.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
	lock->abi = abi;
	lock->handled = set.fs;
	lock->fd = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
	return lock->fd < 0 ? -errno : 0;
}

int mor_landlock_allow(const struct mor_landlock *lock, int fd, bool directory, unsigned access)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };

	if (access & MOR_MAY_READ)
		rule.allowed_access |= READS;
	if (access & MOR_MAY_WRITE)
		rule.allowed_access |= WRITES;
	if (access & MOR_MAY_EXECUTE)
		rule.allowed_access |= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE;
	rule.allowed_access &= lock->handled;
	if (!directory)
		rule.allowed_access &= ON_FILES;
	if (!rule.allowed_access)
		return 0;
	return syscall(SYS_landlock_add_rule, lock->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
}

int mor_landlock_allow_port(const struct mor_landlock *lock, unsigned port)
{
	struct port_rule rule = { .allowed_access = LANDLOCK_ACCESS_NET_CONNECT_TCP, .port = port };

	if (lock->abi < 4)
		return 0;
	return syscall(SYS_landlock_add_rule, lock->fd, LANDLOCK_RULE_NET_PORT, &rule, 0) ? -errno : 0;
}

int mor_landlock_allow_socket(const struct mor_landlock *lock, int fd)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd,
						   .allowed_access = LANDLOCK_ACCESS_FS_MAKE_SOCK };

	return syscall(SYS_landlock_add_rule, lock->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
}

int mor_landlock_allow_rmdir(const struct mor_landlock *lock, int fd)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd,
						   .allowed_access = LANDLOCK_ACCESS_FS_REMOVE_DIR };

	return syscall(SYS_landlock_add_rule, lock->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ? -errno : 0;
}

int mor_landlock_enforce(struct mor_landlock *lock)
{
	int status = syscall(SYS_landlock_restrict_self, lock->fd, 0) ? -errno : 0;

	mor_fd_close(&lock->fd);
	return status;
}
