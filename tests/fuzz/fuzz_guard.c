/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the library and mortise-jail: the plan that one writes and the other reads, the records that come
 * back, and the plugin's stderr beside them. Nobody believes a size or a missing NUL. Byte 0 chooses which of
 * the three; byte 1 how many operations the plan has, or how the rest is cut into records or reads.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>

/* A record may name any scratch directory; here none is removed. */
#define mor_scratch_drop keep_scratch
#include "policy/denials.h"
#include "proc/guarded.c" // NOLINT(bugprone-suspicious-include): its records are read by static functions
#undef mor_scratch_drop

void keep_scratch(const char *path)
{
	CHECK(strnlen(path, 64) < 64);
}

/* ---- the plan ---- */

static void check_text(const struct mor_plan *plan, const char *text)
{
	CHECK(!text || (text > (const char *)plan->ops - sizeof(struct mor_plan_head) - 1 &&
			text < (const char *)plan->end));
	CHECK(!text || memchr(text, '\0', (size_t)((const char *)plan->end - text)));
}

/* With the right beginning, unless the count is 255: a wrong one is refused at once, and nothing is
 * learned from that. */
static void read_plan(const uint8_t *data, size_t size, unsigned count)
{
	struct mor_plan_head head = { MOR_PLAN_MAGIC, MOR_PLAN_VERSION, count };
	struct mor_plan plan = { 0 };
	char *bytes = malloc(sizeof(head) + size);

	CHECK(bytes);
	memcpy(bytes, &head, sizeof(head));
	if (size)
		memcpy(bytes + sizeof(head), data, size);
	if (count == 255)
		memcpy(bytes, data, size < sizeof(head) ? size : sizeof(head));
	if (mor_plan_read(bytes, sizeof(head) + size, &plan) == MOR_PLAN_OK) {
		for (size_t i = 0; i < plan.argc; i++)
			check_text(&plan, plan.argv[i]);
		for (size_t i = 0; i < plan.envc; i++)
			check_text(&plan, plan.env[i]);
		check_text(&plan, plan.cwd);
		check_text(&plan, plan.scratch);
		for (int kind = MOR_OP_LEVEL; kind <= MOR_OP_SCRATCH; kind++)
			for (const struct mor_plan_op *op = NULL;
			     (op = mor_plan_next(&plan, (enum mor_plan_kind)kind, op));)
				CHECK((const char *)mor_plan_payload(op) + op->size <= (const char *)plan.end);
	}
	mor_plan_fini(&plan);
	free(bytes);
}

/* ---- records ---- */

struct heard {
	unsigned started, failed, exited;
	struct mor_denials denials;
};

static void check_line(const char *text, size_t size)
{
	CHECK(memchr(text, '\0', size));
}

static void on_proc_started(void *arg, int pid)
{
	(void)pid;
	((struct heard *)arg)->started++;
}

static void on_proc_failed(void *arg, const struct mor_exec_failure *failure)
{
	((struct heard *)arg)->failed++;
	check_line(failure->text, sizeof(failure->text));
}

static void on_proc_exited(void *arg, const struct mor_proc_exit *how)
{
	((struct heard *)arg)->exited++;
	check_line(how->text, sizeof(how->text));
	check_line(how->path, sizeof(how->path));
	check_line(how->rule, sizeof(how->rule));
	check_line(how->syscall, sizeof(how->syscall));
}

static void on_proc_view(void *arg, const struct mor_exec_failure *failure)
{
	(void)arg;
	if (failure)
		check_line(failure->text, sizeof(failure->text));
}

static void on_proc_stderr(void *arg, struct mor_slice line)
{
	(void)arg;
	CHECK(line.len <= MOR_STDERR_LINE && !memchr(line.ptr, '\n', line.len));
}

static void on_proc_denied(void *arg, const struct mor_record *record)
{
	struct mor_denials *denials = &((struct heard *)arg)->denials;

	CHECK(strlen(record->syscall) < sizeof(record->syscall) && strlen(record->path) < sizeof(record->path));
	CHECK(mor_denials_take(denials, record) >= 0 && denials->count <= MOR_PLAN_NEEDED_MAX);
}

