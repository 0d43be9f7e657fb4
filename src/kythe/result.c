/* Output in input order, and its journal: one line per unit, written after the unit's bytes. */
#include "kythe/result.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"

#define JOURNAL_LIMIT ((size_t)1 << 30)
#define MAGIC "mortise-index 1 "

struct ended {
	enum mor_unit_state state;
	char *file;   /* its bytes, while they wait for their turn */
	char *reason; /* why it failed */
	uint64_t size;
	enum mor_stream_format form;
};

struct mor_result {
	struct mor_result_options opt;
	char *path, *journal_path;
	int out, journal;
	uint64_t bytes;
	size_t next; /* the first unit that is not in the output */
	struct ended *units;
	struct mor_result_stats stats;
	mortise_error broken; /* the first failure: nothing is written after it */
};

/* ---- the journal ---- */

static int write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = mor_fd_write_nosignal(fd, bytes, len);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		bytes += n;
		len -= (size_t)n;
	}
	return 0;
}

static int write_journal(struct mor_result *result, const char *text, mortise_error *err)
{
	int r = result->journal < 0 ? 0 : write_all(result->journal, text, strlen(text));

	return r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", result->journal_path) : 0;
}

#define HEAD_SIZE 160
static size_t format_head(const struct mor_result *result, char out[HEAD_SIZE])
{
	snprintf(out, HEAD_SIZE, MAGIC "%.128s\n", result->opt.identity);
	return strlen(out);
}

static int begin_journal(struct mor_result *result, mortise_error *err)
{
	char head[HEAD_SIZE];

	if (ftruncate(result->journal, 0) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->journal_path);
	format_head(result, head);
	return write_journal(result, head, err);
}

/* "done 12 3456" or "failed 12 3456 why it failed": unit, bytes of the output after it. */
static bool read_line(struct mor_result *result, struct mor_slice line)
{
	char copy[1200], word[8];
	unsigned long long unit, bytes;
	int used = 0;

	snprintf(copy, sizeof(copy), "%.*s", (int)(line.len < sizeof(copy) ? line.len : sizeof(copy) - 1), line.ptr);
	if (sscanf(copy, "%7s %llu %llu%n", word, &unit, &bytes, &used) != 3 || unit != result->next ||
	    unit >= result->opt.units || bytes < result->bytes)
		return false;
	if (strcmp(word, "done") == 0) {
		result->units[unit].state = MOR_UNIT_DONE;
		result->stats.done++;
	} else if (strcmp(word, "failed") == 0) {
		result->units[unit].state = MOR_UNIT_FAILED;
		result->units[unit].reason = mor_strdup(copy + used + strspn(copy + used, " "));
		result->stats.failed++;
	} else {
		return false;
	}
	result->next++;
	result->bytes = bytes;
	return true;
}

static int read_journal(struct mor_result *result, struct mor_slice text, mortise_error *err)
{
	char head[HEAD_SIZE];
	size_t at = format_head(result, head), magic = strlen(MAGIC);

	if (text.len < at && memcmp(text.ptr, head, text.len) == 0)
		return begin_journal(result, err); /* killed before it had begun */
	if (text.len < magic || memcmp(text.ptr, MAGIC, magic) != 0)
		return mor_fail(err, MORTISE_EINPUT, "%s is no journal of mortise index", result->journal_path);
	if (text.len < at || memcmp(text.ptr, head, at) != 0)
		return mor_fail(err, MORTISE_EINPUT, "%s is of a run with other records or options: run it again without --resume",
				result->journal_path);
	while (at < text.len) {
		const char *newline = memchr(text.ptr + at, '\n', text.len - at);

		if (!newline)
			break; /* the line that was being written when the run was killed */
		if (!read_line(result, (struct mor_slice){ text.ptr + at, (size_t)(newline - text.ptr) - at }))
			return mor_fail(err, MORTISE_EINPUT, "%s is damaged at byte %zu", result->journal_path, at);
		at = (size_t)(newline - text.ptr) + 1;
	}
	/* Half a line at its end would spoil the next one. */
	return ftruncate(result->journal, (off_t)at) < 0 ?
		       mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->journal_path) : 0;
}

