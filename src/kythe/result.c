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
#define BUFFER_KEPT ((size_t)4 << 20)
#define PIECE ((size_t)256 << 10)
/* Of the output, what stays in memory. More of it would drive out what the analyzers read again and again; and on a virtual
 * machine whose host takes back what is free, memory that is new costs ten times the bytes that are written to it. */
#define CACHED ((uint64_t)16 << 20)
#define RESERVED ((uint64_t)32 << 20)
#define MAGIC "mortise-index 1 "

struct ended {
	enum mor_unit_state state;
	char *reason; /* why it failed */
	uint64_t at, size; /* its bytes in the spool, while they wait for their turn */
};

struct mor_result {
	struct mor_result_options opt;
	char *path, *journal_path;
	int out, journal, spool;
	bool locked; /* the journal: it is ours */
	bool begun;  /* journal and output are of this run. Until there is something to write, what lay there before stays */
	uint64_t bytes, spooled; /* of the output; of the spool */
	uint64_t reserved; /* up to there the output has space on the disk; 0: as far as it goes */
	size_t waiting; /* units in the spool */
	size_t next; /* the first unit that is not in the output */
	struct ended *units;
	struct mor_result_stats stats;
	mortise_error broken; /* the first failure: nothing is written after it */
	struct mor_buf buffer; /* of reading; kept from unit to unit: fresh memory costs more than the bytes in it */
};

/* ---- the journal ---- */

static int write_journal(struct mor_result *result, const char *text, mortise_error *err)
{
	int r = result->journal < 0 ? 0 : mor_fd_write_all(result->journal, text, strlen(text));

	return r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", result->journal_path) : 0;
}

/* ext4 writes a file that was cut to nothing to the disk when it is closed next, which may as well be now: it is a promise
 * against the death of the machine, and we make none. */
static void settle_cut(const struct mor_result *result)
{
	int fd = open(result->path, O_RDONLY | O_CLOEXEC);

	mor_fd_close(&fd);
}

/* To what the journal says. */
static int cut_output(struct mor_result *result, mortise_error *err)
{
	off_t size = lseek(result->out, 0, SEEK_END), want = (off_t)result->bytes;

	if (size >= 0 && size < want)
		return mor_fail(err, MORTISE_EINPUT, "%s is shorter than its journal says: run it again without --resume", result->path);
	if (size > want && (ftruncate(result->out, want) < 0 || lseek(result->out, 0, SEEK_END) < 0))
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->path);
	if (size > 0 && want == 0)
		settle_cut(result);
	return 0;
}

#define HEAD_SIZE 160
static size_t format_head(const struct mor_result *result, char out[HEAD_SIZE])
{
	snprintf(out, HEAD_SIZE, MAGIC "%.128s\n", result->opt.identity);
	return strlen(out);
}