static struct mor_loop *the_loop(void)
{
	static struct mor_loop *loop;

	CHECK(loop || mor_loop_new(0, &loop) == 0);
	return loop;
}

static struct mor_proc *make_proc(struct heard *heard, int *ret_other_end, int *ret_stderr)
{
	static const struct mor_proc_events events = { on_proc_started, on_proc_failed, on_proc_stderr,
						       on_proc_denied,  on_proc_exited, on_proc_view };
	struct mor_proc *proc = mor_zalloc(sizeof(*proc));
	int ends[2], pipes[2];

	CHECK(proc && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 &&
	      pipe2(pipes, O_CLOEXEC | O_NONBLOCK) == 0);
	proc->ops = &mor_proc_guarded;
	proc->loop = the_loop();
	proc->events = &events;
	proc->arg = heard;
	proc->child.pidfd = proc->in = proc->out = -1;
	proc->socket = ends[0];
	proc->err.fd = pipes[0];
	*ret_other_end = ends[1];
	*ret_stderr = pipes[1];
	return proc;
}

/* As many bytes as the cut says: records may be short, and longer than ours of another version. */
static void read_records(const uint8_t *data, size_t size, unsigned cut)
{
	struct mor_child_exit end = { .known = true, .status = 1 };
	struct heard heard = { 0 };
	int other, err;
	struct mor_proc *proc = make_proc(&heard, &other, &err);
	size_t some = 1 + cut * 8;

	CHECK(mor_watch_start(proc->loop, &proc->records, proc->socket, MOR_READABLE, on_record) == 0);
	for (int i = 0; size && i < 8; i++) {
		size_t n = some < size ? some : size;

		if (send(other, data, n, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			break;
		data += n;
		size -= n;
		mor_loop_dispatch(proc->loop);
	}
	close(other);
	close(err);
	on_guardian_end(&proc->child, &end);
	mor_denials_fini(&heard.denials);
	CHECK(heard.started <= 1 && heard.failed + heard.exited == 1 && (heard.exited == heard.started));
	/* ASan does not see one member of a struct read into the next. */
	if (proc->ending.record)
		check_line(proc->ending.record->text, sizeof(proc->ending.record->text));
	mor_proc_level(proc);
	mor_proc_rung(proc);
	mor_proc_free(proc);
}

/* ---- stderr ---- */

static size_t lines_told, bytes_told;

static void on_line(struct mor_stderr *err, struct mor_slice line)
{
	(void)err;
	lines_told++;
	bytes_told += line.len;
	CHECK(line.len <= MOR_STDERR_LINE && (!line.len || !memchr(line.ptr, '\n', line.len)));
}

static void read_stderr(const uint8_t *data, size_t size, unsigned cut)
{
	struct mor_stderr err = { 0 };
	size_t newlines = 0, all = 0;
	int pipes[2];

	lines_told = bytes_told = 0;
	CHECK(pipe2(pipes, O_CLOEXEC | O_NONBLOCK) == 0 &&
	      mor_stderr_start_take(the_loop(), &err, pipes[0], on_line) == 0);
	for (size_t i = 0; i < size; i++)
		newlines += data[i] == '\n';
	while (all < size) {
		ssize_t n = write(pipes[1], data + all, cut && cut < size - all ? cut : size - all);

		CHECK(n > 0);
		all += (size_t)n;
		mor_loop_dispatch(the_loop());
	}
	mor_stderr_finish(the_loop(), &err, NULL);
	/* Every line, and long ones in pieces; nothing twice. A CR at a line's end is not told. */
	CHECK(lines_told >= newlines && bytes_told <= size - newlines && err.bytes == size);
	CHECK(strlen(mor_stderr_last(&err)) <= MOR_STDERR_LINE);
	mor_stderr_fini(&err);
	close(pipes[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 60000)
		return 0;
	switch (data[0] % 3) {
	case 0:
		read_plan(data + 2, size - 2, data[1]);
		break;
	case 1:
		read_records(data + 2, size - 2, data[1]);
		break;
	default:
		read_stderr(data + 2, size - 2, data[1]);
	}
	return 0;
}
