/* SPDX-License-Identifier: Apache-2.0 */
/* In mortise-jail-inject; see guard_inject.h. No system call once it has begun: its jail would
 * not allow one. */
#include "guard_inject.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dir.h"
#include "fault.h"

static struct guard_plan *plan;

__attribute__((constructor)) static void begin(void)
{
	char dir[DIR_ROOM], path[FILE_ROOM];
	void *memory = MAP_FAILED;
	int fd;

	fault_dir_of_parent(dir);
	snprintf(path, sizeof(path), "%s/" INJECT_FILE, dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		memory = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory != MAP_FAILED)
		plan = memory;
}

static const int errors[GUARD_KINDS_COUNT] = {
#define X(name, error) error,
	GUARD_KINDS(X)
#undef X
};

/* Guardian, launcher, maker and the broker's thread count together. */
bool guard_fails(enum guard_kind kind)
{
	unsigned now;

	if (!plan || !plan->armed)
		return false;
	now = __atomic_add_fetch(&plan->count[kind], 1, __ATOMIC_RELAXED);
	if ((int)kind != plan->kind || !plan->n || now < plan->n || (now > plan->n && !plan->on))
		return false;
	errno = errors[kind];
	return true;
}

bool guard_syscall_fails(long number)
{
	static const struct {
		long number;
		enum guard_kind kind;
	} known[] = {
		{ SYS_pread64, GUARD_pread },
		{ SYS_fcntl, GUARD_fcntl },
		{ SYS_fstat, GUARD_fstat },
		{ SYS_clone, GUARD_clone },
		{ SYS_openat2, GUARD_openat2 },
		{ SYS_pidfd_open, GUARD_pidfd_open },
		{ SYS_pidfd_getfd, GUARD_pidfd_getfd },
		{ SYS_close_range, GUARD_close_range },
		{ SYS_getdents64, GUARD_getdents64 },
		{ SYS_pivot_root, GUARD_pivot_root },
		{ SYS_capset, GUARD_capset },
		{ SYS_seccomp, GUARD_seccomp },
		{ SYS_landlock_create_ruleset, GUARD_landlock_create_ruleset },
		{ SYS_landlock_add_rule, GUARD_landlock_add_rule },
		{ SYS_landlock_restrict_self, GUARD_landlock_restrict_self },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].number == number)
			return guard_fails(known[i].kind);
	return false;
}
