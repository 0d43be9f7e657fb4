/* SPDX-License-Identifier: Apache-2.0 */
/* The least of io_uring: one ring, one operation. It is here because a ring bypasses every seccomp filter. */
#include "attempt.h"

#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>

static void *map(int ring, size_t size, uint64_t offset)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, (off_t)offset);

	return p == MAP_FAILED ? NULL : p;
}

static long submit(int ring, const struct io_uring_params *p, const struct io_uring_sqe *sqe)
{
	char *sq = map(ring, p->sq_off.array + p->sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	char *cq = map(ring, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
	struct io_uring_sqe *sqes = map(ring, p->sq_entries * sizeof(*sqes), IORING_OFF_SQES);
	struct io_uring_cqe *cqe;

	if (!sq || !cq || !sqes)
		return -errno;
	sqes[0] = *sqe;
	((unsigned *)(sq + p->sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *)(sq + p->sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -errno;
	cqe = (struct io_uring_cqe *)(cq + p->cq_off.cqes);
	return cqe->res;
}

long uring_one(const struct io_uring_sqe *sqe)
{
	struct io_uring_params p;
	int ring;

	memset(&p, 0, sizeof(p));
	ring = (int)syscall(SYS_io_uring_setup, 2, &p);
	return ring < 0 ? -errno : submit(ring, &p, sqe);
}
