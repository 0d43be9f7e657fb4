/* SPDX-License-Identifier: Apache-2.0 */
#define MOR_ERROR_HOME /* the functions themselves are here */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"

_Static_assert(sizeof(mortise_error) == 512, "mortise_error is part of the ABI");

struct status_row {
	const char *name, *kind, *text;
	int rpc_code, exit_code;
};

/* Indexed by the negated status. A number the header leaves out is a row of NULLs. */
/* clang-format off */
static const struct status_row rows[] = {
	[0] = { "OK", "ok", "ok", 0, 0 },
#define ROW(name, value, kind, text, rpc, exit_code) [-(value)] = { #name, kind, text, rpc, exit_code },
	MORTISE_ERRORS(ROW)
#undef ROW
};
/* clang-format on */

static const struct status_row *row_of(int status)
{
	static const struct status_row unknown = { "unknown", "unknown", "unknown", 0, 1 };
	size_t index = status > 0 ? sizeof(rows) : (size_t) - (long)status;

	return index < sizeof(rows) / sizeof(rows[0]) && rows[index].name ? &rows[index] : &unknown;
}

const char *mortise_status_text(int status)
{
	return row_of(status)->text;
}

const char *mortise_status_kind(int status)
{
	return row_of(status)->kind;
}

const char *mortise_status_name(int status)
{
	return row_of(status)->name;
}

int mortise_status_exit_code(int status)
{
	return row_of(status)->exit_code;
}

const char *mortise_version(void)
{
	return MORTISE_VERSION;
}

void mortise_free(void *memory)
{
	mor_free(memory);
}

/* The text may have been cut inside a character: removes the rest of it. */
static size_t whole_characters(const char *text, size_t len)
{
	size_t start = len;

	while (start > 0 && len - start < 4) {
		start--;
		if (((unsigned char)text[start] & 0xc0) != 0x80)
			break;
	}
	if (start < len && ((unsigned char)text[start] & 0x80) && !mor_utf8_sequence(text + start, len - start))
		return start;
	return len;
}

/* Copies text into err as one line that is safe to show on a terminal. */
static void set_text(mortise_error *err, const char *text, bool cut)
{
	size_t len = strlen(text), used = 0, n;

	if (len >= sizeof(err->text)) {
		len = sizeof(err->text) - 1;
		cut = true;
	}
	if (cut)
		len = whole_characters(text, len);
	/* Not iscntrl(): in an 8-bit locale it treats parts of UTF-8 characters as controls. */
	for (size_t i = 0; i < len; i += n) {
		size_t steers = mor_steering_len(text + i, len - i),
		       whole = mor_utf8_sequence(text + i, len - i);

		n = whole ? whole : 1;
		if (steers)
			err->text[used++] = ' ';
		else
			memcpy(err->text + used, text + i, n);
		used += steers ? 0 : n;
	}
	while (used && err->text[used - 1] == ' ')
		used--;
	err->text[used] = '\0';
}

static __attribute__((format(printf, 4, 0))) void fill_error(mortise_error *err, int code, int os_errno,
							     const char *format, va_list args)
{
	/* Formatted in another buffer: the arguments may point into err->text. It has twice the size, so
	 * that errno's text can follow a full text. */
	char text[2 * sizeof(err->text)];
	int len = vsnprintf(text, sizeof(text), format, args);
	bool cut = len < 0 || (size_t)len >= sizeof(text);

	if (len < 0)
		text[0] = '\0';
	if (os_errno && !cut) {
		const char *why = strerrordesc_np(os_errno);

		snprintf(text + len, sizeof(text) - (size_t)len, "%s%s%s", len ? ": " : "",
			 why ? why : "unknown error",
			 os_errno == EMFILE ? "; raise the limit of open files (ulimit -n)" : "");
	}
	err->code = code;
	err->os_errno = os_errno;
	err->rpc_code = row_of(code)->rpc_code;
	set_text(err, text, cut);
}

int mor_fail(mortise_error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	fill_error(err, code, 0, format, args);
	va_end(args);
	return code;
}

int mor_fail_errno(mortise_error *err, int code, int os_errno, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	fill_error(err, code, os_errno, format, args);
	va_end(args);
	return code;
}

int mor_fail_memory(mortise_error *err)
{
	return mor_fail(err, MORTISE_ENOMEM, "%s", mortise_status_text(MORTISE_ENOMEM));
}

int mor_fail_memory_of(mortise_error *err, const char *what)
{
	return mor_fail(err, MORTISE_ENOMEM, "%s: %s", what, mortise_status_text(MORTISE_ENOMEM));
}

int mor_fail_prefix(mortise_error *err, const char *prefix)
{
	char text[2 * sizeof(err->text)];

	if (!err)
		return MORTISE_ESYSTEM;
	snprintf(text, sizeof(text), "%s: %s", prefix, err->text);
	set_text(err, text, false);
	return err->code;
}

bool mor_errno_is_lack(int os_errno)
{
	return os_errno == EAGAIN || os_errno == EMFILE || os_errno == ENFILE || os_errno == ENOMEM;
}

bool mor_error_is_lack(const mortise_error *err)
{
	return err->code == MORTISE_ENOMEM || mor_errno_is_lack(err->os_errno);
}
