/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/telling.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Lines that begin like this say nothing by themselves. Indented lines do not either. */
static const char *const fillers[] = {
	"Node.js v",
	"}",
	"]",
	")",
	"^",
	"goroutine ",
	"[signal ",
	"exit status ",
	"created by ",
	"stack backtrace:",
	"note: ",
	"Traceback (most recent call last)",
	"The above exception was ",
	"During handling of the above exception",
	"Exception ignored in",
	"BrokenPipeError: [Errno 32]", /* Python, when it flushes at its end: the host had gone first */
	"BEGIN failed--compilation aborted",
	"Aborted",
};

/* Lines by which a runtime tells what it died of, however much it prints after them. */
static const struct {
	const char *begin, *has; /* has: in the line; NULL: anything */
	bool joins;              /* the message may be in the next line */
} deaths[] = {
	{ "panic: ", NULL, false },
	{ "fatal error: ", NULL, false },
	{ "thread '", "panicked at ", true },
	{ "SUMMARY: ", "Sanitizer: ", false },
	{ "==", "==ERROR: ", false },
	{ "Caused by: ", NULL, false },
	{ "Exception in thread ", NULL, false },
	{ "Unhandled exception", NULL, true },
	{ "terminate called after throwing ", NULL, true },
	{ "Fatal Python error: ", NULL, false },
	{ "PHP Fatal error: ", NULL, false },
};

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

static bool is_filler(const char *line)
{
	if (*line == ' ' || *line == '\t')
		return true;
	for (size_t i = 0; i < sizeof(fillers) / sizeof(*fillers); i++)
		if (begins(line, fillers[i]))
			return true;
	return begins(line, "==") && strstr(line, "==ABORTING");
}

static int death_of(const char *line)
{
	for (size_t i = 0; i < sizeof(deaths) / sizeof(*deaths); i++)
		if (begins(line, deaths[i].begin) && (!deaths[i].has || strstr(line, deaths[i].has)))
			return (int)i;
	return -1;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t size = strlen(end);

	return len >= size && memcmp(text + len - size, end, size) == 0;
}

/* "TypeError: x is not a function", "Error [ERR_X]: …", "java.io.IOException: …", "KeyError"; in a group of
 * Python's exceptions bars stand before it. */
static bool is_error(const char *line)
{
	size_t word, len;

	line += strspn(line, " |+");
	word = strcspn(line, ": [");
	len = strlen(line);
	if (word && line[word] != ' ' && (ends_with(line, word, "Error") || ends_with(line, word, "Exception")))
		return true;
	if (begins(line, "Error ["))
		return true;
	/* Ruby */
	return strstr(line, ":in ") && (ends_with(line, len, "Error)") || ends_with(line, len, "Exception)"));
}

/* A last line that says by itself that something went wrong. */
static bool complains(const char *line)
{
	static const char *const words[] = { "rror",  "ERROR",  "atal",  "annot",
					     "ailed", "o such", "enied", "not found" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(line, words[i]))
			return true;
	return false;
}

/* The line before `line`; NULL if it is the first. */
static const char *line_before(const char *first, const char *line)
{
	if (line == first)
		return NULL;
	for (line--; line > first && line[-1];)
		line--;
	return line;
}

static const char *blanks_skipped(const char *line)
{
	return line + strspn(line, " \t");
}

static const char *write_telling(const char *line, const char *end, char *out, size_t out_size)
{
	int death = death_of(line);
	const char *next = line + strlen(line) + 1;
	size_t len = strlen(line);

	if (death >= 0 && deaths[death].joins && next < end && !begins(next, "note: "))
		snprintf(out, out_size, "%s%s%s", line, len && line[len - 1] == ':' ? " " : ": ",
			 blanks_skipped(next));
	else
		snprintf(out, out_size, "%s", blanks_skipped(line));
	return out;
}

/* What a walk from the last line to the first has found. */
struct telling_walk {
	const char *last;  /* the last line that is not filler */
	const char *error; /* the last that names an error */
	const char *death;
	unsigned others; /* lines that are not filler, since the end */
	bool complaint;  /* `last` says enough */
};

static void look_at(struct telling_walk *walk, const char *line)
{
	bool filler = is_filler(line);

	if (death_of(line) >= 0) {
		walk->death = line;
		return;
	}
	if (!walk->error && walk->others < MOR_TELLING_BACK && !begins(line, "BrokenPipeError") &&
	    is_error(line) && (walk->others == 0 || !walk->complaint))
		walk->error = line;
	if (filler)
		return;
	if (!walk->last) {
		walk->last = line;
		walk->complaint = complains(line);
	}
	walk->others++;
}

const char *mor_telling(const char *lines, size_t len, char *out, size_t out_size)
{
	const char *end = lines + len, *last;
	struct telling_walk walk = { 0 };

	*out = '\0';
	last = line_before(lines, end);
	if (!last)
		return out;
	for (const char *line = last; line && !walk.death; line = line_before(lines, line)) {
		look_at(&walk, line);
		/* An error in the last words is newer than any dump before it. */
		if (walk.error && walk.others <= 1)
			break;
	}
	if (walk.death && !(walk.error && walk.others <= 1))
		return write_telling(walk.death, end, out, out_size);
	if (walk.error)
		return write_telling(walk.error, end, out, out_size);
	return write_telling(walk.last ? walk.last : last, end, out, out_size);
}
