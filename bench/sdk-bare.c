/* SPDX-License-Identifier: Apache-2.0 */
/* The same echo by hand: read, parse, write. What an author would write with a good JSON library, and nothing
 * else: no checks, no errors, no limits. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <yyjson.h>

static char input[1 << 20];

static int answer(char *line, size_t len)
{
	yyjson_doc *doc = yyjson_read(line, len, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_mut_doc *out = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *object = yyjson_mut_obj(out);
	size_t size;
	char *text;
	int r;

	yyjson_mut_doc_set_root(out, object);
	yyjson_mut_obj_add_str(out, object, "jsonrpc", "2.0");
	yyjson_mut_obj_add_val(out, object, "id", yyjson_val_mut_copy(out, yyjson_obj_get(root, "id")));
	yyjson_mut_obj_add_val(out, object, "result", yyjson_val_mut_copy(out, yyjson_obj_get(root, "params")));
	text = yyjson_mut_write(out, YYJSON_WRITE_NEWLINE_AT_END, &size);
	r = text && write(STDOUT_FILENO, text, size) == (ssize_t)size ? 0 : -1;
	free(text);
	yyjson_mut_doc_free(out);
	yyjson_doc_free(doc);
	return r;
}

int main(void)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(STDIN_FILENO, input + len, sizeof(input) - len)) > 0) {
		char *at = input, *end;

		len += (size_t)n;
		while ((end = memchr(at, '\n', (size_t)(input + len - at)))) {
			if (answer(at, (size_t)(end - at)) < 0)
				return 1;
			at = end + 1;
		}
		len = (size_t)(input + len - at);
		memmove(input, at, len);
	}
	return 0;
}
