/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise-jail: reads its plan and becomes the guardian of one plugin. Only libmortise starts it; a person
 * who runs it gets a message.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jail/confine.h"
#include "jail/guard.h"

/* Most plans fit here, and then need one system call to read. */
static char small[16 * 1024] __attribute__((aligned(8)));

/* The plan's bytes, private and writable. NULL with errno. */
static void *read_plan(size_t *ret_size)
{
	struct stat st;
	void *memory;
	ssize_t n = pread(MOR_PLAN_FD, small, sizeof(small), 0);

	if (n < 0)
		return NULL;
	*ret_size = (size_t)n;
	if (n < (ssize_t)sizeof(small))
		return small;
	if (fstat(MOR_PLAN_FD, &st) < 0)
		return NULL;
	if (st.st_size > MOR_PLAN_MAX) {
		errno = EFBIG;
		return NULL;
	}
	*ret_size = (size_t)st.st_size;
	memory = mmap(NULL, *ret_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, MOR_PLAN_FD, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static _Noreturn void refuse_start(int step, int error, const char *text)
{
	struct mor_setup_failure failure = { 0 };

	mor_setup_fail(&failure, step, error, "%s", text);
	mor_record_failure(&failure);
}

static _Noreturn void refuse_plan(enum mor_plan_fault fault)
{
	static const char *const texts[] = {
		[MOR_PLAN_NOT_ONE] = "what it was given is no plan",
		[MOR_PLAN_DAMAGED] = "its plan is damaged",
		[MOR_PLAN_UNKNOWN_OP] = "its plan asks for an operation that it does not know",
		[MOR_PLAN_NO_MEMORY] = "out of memory",
	};

	if (fault == MOR_PLAN_OTHER_VERSION)
		refuse_start(MOR_AT_VERSION, EPROTO, "mortise-jail and the library are of different versions");
	refuse_start(MOR_AT_PLAN, fault == MOR_PLAN_NO_MEMORY ? ENOMEM : EPROTO, texts[fault]);
}

#ifdef MOR_SANITIZED
/* We have no environment. The search for leaks would trace us, and names of functions need files that are out
 * of reach by then. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:symbolize=0";
}
#endif

int main(void)
{
	static const char alone[] = "mortise-jail is started by mortise; see mortise jail --help\n";
	static struct mor_plan plan;
	enum mor_plan_fault fault;
	size_t size;
	void *bytes = read_plan(&size);

	if (!bytes) {
		if (errno != EBADF && errno != ESPIPE)
			refuse_start(MOR_AT_PLAN, errno, "its plan cannot be read");
		return write(2, alone, sizeof(alone) - 1) < 0 ? 126 : 125;
	}
	fault = mor_plan_read(bytes, size, &plan);
	if (fault)
		refuse_plan(fault);
	mor_guardian(&plan);
}
