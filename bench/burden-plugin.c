/* SPDX-License-Identifier: Apache-2.0 */
/*
 * burden-plugin: what is hard on a host, by method. It knows how the library writes a request
 * (id before method).
 *
 *	hold       never answered                  batch N   an array of N MB of ones, then the answer
 *	die        exits, with all that it holds   big N     answered with a string of N MB
 *	flood      endless small notifications     stderr    endless short lines on stderr
 *	notes      endless lines that are no message         anything else: answered with true
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char block[1 << 16];

static void put(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0)
			_exit(0); /* nobody reads: the host has gone, or has ended us */
		bytes += n;
		len -= (size_t)n;
	}
}

static void put_text(const char *text)
{
	put(1, text, strlen(text));
}

/* `text` over and over, as one block. */
static size_t fill(const char *text)
{
	size_t len = strlen(text), used = 0;

	for (; used + len <= sizeof(block); used += len)
		memcpy(block + used, text, len);
	return used;
}

static void put_endless(int fd, const char *text)
{
	size_t len = fill(text);

	for (;;)
		put(fd, block, len);
}

static void put_megabytes(const char *text, long count)
{
	size_t len = fill(text);

	for (size_t left = (size_t)count << 20; left; left -= left < len ? left : len)
		put(1, block, left < len ? left : len);
}

static void answer(const char *line, const char *head, const char *of, long megabytes, const char *tail)
{
	const char *id = strstr(line, "\"id\":");
	char text[128];

	if (!id)
		return;
	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s", strtol(id + 5, NULL, 10),
		 head);
	put_text(text);
	if (megabytes)
		put_megabytes(of, megabytes);
	put_text(tail);
}

static int asks(const char *line, const char *method)
{
	char part[64];

	snprintf(part, sizeof(part), "\"method\":\"%s\"", method);
	return strstr(line, part) != NULL;
}

static long amount(const char *line)
{
	const char *list = strstr(line, "\"params\":[");

	return list ? strtol(list + 10, NULL, 10) : 0;
}

static void serve(const char *line)
{
	if (asks(line, "hold"))
		return;
	if (asks(line, "die"))
		_exit(3);
	if (asks(line, "flood"))
		put_endless(1, "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n");
	if (asks(line, "notes"))
		put_endless(1, "x\n");
	if (asks(line, "stderr"))
		put_endless(2, "x\n");
	if (asks(line, "batch")) {
		put_text("[");
		put_megabytes("1,", amount(line));
		put_text("1]\n");
	}
	if (asks(line, "big"))
		answer(line, "\"", "x", amount(line), "\"}\n");
	else
		answer(line, "true", "", 0, "}\n");
}

int main(void)
{
	static char line[1 << 16];

	while (fgets(line, sizeof(line), stdin))
		serve(line);
	return 0;
}
