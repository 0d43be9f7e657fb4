/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inflow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

int mor_inflow_open(const char *path, const char *store, struct mor_inflow *ret, mortise_error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int r;

	*ret = (struct mor_inflow){ .source.fd = STDIN_FILENO };
	r = is_stdin ? 0 : mor_segment_list_read(path, &ret->list, err);
	if (r > 0)
		return mor_depot_open(store ? store : ret->list.store, MOR_DEPOT_READ, &ret->depot, err);
	if (r < 0 || is_stdin)
		return r;
	ret->source.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ret->source.fd >= 0)
		return 0;
	return mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno, "%s", path);
}

/* The next unit that has bytes. 1, 0 at the end, or an error. */
static int next_unit(struct mor_inflow *stream)
{
	int r;

	while (!stream->segment || stream->unit == stream->segment->count) {
		stream->segment = mor_segment_free(stream->segment);
		if (stream->part == stream->list.count)
			return 0;
		r = mor_segment_list_open(&stream->list, stream->depot, stream->part++, &stream->segment,
					  &stream->why);
		if (r < 0)
			return r;
		stream->unit = 0;
	}
	mor_segment_reading_begin(&stream->reading, stream->segment, stream->unit++);
	stream->reads = true;
	return 1;
}

ssize_t mor_inflow_read(void *arg, void *buffer, size_t len)
{
	struct mor_inflow *stream = arg;
	ssize_t n = 0;

	if (!stream->depot)
		return mor_fd_read_source(&stream->source, buffer, len);
	while (n == 0) {
		if (!stream->reads && next_unit(stream) <= 0)
			return stream->why.code ? -EBADMSG : 0;
		n = mor_segment_read(&stream->reading, buffer, len);
		stream->reads = n > 0;
	}
	if (n < 0 && stream->reading.why.code)
		stream->why = stream->reading.why;
	return n;
}

int mor_inflow_why(const struct mor_inflow *stream, const char *path, mortise_error *err)
{
	if (stream->why.code)
		*err = stream->why;
	else if (err->code != MORTISE_ENOMEM)
		mor_fail_prefix(err, path);
	return err->code;
}

void mor_inflow_close(struct mor_inflow *stream)
{
	mor_segment_free(stream->segment);
	mor_depot_free(stream->depot);
	mor_segment_list_fini(&stream->list);
	if (stream->source.fd != STDIN_FILENO)
		mor_fd_close(&stream->source.fd);
}
