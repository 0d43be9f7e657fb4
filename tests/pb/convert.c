/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives src/remote/pb for test_oracle.py. Usage: pb-convert FILE.desc. Each line of stdin is one order, each
 * line of stdout its answer:
 *	to TYPE HEX      the JSON of a message        "= JSON" or "! text"
 *	from TYPE JSON   the message that JSON says   "= HEX"  or "! text"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "pb/json.h"

static void read_file(const char *path, struct mor_buf *out)
{
	FILE *file = fopen(path, "rb");
	char bytes[65536];
	size_t len;

	while (file && (len = fread(bytes, 1, sizeof(bytes), file)) > 0)
		mor_buf_append(out, bytes, len);
	if (file)
		fclose(file);
}

static int to_json(const struct mor_pb_schema *schema, const struct mor_pb_type *type, const char *hex,
		   struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;

	for (; hex[0] && hex[1]; hex += 2)
		mor_buf_byte(&bytes, (char)(mor_hex_value(hex[0]) << 4 | mor_hex_value(hex[1])));
	return mor_pb_to_json(schema, type, mor_buf_view(&bytes), 0, out, err);
}

static int from_json(const struct mor_pb_schema *schema, const struct mor_pb_type *type, const char *json,
		     struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	int r = mor_doc_parse(mor_slice_of(json), 0, 0, &doc, err);

	if (r == 0)
		r = mor_pb_from_json(schema, type, mor_doc_root(doc), 0, &bytes, err);
	for (size_t i = 0; r == 0 && i < bytes.len; i++)
		mor_buf_printf(out, "%02x", (unsigned char)bytes.data[i]);
	return r;
}

static void serve_line(const struct mor_pb_schema *schema, char *line)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };
	char *verb = strtok(line, " "), *name = strtok(NULL, " "), *rest = strtok(NULL, "");
	const struct mor_pb_type *type = mor_pb_schema_type(schema, mor_slice_of(name));
	int r;

	if (!type) {
		printf("! no type %s\n", name);
		return;
	}
	r = (strcmp(verb, "to") == 0 ? to_json : from_json)(schema, type, rest ? rest : "", &out, &err);
	if (r < 0)
		printf("! %s\n", err.text);
	else
		printf("= %.*s\n", (int)out.len, out.data ? out.data : "");
}

int main(int argc, char **argv)
{
	MOR_CLEAN(mor_pb_schema) struct mor_pb_schema *schema = mor_pb_schema_new();
	MOR_CLEAN(mor_buf) struct mor_buf set = MOR_BUF_INIT;
	mortise_error err = { 0 };
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	read_file(argc > 1 ? argv[1] : "", &set);
	if (mor_pb_schema_add_set(schema, mor_buf_view(&set), &err) < 0 ||
	    mor_pb_schema_link(schema, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	while ((len = getline(&line, &cap, stdin)) > 0) {
		line[len - 1] = '\0';
		serve_line(schema, line);
		fflush(stdout);
	}
	free(line);
	return 0;
}
