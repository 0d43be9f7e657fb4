/* SPDX-License-Identifier: Apache-2.0 */
/* What every mode of `bad` needs: requests read line by line, replies and other lines written. */
#ifndef TESTS_PLUGINS_WIRE_H
#define TESTS_PLUGINS_WIRE_H

#include <stdbool.h>
#include <stddef.h>

struct request {
	char *line; /* the whole line, NUL-terminated, without its newline */
	size_t len;
	char id[64]; /* verbatim JSON; "" for a notification                */
	char method[64];
	const char *params; /* verbatim, inside line; "null" when absent           */
	size_t params_len;
};

/* Blocks. False at the end of stdin. The last request's memory is reused. */
bool next_request(struct request *ret);
/* One line, whatever it is. */
bool next_line(char **ret_line, size_t *ret_len);

/* Whole, however often write() comes back short. Exits quietly when nobody reads any more. */
void put(const void *bytes, size_t len);
__attribute__((format(printf, 1, 2))) void put_format(const char *format, ...);
__attribute__((format(printf, 1, 2))) void say(const char *format, ...); /* stderr */

void reply(const struct request *request, const char *result, size_t len);
void reply_text(const struct request *request, const char *result);
void reply_error(const struct request *request, int code, const char *message, const char *data);

/* A member of the params: verbatim JSON text, cut out of the line. False when it is not there. */
bool param(const struct request *request, const char *name, const char **ret, size_t *ret_len);
long param_long(const struct request *request, const char *name, long otherwise);
/* A string's content, as long as it has no escapes; "" when it is not there. */
void param_string(const struct request *request, const char *name, char *to, size_t size);

/* echo, pid, fds, env, fail, hang, quit: what every mode answers properly. False: some other method. */
bool answer_standard(const struct request *request);

#endif
