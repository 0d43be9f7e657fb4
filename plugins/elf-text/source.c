/* SPDX-License-Identifier: Apache-2.0 */
/* Neither a path nor what lies there is trusted: no FIFO, no device, no file beyond the limit. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin.h"

/* The path is not repeated: the caller sent it, and it may hold anything. */
static int no_file(tenon_call *call, const char *reason, const char *details)
{
	char text[160];

	snprintf(text, sizeof(text), "Extraction failed: %s", details);
	tenon_object(call, NULL);
	tenon_put_str(call, "reason", reason);
	tenon_put_str(call, "details", details);
	tenon_put_bool(call, "recoverable", 0);
	tenon_put_int(call, "partial_functions", 0);
	tenon_end(call);
	tenon_fail_built(call, YAMS_EFAILED, text);
	return -1;
}

static int bad_source(tenon_call *call, const char *text)
{
	tenon_fail(call, TENON_EPARAMS, text);
	return -1;
}

/* Reads at most `size` bytes: a file that grows meanwhile is taken as it was. */
static size_t read_all(int fd, unsigned char *to, size_t size)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, to + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	return len;
}

static int read_file(tenon_call *call, int fd, size_t max_bytes, struct source *ret)
{
	struct stat info;
	unsigned char *image;

	if (fstat(fd, &info) < 0)
		return no_file(call, "FileUnreadable", strerror(errno));
	if (!S_ISREG(info.st_mode))
		return no_file(call, "FileUnreadable", "not a regular file");
	if ((uint64_t)info.st_size > max_bytes)
		return no_file(call, "FileTooLarge", "the file is larger than max_file_bytes");
	image = malloc((size_t)info.st_size + 1);
	if (!image)
		return no_file(call, "OutOfMemory", strerror(ENOMEM));
	ret->owned = ret->image = image;
	ret->len = read_all(fd, image, (size_t)info.st_size);
	return 0;
}

static int read_path(tenon_call *call, const char *path, size_t max_bytes, struct source *ret)
{
	/* O_NONBLOCK: a FIFO must not hold us; it means nothing for a regular file. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r;

	if (fd < 0)
		return no_file(call, errno == ENOENT || errno == ENOTDIR ? "FileNotFound" : "FileUnreadable",
			       strerror(errno));
	r = read_file(call, fd, max_bytes, ret);
	close(fd);
	if (r == 0)
		ret->path = path;
	return r;
}

static int read_bytes(tenon_call *call, const tenon_value *data, size_t max_bytes, struct source *ret)
{
	size_t len;
	const void *bytes;

	if (tenon_type_of(data) != TENON_STRING)
		return bad_source(call, "source.data: base64 text is required with type \"bytes\"");
	bytes = tenon_as_bytes(call, data, &len);
	if (!bytes)
		return bad_source(call, "source.data: is no base64 text");
	if (len > max_bytes)
		return no_file(call, "FileTooLarge", "the data are larger than max_file_bytes");
	/* libelf wants a pointer to non-const and only reads. */
	ret->image = (unsigned char *)(uintptr_t)bytes;
	ret->len = len;
	return 0;
}

int source_read(tenon_call *call, size_t max_bytes, struct source *ret)
{
	const tenon_value *source = tenon_get(tenon_params(call), "source");
	const char *type = tenon_as_str(tenon_get(source, "type"), "");
	const char *path = tenon_as_str(tenon_get(source, "path"), NULL);

	*ret = (struct source){ 0 };
	if (tenon_type_of(source) != TENON_OBJECT)
		return bad_source(call, "source: an object is required");
	if (strcmp(type, "bytes") == 0)
		return read_bytes(call, tenon_get(source, "data"), max_bytes, ret);
	if (strcmp(type, "path") != 0)
		return bad_source(call, "source.type: must be \"path\" or \"bytes\"");
	if (!path || !*path)
		return bad_source(call, "source.path: text is required with type \"path\"");
	return read_path(call, path, max_bytes, ret);
}

void source_fini(struct source *source)
{
	free(source->owned);
	*source = (struct source){ 0 };
}
