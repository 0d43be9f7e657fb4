/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one file. Every problem becomes the job's error, with a fitting kind: not_found for a missing file,
 * input for the rest.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "extract/extract.h"

/* As much of a file as libmagic reads, into memory that is new each time. It would be 7 MiB; what lies further
 * inside (a section header of an ELF file) it reads by itself. */
#define MAGIC_BYTES ((size_t)1 << 20)

int mor_extract_magic_open(struct mor_extract *x, mortise_error *err)
{
	x->magic = magic_open(MAGIC_MIME_TYPE | MAGIC_SYMLINK | MAGIC_ERROR);
	if (x->magic) /* if it cannot, it reads more */
		(void)magic_setparam(x->magic, MAGIC_PARAM_BYTES_MAX, &(size_t){ MAGIC_BYTES });
	if (x->magic && magic_load(x->magic, NULL) == 0)
		return 0;
	return mor_fail(err, MORTISE_ESYSTEM, "libmagic: %s; give the type with --mime",
			x->magic ? magic_error(x->magic) : mortise_status_text(MORTISE_ENOMEM));
}

/* ---- memory for messages ---- */

static bool fits_better(const struct mor_buf *one, const struct mor_buf *than, size_t need)
{
	if (one->cap >= need)
		return than->cap < need || one->cap < than->cap;
	return one->cap > than->cap;
}

struct mor_buf mor_extract_spare_take(struct mor_extract *x, bool mapped, size_t need)
{
	struct mor_buf *best = NULL, taken = MOR_BUF_INIT;

	for (size_t i = 0; i < x->spare_count; i++)
		if ((x->spares[i].cap >= MOR_BUF_MAPPED) == mapped &&
		    (!best || fits_better(&x->spares[i], best, need)))
			best = &x->spares[i];
	if (!best)
		return taken;
	taken = *best;
	*best = x->spares[--x->spare_count];
	x->spare_bytes -= taken.cap;
	return taken;
}

void mor_extract_spare_put(struct mor_extract *x, struct mor_buf *buf)
{
	mor_buf_reset(buf, SIZE_MAX);
	if (!buf->data || x->spare_count == mor_extract_spares_most(x) ||
	    x->spare_bytes + buf->cap > MOR_EXTRACT_SPARE_MOST) {
		mor_buf_fini(buf);
		return;
	}
	x->spare_bytes += buf->cap;
	x->spares[x->spare_count++] = *buf;
	*buf = (struct mor_buf)MOR_BUF_INIT;
}

void mor_extract_spares_free(struct mor_extract *x)
{
	while (x->spare_count)
		mor_buf_fini(&x->spares[--x->spare_count]);
	mor_free(x->spares);
}

/* ---- extension ---- */

/* "libfoo.so.6.1" is a shared object: versions are not extensions. */
static size_t without_version(const char *name, size_t len)
{
	size_t end = len;

	while (end && (isdigit((unsigned char)name[end - 1]) || name[end - 1] == '.'))
		end--;
	if (end < len && end > 3 && name[end] == '.' && memcmp(name + end - 3, ".so", 3) == 0)
		return end;
	return len;
}

/* The last extension, with its dot, in lower case; "" if the name has no extension. */
static char *extension_of(const char *path)
{
	const char *name = mor_base_name(path), *dot;
	size_t len = without_version(name, strlen(name));

	dot = memrchr(name, '.', len);
	if (!dot || dot == name || dot == name + len - 1)
		return mor_strdup("");
	return mor_extract_claim_lower(mor_strndup(dot, len - (size_t)(dot - name)));
}

/* "elf" and ".elf" mean the same; messages have the dot. */
static char *given_extension(const char *given)
{
	return *given == '.' || !*given ? mor_strdup(given) : mor_text_format(".%s", given);
}

/* ---- content ---- */

/* Streams are read to their end, which may block. So we read only streams that the user made for us, never a
 * FIFO that happens to be among the files. */
static bool is_stream(const char *path)
{
	return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
	       strncmp(path, "/proc/self/fd/", 14) == 0;
}

static void fail_too_large(struct mor_extract_job *job)
{
	char limit[32];

	mor_extract_job_fail(job, MORTISE_EINPUT, "larger than --max-size %s%s",
			     mor_format_bytes(job->extract->args->max_size, limit),
			     is_stream(job->path) ? "" : "; --source path sends its name instead");
}

