/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- out ---- */

void put(const void *bytes, size_t len)
{
	const char *at = bytes;

	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, at, len);

		if (n <= 0)
			_exit(0);
		at += n;
		len -= (size_t)n;
	}
}

void put_format(const char *format, ...)
{
	char text[4096];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdprintf(STDERR_FILENO, format, args);
	va_end(args);
}

/* One write where it fits: other modes count on it that a reply is never torn by accident. */
void reply(const struct request *request, const char *result, size_t len)
{
	char *text = NULL;
	int n = asprintf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%.*s}\n", request->id, (int)len,
			 result);

	if (n < 0)
		_exit(70);
	put(text, (size_t)n);
	free(text);
}

void reply_text(const struct request *request, const char *result)
{
	reply(request, result, strlen(result));
}

void reply_error(const struct request *request, int code, const char *message, const char *data)
{
	put_format("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":\"%s\",\"data\":%s}}\n",
		   request->id, code, message, data);
}

/* ---- in ---- */

bool next_line(char **ret_line, size_t *ret_len)
{
	static char *line;
	static size_t room;
	ssize_t n = getline(&line, &room, stdin);

	if (n <= 0)
		return false;
	if (line[n - 1] == '\n')
		line[--n] = '\0';
	*ret_line = line;
	*ret_len = (size_t)n;
	return true;
}

/* Past the string that begins at `at`. */
static const char *skip_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at ? at + 1 : at;
}

/* Past the value that begins at `at`. The host's JSON is valid; this need not check it again. */
static const char *skip_value(const char *at)
{
	int depth = 0;

	while (*at) {
		if (*at == '"') {
			at = skip_string(at);
		} else if (*at == '{' || *at == '[') {
			depth++;
			at++;
		} else if (depth > 0 && (*at == '}' || *at == ']')) {
			depth--;
			at++;
		} else if (depth == 0 && (*at == ',' || *at == '}' || *at == ']')) {
			return at;
		} else {
			at++;
			continue;
		}
		if (depth == 0)
			return at;
	}
	return at;
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

static bool member(const char *object, const char *name, const char **ret, size_t *ret_len)
{
	size_t len = strlen(name);
	const char *at = skip_blanks(object);

	if (*at++ != '{')
		return false;
	while (*(at = skip_blanks(at)) == '"') {
		const char *key = at + 1, *end = skip_string(at);
		const char *value = skip_blanks(skip_blanks(end) + 1), *after = skip_value(value);

		if ((size_t)(end - 1 - key) == len && memcmp(key, name, len) == 0) {
			*ret = value;
			*ret_len = (size_t)(after - value);
			return true;
		}
		at = skip_blanks(after);
		at += *at == ',';
	}
	return false;
}

static void copy(char *to, size_t size, const char *from, size_t len)
{
	snprintf(to, size, "%.*s", (int)len, from);
}

static void unquote(const char *object, const char *name, char *to, size_t size)
{
	const char *value;
	size_t len;

	*to = '\0';
	if (member(object, name, &value, &len) && len >= 2 && *value == '"')
		copy(to, size, value + 1, len - 2);
}

bool next_request(struct request *ret)
{
	const char *id;
	size_t len;

	if (!next_line(&ret->line, &ret->len))
		return false;
	ret->id[0] = '\0';
	if (member(ret->line, "id", &id, &len))
		copy(ret->id, sizeof(ret->id), id, len);
	unquote(ret->line, "method", ret->method, sizeof(ret->method));
	if (!member(ret->line, "params", &ret->params, &ret->params_len)) {
		ret->params = "null";
		ret->params_len = 4;
	}
	return true;
}

bool param(const struct request *request, const char *name, const char **ret, size_t *ret_len)
{
	return member(request->params, name, ret, ret_len);
}

long param_long(const struct request *request, const char *name, long otherwise)
{
	const char *value;
	size_t len;

	return param(request, name, &value, &len) ? strtol(value, NULL, 10) : otherwise;
}

void param_string(const struct request *request, const char *name, char *to, size_t size)
{
	unquote(request->params, name, to, size);
}

/* ---- what every mode can do ---- */

static void list_fds(const struct request *request)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char text[1024] = "[";
	size_t len = 1;

	while (dir && (entry = readdir(dir)) && len < sizeof(text) - 16)
		if (entry->d_name[0] != '.' && strtol(entry->d_name, NULL, 10) != dirfd(dir))
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.8s", len > 1 ? "," : "",
						entry->d_name);
	if (dir)
		closedir(dir);
	snprintf(text + len, sizeof(text) - len, "]");
	reply_text(request, text);
}

static void tell_env(const struct request *request)
{
	char name[64], text[512];
	const char *value;

	param_string(request, "name", name, sizeof(name));
	value = getenv(name);
	snprintf(text, sizeof(text), value ? "\"%s\"" : "null%s", value ? value : "");
	reply_text(request, text);
}

bool answer_standard(const struct request *request)
{
	const char *m = request->method;
	char text[64];

	if (!request->id[0]) {
		say("note %s\n", m);
	} else if (strcmp(m, "echo") == 0) {
		reply(request, request->params, request->params_len);
	} else if (strcmp(m, "pid") == 0) {
		snprintf(text, sizeof(text), "%d", (int)getpid());
		reply_text(request, text);
	} else if (strcmp(m, "fds") == 0) {
		list_fds(request);
	} else if (strcmp(m, "env") == 0) {
		tell_env(request);
	} else if (strcmp(m, "fail") == 0) {
		reply_error(request, -32042, "would not", "{\"why\":\"asked to\"}");
	} else if (strcmp(m, "quit") == 0) {
		reply_text(request, "true");
		exit(0);
	} else if (strcmp(m, "hang") != 0) {
		return false;
	}
	return true;
}
