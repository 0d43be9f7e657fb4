/* SPDX-License-Identifier: Apache-2.0 */
/* Records to the host, and the texts in them. No stdio: its buffers and locale tables would take most of our
 * memory. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "jail/confine.h"
#include "jail/guard.h"

static int send_record(struct mor_record *record, int flags)
{
	bool whole = record->violated || record->kind == MOR_RECORD_DENIED;
	size_t size = whole ? sizeof(*record) : offsetof(struct mor_record, syscall);
	ssize_t n;

	record->version = MOR_PLAN_VERSION;
	do
		n = send(MOR_GUARD_FD, record, size, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	return n >= 0 || errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN ? 0 : -errno;
}

int mor_record_send(struct mor_record *record)
{
	return send_record(record, 0);
}

static int64_t usage_us(struct timeval time)
{
	return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

void mor_record_usage(struct mor_record *record, const struct rusage *usage)
{
	record->user_us = usage_us(usage->ru_utime);
	record->system_us = usage_us(usage->ru_stime);
	record->memory_kib = usage->ru_maxrss;
}

bool mor_record_offer(struct mor_record *record)
{
	return send_record(record, MSG_DONTWAIT) != -EAGAIN;
}

void mor_be_lost(void)
{
	kill(getpid(), SIGKILL);
	_exit(1);
}

void mor_record_failure(const struct mor_setup_failure *failure)
{
	struct mor_record record = { .step = failure->step, .error = failure->error };

	record.kind = failure->step == MOR_AT_EXEC ? MOR_RECORD_EXEC_FAILED : MOR_RECORD_SETUP_FAILED;
	memcpy(record.text, failure->text, sizeof(record.text));
	if (mor_record_send(&record) < 0)
		mor_be_lost();
	_exit(1);
}

void mor_record_lost(const struct mor_setup_failure *failure)
{
	struct mor_record record = { .kind = MOR_RECORD_SETUP_FAILED,
				     .step = failure->step,
				     .error = failure->error };

	memcpy(record.text, failure->text, sizeof(record.text));
	mor_record_send(&record);
	mor_be_lost();
}

/* ---- texts ---- */

struct text {
	char *at, *end;
};

static void put_text(struct text *out, const char *text)
{
	while (*text && out->at < out->end)
		*out->at++ = *text++;
}

static void put_number(struct text *out, long long number)
{
	unsigned long long left = number < 0 ? -(unsigned long long)number : (unsigned long long)number;
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (number < 0)
		*--at = '-';
	put_text(out, at);
}

/* One conversion; returns its end. An unknown one is shown as it is. */
static const char *convert(struct text *out, const char *format, va_list *args)
{
	bool is_long = *format == 'l';

	if (is_long)
		format++;
	if (*format == 's') {
		put_text(out, va_arg(*args, const char *));
	} else if (*format == 'd') {
		put_number(out, is_long ? va_arg(*args, long) : va_arg(*args, int));
	} else if (*format == 'u') {
		put_number(out, is_long ? (long long)va_arg(*args, unsigned long) : va_arg(*args, unsigned));
	} else {
		char one[2] = { *format, '\0' };

		put_text(out, one);
	}
	return *format ? format + 1 : format;
}

int mor_setup_fail(struct mor_setup_failure *failure, int step, int error, const char *format, ...)
{
	struct text out = { failure->text, failure->text + sizeof(failure->text) - 1 };
	va_list args;

	va_start(args, format);
	while (*format) {
		char one[2] = { *format, '\0' };

		if (*format++ == '%')
			format = convert(&out, format, &args);
		else
			put_text(&out, one);
	}
	va_end(args);
	*out.at = '\0';
	failure->error = error;
	failure->step = step; /* written last: the process that shares this memory checks it */
	return -1;
}