/* One byte over the limit is enough to know. The rest of an endless stream is not read. */
static void read_stream(struct mor_extract_job *job)
{
	int fd = strcmp(job->path, "-") == 0 ? STDIN_FILENO : open(job->path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	do {
		if (fd < 0 || mor_buf_reserve(&job->data, 65536)) {
			n = -1;
			break;
		}
		n = read(fd, job->data.data + job->data.len, 65536);
		if (n > 0)
			job->data.len += (size_t)n;
	} while (n > 0 && job->data.len <= job->extract->args->max_size);
	if (n < 0)
		mor_extract_job_fail(job, MORTISE_EINPUT, "%s",
				     strerror(mor_buf_failed(&job->data) ? ENOMEM : errno));
	else if (job->data.len > job->extract->args->max_size)
		fail_too_large(job);
	if (fd > STDIN_FILENO)
		close(fd);
}

static void fail_os(struct mor_extract_job *job, int os_errno)
{
	switch (os_errno) {
	case ENOENT:
	case ENOTDIR:
		mor_extract_job_fail(job, MORTISE_ENOTFOUND, "no such file");
		break;
	case EISDIR:
		mor_extract_job_fail(job, MORTISE_EINPUT, "is a directory; name the files in it");
		break;
	case EINVAL:
		mor_extract_job_fail(job, MORTISE_EINPUT, "not a regular file");
		break;
	case EFBIG:
		fail_too_large(job);
		break;
	default:
		mor_extract_job_fail(job, MORTISE_EINPUT, "%s", strerror(os_errno));
	}
}

#define SOURCE_BYTES "{\"source\":{\"type\":\"bytes\",\"data\":\""
#define SOURCE_END   "\"},\"options\":"
#define BLOCK        ((size_t)3 << 16) /* whole groups of base64; stays in the processor's cache */
#define ROOM         ((size_t)4096)    /* for what is before and behind the content */
#define LARGE_FILE   ((size_t)1 << 20)

/* Memory of an earlier file is used again: to get it clean from the kernel costs more than all that is done
 * with it here. Large files share blocks that grow without a copy. Of a small one that is not enough the bytes
 * are not worth copying. */
static int begin_params(struct mor_extract_job *job, uint64_t size)
{
	size_t need = (size_t)size / 3 * 4 + ROOM;
	bool large = need >= LARGE_FILE;

	mor_buf_fini(&job->params);
	job->params = mor_extract_spare_take(job->extract, large, need);
	if (!large && job->params.cap < need)
		mor_buf_fini(&job->params);
	if (large && need < MOR_BUF_MAPPED)
		need = MOR_BUF_MAPPED;
	if (mor_buf_reserve(&job->params, need))
		return -ENOMEM;
	return mor_buf_text(&job->params, SOURCE_BYTES) ? -ENOMEM : 0;
}

/* Straight into the message, block by block: memory holds a file only once. */
static int encode_file(struct mor_extract_job *job, int fd, uint64_t size)
{
	struct mor_buf *block = &job->extract->block;
	uint64_t left = job->extract->args->max_size;
	int r = size > left ? -EFBIG : begin_params(job, size);
	ssize_t n;

	if (r == 0 && mor_buf_reserve(block, BLOCK))
		r = -ENOMEM;
	if (r < 0)
		return r;
	do {
		n = mor_fd_read_full(fd, block->data, BLOCK);
		if (n < 0)
			return (int)n;
		if ((uint64_t)n > left)
			return -EFBIG;
		left -= (uint64_t)n;
		if (mor_base64_encode((struct mor_slice){ block->data, (size_t)n }, &job->params))
			return -ENOMEM;
	} while ((size_t)n == BLOCK);
	return 0;
}

static void read_bytes(struct mor_extract_job *job)
{
	uint64_t size;
	int fd, r;

	if (!job->given && is_stream(job->path)) {
		read_stream(job);
		if (job->err.code == 0 && (begin_params(job, job->data.len) < 0 ||
					   mor_base64_encode(mor_buf_view(&job->data), &job->params) < 0))
			fail_os(job, ENOMEM);
		return;
	}
	r = fd = mor_fd_open_file(job->given ? job->given->place : job->path, &size);
	if (fd >= 0)
		r = encode_file(job, fd, size);
	mor_fd_close(&fd);
	if (r < 0)
		fail_os(job, -r);
}

/* The plugin will open this file itself. We check now whether that can work. */
static void look_at_path(struct mor_extract_job *job)
{
	struct stat info;

	if (strcmp(job->path, "-") == 0)
		mor_extract_job_fail(job, MORTISE_EINPUT, "cannot be sent as a path; leave out --source path");
	else if (access(job->path, R_OK) < 0 || stat(job->path, &info) < 0)
		fail_os(job, errno);
	else if (S_ISDIR(info.st_mode))
		fail_os(job, EISDIR);
	else if (!S_ISREG(info.st_mode))
		fail_os(job, EINVAL);
	else if (info.st_size == 0)
		mor_extract_job_fail(job, MORTISE_EINPUT, "is empty");
}

static char *mime_of(struct mor_extract_job *job)
{
	struct mor_extract *x = job->extract;
	const char *mime;

	if (x->args->mime)
		return mor_strdup(x->args->mime);
	/* By name if there is one: libmagic also uses the file's mode to tell programs from libraries. */
	if (is_stream(job->path))
		mime = magic_buffer(x->magic, job->data.data, job->data.len);
	else
		mime = magic_file(x->magic, job->path);
	return mor_strdup(mime ? mime : "application/octet-stream");
}

/* Another machine knows the rest. A file that is gone since then is found when it is read. */
static void take_given(struct mor_extract_job *job)
{
	if (job->given->code) {
		mor_extract_job_fail(job, job->given->code, "%s", job->given->why);
		return;
	}
	if (strcmp(job->extract->args->source, "bytes") == 0)
		read_bytes(job);
	job->mime = mor_strdup(job->given->mime);
	job->extension = mor_strdup(job->given->extension);
	if (!job->mime || !job->extension)
		mor_extract_job_fail(job, MORTISE_ENOMEM, "%s", mortise_status_text(MORTISE_ENOMEM));
}

static void find_kind(struct mor_extract_job *job)
{
	const struct mor_extract_args *args = job->extract->args;

	job->mime = mime_of(job);
	mor_buf_fini(&job->data);
	job->extension = args->extension      ? given_extension(args->extension) :
			 is_stream(job->path) ? mor_strdup("") :
						extension_of(job->path);
	if (!job->mime || !job->extension)
		mor_extract_job_fail(job, MORTISE_ENOMEM, "%s", mortise_status_text(MORTISE_ENOMEM));
}

int mor_extract_look(struct mor_extract *x, const char *path, struct mor_extract_job *ret)
{
	struct stat info;

	*ret = (struct mor_extract_job){ .extract = x, .path = path };
	if (!x->magic && !x->args->mime && mor_extract_magic_open(x, &ret->err) < 0)
		return ret->err.code;
	look_at_path(ret);
	if (ret->err.code == 0 && strcmp(x->args->source, "bytes") == 0 && stat(path, &info) == 0 &&
	    (uint64_t)info.st_size > x->args->max_size)
		fail_too_large(ret);
	if (ret->err.code == 0)
		find_kind(ret);
	return ret->err.code;
}

void mor_extract_job_prepare(struct mor_extract_job *job)
{
	bool bytes = strcmp(job->extract->args->source, "bytes") == 0;

	if (job->given) {
		take_given(job);
		return;
	}
	if (bytes)
		read_bytes(job);
	else
		look_at_path(job);
	if (job->err.code == 0 && bytes && job->params.len == strlen(SOURCE_BYTES))
		mor_extract_job_fail(job, MORTISE_EINPUT, "is empty");
	if (job->err.code == 0)
		find_kind(job);
}

/* ---- params ---- */

/* The user's options win over what we found. The specification has no type or extension here, but the real
 * host sends them. */
static void write_options(struct mor_extract_job *job, struct mor_writer *w)
{
	const struct mor_value *given = mor_doc_root(job->extract->options);
	struct mor_json_iter it = mor_json_iter(given);
	bool strict = job->extract->args->plugin->strict;

	mor_w_object(w);
	if (!strict && !mor_json_get(given, "mime_type"))
		mor_w_pair(w, "mime_type", job->mime);
	if (!strict && !mor_json_get(given, "extension"))
		mor_w_pair(w, "extension", job->extension);
	while (mor_json_next(&it)) {
		mor_w_key_slice(w, it.name);
		mor_w_value(w, it.value);
	}
	mor_w_end(w);
}

static int write_path(struct mor_extract_job *job, struct mor_buf *out)
{
	const char *typed = job->given ? job->given->place : job->path;
	MOR_CLEAN_TEXT char *path = NULL;
	char here[PATH_MAX] = "";

	/* Absolute, because a plugin runs in its own directory. Links are not resolved: their names say
	 * more. */
	if (*typed == '/' || getcwd(here, sizeof(here)))
		path = mor_text_format("%s%s%s", here, *here ? "/" : "", typed);
	if (!path)
		return MORTISE_ESYSTEM;
	mor_buf_reset(out, SIZE_MAX);
	mor_buf_text(out, "{\"source\":{\"type\":\"path\",\"path\":");
	mor_buf_json_string(out, mor_slice_of(path));
	return mor_buf_text(out, "},\"options\":");
}

int mor_extract_job_params(struct mor_extract_job *job)
{
	struct mor_writer w = { .out = &job->params };
	bool bytes = strcmp(job->extract->args->source, "bytes") == 0;
	int r = bytes ? mor_buf_text(&job->params, SOURCE_END) : write_path(job, &job->params);

	if (r < 0)
		return r;
	write_options(job, &w);
	return mor_buf_byte(&job->params, '}');
}
