/* SPDX-License-Identifier: Apache-2.0 */
/* What all links with a process share. */
#include "link/link.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

char *mor_link_take_block(struct mor_link *link, struct mor_slice text)
{
	const struct mor_buf *block = link ? link->block : NULL;

	if (!block || link->block_taken || text.len < MOR_LARGE || text.len < block->len / 2 ||
	    text.ptr < block->data || text.ptr >= block->data + block->len)
		return NULL;
	link->block_taken = true;
	return block->data;
}

void mor_link_describe_end(const struct mor_proc *proc, struct mor_link_end *ret)
{
	struct mor_proc_exit exit;

	mor_proc_how_ended(proc, &exit);
	*ret = (struct mor_link_end){
		.known = exit.how.known,
		.status = exit.how.status,
		.by_signal = exit.how.by_signal,
		.clean = exit.how.known && !exit.how.by_signal && exit.how.status == 0,
		.violation = exit.violated,
		.forbidden = exit.forbidden,
		.denied = exit.denied,
		.cpu_us = exit.how.cpu_us,
		.used_up = exit.used_up,
	};
	memcpy(ret->syscall, exit.syscall, sizeof(ret->syscall));
	memcpy(ret->path, exit.path, sizeof(ret->path));
	memcpy(ret->rule, exit.rule, sizeof(ret->rule));
	if (!mor_proc_explain_exit(proc, &exit, ret->text, sizeof(ret->text)))
		snprintf(ret->text, sizeof(ret->text), "%s", exit.text);
	mor_excerpt(mor_slice_of(mor_proc_last_stderr(proc)), ret->last_stderr, sizeof(ret->last_stderr));
}

void mor_link_tell_exec_failed(void *arg, const struct mor_exec_failure *failure)
{
	struct mor_link *link = arg;
	struct mor_link_end end = { .start_code = failure->code, .os_errno = failure->os_errno };

	snprintf(end.text, sizeof(end.text), "%s", failure->text);
	link->events->on_end(link->arg, &end);
}

void mor_link_tell_stderr(void *arg, struct mor_slice line)
{
	struct mor_link *link = arg;

	link->events->on_stderr(link->arg, line);
}

void mor_link_tell_denied(void *arg, const struct mor_record *record)
{
	struct mor_link *link = arg;

	link->events->on_denied(link->arg, record);
}

void mor_link_tell_view(void *arg, const struct mor_exec_failure *failure)
{
	struct mor_link *link = arg;
	mortise_error error;

	if (failure) {
		mor_fail(&error, failure->code, "%s", failure->text);
		error.os_errno = failure->os_errno;
	}
	link->events->on_view(link->arg, failure ? &error : NULL);
}

int mor_link_start_process(struct mor_link *link, const struct mor_command *command,
			   const struct mor_proc_events *events, struct mor_proc **ret, mortise_error *err)
{
	struct mor_exec_failure failure = { 0 };
	int r = mor_proc_start(link->loop, command, events, link, ret, &failure);

	if (r == 0)
		return 0;
	mor_fail(err, failure.code ? failure.code : r, "%s",
		 failure.text[0] ? failure.text : mortise_status_text(r));
	if (err)
		err->os_errno = failure.os_errno;
	return err ? err->code : r;
}