/* The journal first: who is killed in between leaves an output that is longer than its journal says. */
static int begin(struct mor_result *result, mortise_error *err)
{
	char head[HEAD_SIZE];
	int r;

	if (result->begun || result->journal < 0)
		return 0;
	if (ftruncate(result->journal, 0) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->journal_path);
	format_head(result, head);
	r = write_journal(result, head, err);
	if (r == 0)
		r = cut_output(result, err);
	result->begun = r == 0;
	return r;
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
		return 0; /* killed before it had begun */
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
	result->begun = true;
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
	result->locked = true;
	r = mor_fd_read_file(result->journal_path, JOURNAL_LIMIT, &text, &len);
	if (r < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", result->journal_path);
	return !result->opt.resume || len == 0 ? 0 : read_journal(result, (struct mor_slice){ text, len }, err);
}

static int open_output(struct mor_result *result, mortise_error *err)
{
	result->out = open(result->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (result->out < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", result->path);
	return result->begun ? cut_output(result, err) : 0;
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
	result->out = result->journal = result->spool = -1;
	result->units = mor_zalloc((opt->units + 1) * sizeof(struct ended));
	r = result->units ? open_files(result, err) : mor_fail(err, MORTISE_ENOMEM, "out of memory");
	if (r < 0) {
		mor_result_free(result, false);
		return r;
	}
	*ret = result;
	return 0;
}

/* At the end of a run, and where it has come to nothing: an empty one would be all that is left of it. */
static void remove_journal(struct mor_result *result, bool finished)
{
	struct stat st;

	if (finished)
		begin(result, NULL); /* of no unit at all: the output is empty */
	if (finished || (!result->begun && fstat(result->journal, &st) == 0 && st.st_size == 0))
		unlink(result->journal_path);
}

/* Space that was reserved and not needed. Where that fails it is lost until the file goes, no more. */
static void give_back(const struct mor_result *result)
{
	int ignored = result->reserved ? ftruncate(result->out, (off_t)result->bytes) : 0;

	(void)ignored;
}

struct mor_result *mor_result_free(struct mor_result *result, bool finished)
{
	if (!result)
		return NULL;
	for (size_t i = 0; result->units && i < result->opt.units; i++)
		mor_free(result->units[i].reason);
	if (result->locked)
		remove_journal(result, finished);
	give_back(result);
	if (result->opt.path)
		mor_fd_close(&result->out);
	mor_fd_close(&result->journal);
	mor_fd_close(&result->spool);
	mor_buf_fini(&result->buffer);
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

/* Where checked bytes go, and how many went there. */
struct sink {
	struct mor_fd_source source;
	int fd;
	uint64_t start; /* where in the file the unit begins */
	bool cached;    /* it will be read again */
	uint64_t bytes;
	int error; /* of writing: it is not the unit's fault */
};

static int put_bytes(const void *bytes, size_t len, void *arg)
{
	struct sink *sink = arg;
	uint64_t at = sink->start + sink->bytes;
	int r = sink->cached || at < CACHED ? mor_fd_write_all(sink->fd, bytes, len) : mor_fd_write_uncached(sink->fd, at, bytes, len);

	sink->bytes += r < 0 ? 0 : len;
	sink->error = r;
	return r < 0 ? MORTISE_ESYSTEM : 0;
}

/* What is read is written on as it is, and looked at on the way. Pieces end where the file has a round offset: the kernel then
 * keeps each as one, and not as pages and half pages. */
static ssize_t read_and_put(void *arg, void *buffer, size_t len)
{
	struct sink *sink = arg;
	size_t room = PIECE - (size_t)((sink->start + sink->bytes) % PIECE);
	ssize_t n = mor_fd_source_read(&sink->source, buffer, len < room ? len : room);

	if (n > 0 && put_bytes(buffer, (size_t)n, sink) < 0)
		return sink->error;
	return n;
}

static int check(struct mor_entries *entries, bool raw, mortise_error *err)
{
	struct mor_slice record;
	int r;

	do
		r = raw ? mor_records_next(&entries->records, &record, err) : mor_entries_skip(entries, err);
	while (r > 0);
	return r;
}

static int transfer(struct mor_result *result, struct mor_unit_output *output, struct sink *sink, mortise_error *err)
{
	enum mor_result_format format = result->opt.format;
	bool raw = format == MOR_RESULT_RAW;
	bool as_it_is = raw || (format == MOR_RESULT_ENTRIES && output->form == MOR_STREAM_PROTOBUF);
	struct mor_entries entries = { .records = { .read = read_and_put, .arg = sink, .format = output->form } };
	struct mor_convert_stats stats = { 0 };
	int r;

	entries.records.buf = result->buffer;
	if (!as_it_is) {
		entries.records.read = mor_fd_source_read;
		entries.records.arg = &sink->source;
		sink->cached = true; /* in small pieces */
	}
	r = as_it_is ? check(&entries, raw, err) :
		       mor_entries_convert(&entries, format == MOR_RESULT_JSON ? MOR_STREAM_LINES : MOR_STREAM_PROTOBUF, put_bytes,
					   sink, &stats, err);
	output->records = entries.records.count;
	result->buffer = entries.records.buf;
	mor_buf_reset(&result->buffer, BUFFER_KEPT);
	entries.records.buf = (struct mor_buf)MOR_BUF_INIT;
	mor_entries_fini(&entries);
	if (sink->error)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -sink->error, "writing the result");
	if (r == 0 && sink->source.at != output->size)
		return mor_fail(err, MORTISE_EINPUT, "the output became shorter");
	return r;
}

static int open_spool(struct mor_result *result, mortise_error *err)
{
	if (result->spool < 0)
		result->spool = mor_fd_unnamed(result->opt.spool_dir);
	return result->spool < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -result->spool, "%s", result->opt.spool_dir) : 0;
}

/* Back to how long it was. */
static int take_back(int fd, uint64_t size, mortise_error *err)
{
	if (ftruncate(fd, (off_t)size) < 0 || lseek(fd, (off_t)size, SEEK_SET) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "taking back a part of the result");
	return 0;
}

/* What goes to the disk at once needs its place there at once, too: in large pieces that costs less. Where it cannot be had
 * nothing is lost, and a disk that is full says so soon enough. */
static void reserve(struct mor_result *result, uint64_t until)
{
	uint64_t from = result->reserved > result->bytes ? result->reserved : result->bytes;

	if (until < CACHED || until <= result->reserved)
		return;
	result->reserved = from + RESERVED; /* and no more, whatever the unit has: it may be a lie */
	(void)fallocate(result->out, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)RESERVED);
}

/* Whose turn it is goes straight to the output, if something can be taken back from it; else to the spool. */
static int keep(struct mor_result *result, size_t unit, struct mor_unit_output *output, mortise_error *err)
{
	struct ended *ended = &result->units[unit];
	bool direct = unit == result->next && result->journal >= 0;
	uint64_t *end = direct ? &result->bytes : &result->spooled;
	struct sink sink = { .source = { .fd = output->fd, .end = output->size }, .start = *end, .cached = !direct };
	int r = direct ? begin(result, err) : open_spool(result, err);

	if (r < 0)
		return r;
	sink.fd = direct ? result->out : result->spool;
	if (direct)
		reserve(result, result->bytes + output->size);
	r = output->size ? transfer(result, output, &sink, err) : 0;
	if (r < 0) {
		mortise_error second;

		return take_back(sink.fd, *end, &second) < 0 ? take_back(sink.fd, *end, err) : r;
	}
	if (!direct && sink.bytes) {
		ended->at = *end;
		ended->size = sink.bytes;
		result->waiting++;
	}
	*end += sink.bytes;
	output->bytes = sink.bytes;
	return 0;
}

/* From the spool to the output. The kernel copies where it can. */
static int copy_out(struct mor_result *result, struct ended *unit, mortise_error *err)
{
	off_t at = (off_t)unit->at;
	uint64_t left = unit->size;
	char buffer[65536];

	while (left > 0) {
		ssize_t n = copy_file_range(result->spool, &at, result->out, NULL, left > (1u << 30) ? 1u << 30 : (size_t)left, 0);

		if (n <= 0)
			break;
		left -= (uint64_t)n;
	}
	while (left > 0) {
		ssize_t n = pread(result->spool, buffer, left < sizeof(buffer) ? (size_t)left : sizeof(buffer), at);
		int r = n > 0 ? mor_fd_write_all(result->out, buffer, (size_t)n) : n == 0 ? -EIO : -errno;

		if (r == -EINTR)
			continue;
		if (r < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "writing the result");
		at += n;
		left -= (uint64_t)n;
	}
	result->bytes += unit->size;
	unit->size = 0;
	if (--result->waiting == 0) {
		result->spooled = 0;
		return take_back(result->spool, 0, err);
	}
	return 0;
}

/* Half a unit may be in the output: only the next run can mend that. */
static int check_broken(const struct mor_result *result, mortise_error *err)
{
	if (result->broken.code)
		*err = result->broken;
	return result->broken.code;
}

/* Everything whose turn has come. */
static int flush(struct mor_result *result, mortise_error *err)
{
	int r = check_broken(result, err);

	while (r == 0 && result->next < result->opt.units && result->units[result->next].state != MOR_UNIT_OPEN) {
		struct ended *unit = &result->units[result->next];
		char line[1200];

		r = begin(result, err);
		if (r == 0 && unit->size)
			r = copy_out(result, unit, err);
		if (r < 0)
			break;
		snprintf(line, sizeof(line), "%s %zu %" PRIu64 "%s%s\n", unit->state == MOR_UNIT_DONE ? "done" : "failed",
			 result->next, result->bytes, unit->reason ? " " : "", unit->reason ? unit->reason : "");
		r = write_journal(result, line, err);
		result->next++;
	}
	if (r < 0)
		result->broken = *err;
	return r;
}

int mor_result_done(struct mor_result *result, size_t unit, struct mor_unit_output *output, mortise_error *err)
{
	int r = check_broken(result, err);

	if (r == 0)
		r = keep(result, unit, output, err);
	if (r < 0)
		return r;
	result->units[unit].state = MOR_UNIT_DONE;
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
