/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a yams source. Neither a path nor what lies there is trusted: no FIFO, no device, no file
 * beyond the limit. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "call.h"

/* The path is not repeated: the caller sent it, and it may hold anything. */
static const void *no_source(tenon_call *call, const char *reason, const char *details)
{
	char text[160];

	snprintf(text, sizeof(text), "Extraction failed: %s", details);
	tenon_object(call, NULL);
	tenon_put_str(call, "reason", reason);
	tenon_put_str(call, "details", details);
	tenon_put_bool(call, "recoverable", 0);
	tenon_end(call);
	tenon_fail_built(call, TENON_EFAILED, text);
	return NULL;
}

/* At most `size` bytes: a file that grows meanwhile is taken as it was. */
static int read_up_to(int fd, size_t size, struct mor_buf *ret)
{
	ssize_t n;

	if (mor_buf_reserve(ret, size + 1) < 0)
		return -ENOMEM;
	n = mor_fd_read_full(fd, ret->data + ret->len, size - ret->len);
	if (n < 0)
		return (int)n;
	ret->len += (size_t)n;
	return 0;
}

static const void *keep_content(tenon_call *call, struct mor_buf *content, size_t *ret_len)
{
	const struct mor_buf *kept = tn_call_take(call, content);

	if (!kept)
		return no_source(call, "OutOfMemory", strerror(ENOMEM));
	*ret_len = kept->len - 1;
	return kept->data;
}

static const void *read_open(tenon_call *call, int fd, size_t max_bytes, size_t *ret_len)
{
	MOR_CLEAN(mor_buf) struct mor_buf content = MOR_BUF_INIT;
	struct stat info;
	int r;

	if (fstat(fd, &info) < 0)
		return no_source(call, "FileUnreadable", strerror(errno));
	if (!S_ISREG(info.st_mode))
		return no_source(call, "FileUnreadable", "not a regular file");
	if (max_bytes && (uint64_t)info.st_size > max_bytes)
		return no_source(call, "FileTooLarge", "the file is larger than the limit");
	r = read_up_to(fd, (size_t)info.st_size, &content);
	if (r < 0)
		return r == -ENOMEM || mor_buf_failed(&content) ?
			       no_source(call, "OutOfMemory", strerror(ENOMEM)) :
			       no_source(call, "FileUnreadable", strerror(-r));
	return keep_content(call, &content, ret_len);
}

static const void *read_path(tenon_call *call, const char *path, size_t max_bytes, size_t *ret_len)
{
	/* O_NONBLOCK: a FIFO must not hold us; it means nothing for a regular file. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const void *content;

	if (fd < 0)
		return no_source(call, errno == ENOENT || errno == ENOTDIR ? "FileNotFound" : "FileUnreadable",
				 strerror(errno));
	content = read_open(call, fd, max_bytes, ret_len);
	mor_fd_close(&fd);
	return content;
}

const void *tenon_source(tenon_call *call, size_t max_bytes, size_t *ret_len)
{
	const tenon_value *source = tenon_get(tenon_sent(call), "source");
	const char *path = tenon_source_path(call);
	const void *bytes;
	size_t len = 0;

	if (call->answered)
		return NULL;
	if (path && strcmp(tenon_as_str(tenon_get(source, "type"), "path"), "bytes") != 0)
		return read_path(call, path, max_bytes, ret_len);
	bytes = tenon_as_bytes(call, tenon_get(source, "data"), &len);
	if (!bytes) {
		tn_refuse(call, TENON_EPARAMS, "source.data: is no base64 text", (struct mor_slice){ 0 });
		return NULL;
	}
	if (max_bytes && len > max_bytes)
		return no_source(call, "FileTooLarge", "the data are larger than the limit");
	*ret_len = len;
	return bytes;
}