static int open_journal(struct mor_result *result, mortise_error *err)
{
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len = 0;
	int r;

	result->journal = open(result->journal_path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (result->journal < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->journal_path);
	if (flock(result->journal, LOCK_EX | LOCK_NB) < 0)
		return mor_fail(err, MORTISE_EINPUT, "%s: another run writes it", result->journal_path);
	r = mor_fd_read_file(result->journal_path, JOURNAL_LIMIT, &text, &len);
	if (r < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", result->journal_path);
	if (!result->opt.resume || len == 0)
		return begin_journal(result, err);
	return read_journal(result, (struct mor_slice){ text, len }, err);
}

static int open_output(struct mor_result *result, mortise_error *err)
{
	off_t size;

	result->out = open(result->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (result->out < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->path);
	if (result->journal < 0)
		return 0;
	size = lseek(result->out, 0, SEEK_END);
	if (size >= 0 && (uint64_t)size < result->bytes)
		return mor_fail(err, MORTISE_EINPUT, "%s is shorter than its journal says: run it again without --resume", result->path);
	if (size >= 0 && (ftruncate(result->out, (off_t)result->bytes) < 0 || lseek(result->out, 0, SEEK_END) < 0))
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->path);
	return 0;
}

/* A pipe or a device has no journal: nothing could be taken back from it. */
static bool is_stream(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int open_files(struct mor_result *result, mortise_error *err)
{
	struct mor_buf name = MOR_BUF_INIT;
	int r;

	if (!result->opt.path) {
		result->out = result->opt.fd;
		return 0;
	}
	result->path = mor_strdup(result->opt.path);
	mor_buf_printf(&name, "%s.journal", result->opt.path);
	result->journal_path = mor_buf_detach(&name);
	if (!result->path || !result->journal_path)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	r = is_stream(result->path) ? 0 : open_journal(result, err);
	return r < 0 ? r : open_output(result, err);
}

int mor_result_open(const struct mor_result_options *opt, struct mor_result **ret, mortise_error *err)
{
	struct mor_result *result = mor_zalloc(sizeof(*result));
	int r;

	if (!result)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	result->opt = *opt;
	result->out = result->journal = -1;
	result->units = mor_zalloc((opt->units + 1) * sizeof(struct ended));
	r = result->units ? open_files(result, err) : mor_fail(err, MORTISE_ENOMEM, "out of memory");
	if (r < 0) {
		mor_result_free(result, false);
		return r;
	}
	*ret = result;
	return 0;
}

struct mor_result *mor_result_free(struct mor_result *result, bool finished)
{
	if (!result)
		return NULL;
	for (size_t i = 0; result->units && i < result->opt.units; i++) {
		if (result->units[i].file)
			unlink(result->units[i].file);
		mor_free(result->units[i].file);
		mor_free(result->units[i].reason);
	}
	if (finished && result->journal >= 0)
		unlink(result->journal_path);
	if (result->opt.path)
		mor_fd_close(&result->out);
	mor_fd_close(&result->journal);
	mor_free(result->units);
	mor_free(result->path);
	mor_free(result->journal_path);
	mor_free(result);
	return NULL;
}

enum mor_unit_state mor_result_state(const struct mor_result *result, size_t unit, const char **ret_reason)
{
	*ret_reason = result->units[unit].reason;
	return result->units[unit].state;
}

struct mor_result_stats mor_result_stats(const struct mor_result *result)
{
	struct mor_result_stats stats = result->stats;

	stats.bytes = result->bytes;
	return stats;
}

/* ---- bytes ---- */

static int put_bytes(const void *bytes, size_t len, void *arg)
{
	struct mor_result *result = arg;
	int r = write_all(result->out, bytes, len);

	if (r < 0) {
		errno = -r;
		return MORTISE_ESYSTEM;
	}
	result->bytes += len;
	return 0;
}

/* As they are. The kernel copies where it can. */
static int copy_bytes(struct mor_result *result, int from, uint64_t size, mortise_error *err)
{
	char buffer[65536];
	ssize_t n;

	while (size > 0) {
		n = copy_file_range(from, NULL, result->out, NULL, size > (1u << 30) ? 1u << 30 : (size_t)size, 0);
		if (n <= 0)
			break;
		size -= (uint64_t)n;
		result->bytes += (uint64_t)n;
	}
	while (size > 0) {
		n = read(from, buffer, size < sizeof(buffer) ? (size_t)size : sizeof(buffer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || put_bytes(buffer, (size_t)n, result) < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, n == 0 ? EIO : errno, "writing the result");
		size -= (uint64_t)n;
	}
	return 0;
}

static int convert(struct mor_result *result, int from, const struct ended *unit, mortise_error *err)
{
	struct mor_fd_source source = { .fd = from, .end = unit->size };
	struct mor_entries entries = { .records = { .read = mor_fd_source_read, .arg = &source, .format = unit->form } };
	struct mor_convert_stats stats = { 0 };
	enum mor_stream_format to = result->opt.format == MOR_RESULT_JSON ? MOR_STREAM_LINES : MOR_STREAM_PROTOBUF;
	int r;

	err->code = 0;
	r = unit->size ? mor_entries_convert(&entries, to, put_bytes, result, &stats, err) : 0;
	if (r < 0 && !err->code) /* the sink's, which has only errno to tell */
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "writing the result");
	mor_entries_fini(&entries);
	return r;
}

static int append(struct mor_result *result, struct ended *unit, mortise_error *err)
{
	bool as_it_is = result->opt.format == MOR_RESULT_RAW ||
			(result->opt.format == MOR_RESULT_ENTRIES && unit->form == MOR_STREAM_PROTOBUF);
	int fd = open(unit->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int r;

	if (fd < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", unit->file);
	r = as_it_is ? copy_bytes(result, fd, unit->size, err) : convert(result, fd, unit, err);
	mor_fd_close(&fd);
	unlink(unit->file);
	mor_free(unit->file);
	unit->file = NULL;
	return r;
}

/* Everything whose turn has come. */
static int flush(struct mor_result *result, mortise_error *err)
{
	int r = 0;

	if (result->broken.code) { /* half a unit may be in the output: only the next run can mend that */
		*err = result->broken;
		return err->code;
	}
	while (r == 0 && result->next < result->opt.units && result->units[result->next].state != MOR_UNIT_OPEN) {
		struct ended *unit = &result->units[result->next];
		char line[1200];

		if (unit->file)
			r = append(result, unit, err);
		if (r < 0)
			break;
		snprintf(line, sizeof(line), "%s %zu %" PRIu64 "%s%s\n", unit->state == MOR_UNIT_DONE ? "done" : "failed",
			 result->next, result->bytes, unit->reason ? " " : "", unit->reason ? unit->reason : "");
		r = write_journal(result, line, err);
		result->next++;
	}
	if (r < 0) {
		result->broken = *err;
		result->broken.code = r;
	}
	return r;
}

int mor_result_done(struct mor_result *result, size_t unit, const char *file, uint64_t size, enum mor_stream_format form,
		    mortise_error *err)
{
	struct ended *ended = &result->units[unit];

	ended->file = mor_strdup(file);
	if (!ended->file)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	ended->size = size;
	ended->form = form;
	ended->state = MOR_UNIT_DONE;
	result->stats.done++;
	return flush(result, err);
}

int mor_result_failed(struct mor_result *result, size_t unit, const char *reason, mortise_error *err)
{
	char line[1024];

	result->units[unit].reason = mor_strdup(mor_printable(mor_slice_of(reason), line, sizeof(line)));
	result->units[unit].state = MOR_UNIT_FAILED;
	result->stats.failed++;
	return flush(result, err);
}

int mor_result_check(int fd, uint64_t size, enum mor_stream_format form, bool raw, uint64_t *ret_records, mortise_error *err)
{
	struct mor_fd_source source = { .fd = fd, .end = size };
	struct mor_entries entries = { .records = { .read = mor_fd_source_read, .arg = &source, .format = form } };
	struct mor_slice record;
	int r = 0;

	if (size > 0)
		while ((r = raw ? mor_records_next(&entries.records, &record, err) : mor_entries_skip(&entries, err)) > 0)
			;
	if (ret_records)
		*ret_records = entries.records.count;
	if (r == 0 && source.at != size)
		r = mor_fail(err, MORTISE_EINPUT, "the output became shorter");
	mor_entries_fini(&entries);
	return r;
}
