/* SPDX-License-Identifier: Apache-2.0 */
/* YAML -> JSON through the tree of libfyaml. It limits nesting and finds duplicate keys. It does not resolve
 * aliases, because we must count their expanded size. */
#include "manifest/yaml.h"

#include <libfyaml.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "manifest/manifest.h"

struct yaml {
	const char *file;
	struct fy_diag *diag;
	struct fy_parser *parser;
	struct fy_document *doc;
	struct mor_buf json;
	struct mor_writer w;
	mortise_error *err;
};

static void yaml_fini(struct yaml *y)
{
	if (y->doc)
		fy_parse_document_destroy(y->parser, y->doc);
	if (y->parser)
		fy_parser_destroy(y->parser);
	if (y->diag)
		fy_diag_destroy(y->diag);
	mor_buf_fini(&y->json);
}

/* ---- errors ---- */

/* The first of the errors that libfyaml has collected. */
static int collected(struct yaml *y)
{
	void *state = NULL;
	const struct fy_diag_error *fault = y->diag ? fy_diag_errors_iterate(y->diag, &state) : NULL;

	if (!fault)
		return mor_fail(y->err, MORTISE_EMANIFEST, "%s: cannot be read as YAML", y->file);
	return mor_fail(y->err, MORTISE_EMANIFEST, "%s:%d:%d: %s", y->file, fault->line, fault->column,
			fault->msg);
}

/* libfyaml knows the place of a node, but gives it only in a report. */
static int refuse_node(struct yaml *y, struct fy_node *node, const char *what)
{
	fy_node_report(node, FYET_ERROR, "%s", what);
	return collected(y);
}

/* ---- scalars: the core schema of YAML 1.2 ---- */

static size_t digits(struct mor_slice text, size_t at)
{
	size_t n = 0;

	while (at + n < text.len && text.ptr[at + n] >= '0' && text.ptr[at + n] <= '9')
		n++;
	return n;
}

/* A decimal number in JSON's spelling: no '+', no leading zeros, digits on both sides of the point. The
 * digits stay. */
static bool write_decimal(struct mor_slice text, struct mor_buf *out)
{
	bool sign = text.len && strchr("+-", text.ptr[0]);
	size_t at = sign, whole = digits(text, at), fraction = 0, exponent;
	size_t zeros = 0;

	while (zeros + 1 < whole && text.ptr[at + zeros] == '0')
		zeros++;
	mor_buf_append(out, text.ptr, sign && text.ptr[0] == '-');
	mor_buf_append(out, text.ptr + at + zeros, whole - zeros);
	at += whole;
	if (at < text.len && text.ptr[at] == '.') {
		fraction = digits(text, at + 1);
		mor_buf_printf(out, "%s.%.*s", whole ? "" : "0", (int)fraction, text.ptr + at + 1);
		mor_buf_text(out, fraction ? "" : "0");
		at += 1 + fraction;
	}
	if (whole + fraction == 0)
		return false;
	if (at < text.len && (text.ptr[at] == 'e' || text.ptr[at] == 'E')) {
		size_t start = at++;

		at += at < text.len && strchr("+-", text.ptr[at]);
		exponent = digits(text, at);
		at += exponent;
		mor_buf_append(out, text.ptr + start, at - start);
		if (!exponent)
			return false;
	}
	return at == text.len;
}

/* 0o17 and 0x1F. */
static bool read_based(struct mor_slice text, uint64_t *ret)
{
	unsigned bits = text.len > 2 && text.ptr[0] == '0' ? (text.ptr[1] == 'x' ? 4 :
							      text.ptr[1] == 'o' ? 3 :
										   0) :
							     0;

	*ret = 0;
	for (size_t i = 2; bits && i < text.len; i++) {
		int digit = mor_hex_value(text.ptr[i]);

		if (digit < 0 || digit >= 1 << bits || *ret >> (64 - bits))
			return false;
		*ret = *ret << bits | (uint64_t)digit;
	}
	return bits;
}

static int write_plain(struct yaml *y, struct fy_node *node, struct mor_slice text)
{
	struct mor_buf number = MOR_BUF_INIT;
	uint64_t based;
	int r = 0;

	if (text.len == 0 || mor_text_in(text, "null|Null|NULL|~"))
		mor_w_null(&y->w);
	else if (mor_text_in(text, "true|True|TRUE|false|False|FALSE"))
		mor_w_bool(&y->w, (text.ptr[0] | 0x20) == 't');
	else if (mor_text_in(text, ".nan|.NaN|.NAN|.inf|.Inf|.INF|+.inf|+.Inf|+.INF|-.inf|-.Inf|-.INF"))
		r = refuse_node(y, node, "nan and inf cannot be passed on: put it in quotes");
	else if (read_based(text, &based))
		mor_w_uint(&y->w, based);
	else if (write_decimal(text, &number) && !number.status)
		mor_w_raw(&y->w, mor_buf_view(&number));
	else
		mor_w_slice(&y->w, text);
	mor_buf_fini(&number);
	return r;
}

/* A tag decides. Without a tag, quotes make a string. */
static bool is_typed(struct fy_node *node)
{
	static const char core[] = "tag:yaml.org,2002:";
	struct mor_slice tag;

	tag.ptr = fy_node_get_tag(node, &tag.len);
	if (!tag.ptr)
		return fy_node_get_style(node) == FYNS_PLAIN;
	if (tag.len < sizeof(core) || memcmp(tag.ptr, core, sizeof(core) - 1) != 0)
		return false;
	tag.ptr += sizeof(core) - 1;
	tag.len -= sizeof(core) - 1;
	return mor_text_in(tag, "null|bool|int|float");
}

/* ---- the tree ---- */

static struct mor_slice scalar(struct fy_node *node)
{
	struct mor_slice text = { NULL, 0 };

	text.ptr = node ? fy_node_get_scalar(node, &text.len) : NULL;
	return text.ptr ? text : MOR_SLICE("");
}

static int write_node(struct yaml *y, struct fy_node *node, unsigned depth);

static int resolve_alias(struct yaml *y, struct fy_node **node)
{
	struct fy_node *target = *node && fy_node_is_alias(*node) ? fy_node_resolve_alias(*node) : *node;

	if (*node && !target)
		return refuse_node(y, *node, "this alias has no anchor: define its anchor before it");
	*node = target;
	return 0;
}

static int write_pair(struct yaml *y, struct fy_node_pair *pair, unsigned depth)
{
	struct fy_node *key = fy_node_pair_key(pair);
	int r = resolve_alias(y, &key);

	if (r < 0)
		return r;
	if (key && fy_node_get_type(key) != FYNT_SCALAR)
		return refuse_node(y, key, "this key is a list or mapping: only texts can be keys");
	mor_w_key_slice(&y->w, scalar(key));
	return write_node(y, fy_node_pair_value(pair), depth);
}

static int write_members(struct yaml *y, struct fy_node *node, unsigned depth)
{
	struct fy_node_pair *pair;
	void *state = NULL;
	int r = 0;

	mor_w_object(&y->w);
	while (r == 0 && (pair = fy_node_mapping_iterate(node, &state)))
		r = write_pair(y, pair, depth);
	mor_w_end(&y->w);
	return r;
}

static int write_elements(struct yaml *y, struct fy_node *node, unsigned depth)
{
	struct fy_node *element;
	void *state = NULL;
	int r = 0;

	mor_w_array(&y->w);
	while (r == 0 && (element = fy_node_sequence_iterate(node, &state)))
		r = write_node(y, element, depth);
	mor_w_end(&y->w);
	return r;
}

/* An alias inside its own anchor is stopped by the depth limit; aliases of aliases by the size limit. */
static int write_node(struct yaml *y, struct fy_node *node, unsigned depth)
{
	struct fy_node *here = node;
	int r = resolve_alias(y, &node);

	if (r < 0 || !node) {
		mor_w_null(&y->w);
		return r;
	}
	if (y->json.status == MORTISE_ELIMIT)
		return refuse_node(y, here, "with all aliases replaced this is larger than 4 MiB: use fewer");
	if (y->json.status)
		return mor_fail_memory_of(y->err, y->file);
	if (fy_node_get_type(node) != FYNT_SCALAR && depth >= MOR_YAML_DEPTH)
		return refuse_node(y, here, "nested deeper than 32 levels");
	if (fy_node_get_type(node) == FYNT_MAPPING)
		return write_members(y, node, depth + 1);
	if (fy_node_get_type(node) == FYNT_SEQUENCE)
		return write_elements(y, node, depth + 1);
	if (is_typed(node))
		return write_plain(y, node, scalar(node));
	mor_w_slice(&y->w, scalar(node));
	return 0;
}

static int check_characters(struct yaml *y, const char *text, size_t len)
{
	size_t line = 1, start = 0, step;
	const char *what = NULL;

	/* YAML allows neither, and libfyaml would loop for ever on them in a directive. */
	for (size_t i = 0; i < len && !what; i += step) {
		unsigned char c = (unsigned char)text[i];

		step = mor_utf8_sequence(text + i, len - i);
		if (!step)
			what = "not UTF-8: save the file as UTF-8";
		else if ((c < 0x20 && !strchr("\t\r\n", c)) || c == 0x7f || !c)
			what = "a control character: remove it";
		if (what)
			return mor_fail(y->err, MORTISE_EMANIFEST, "%s:%zu:%zu: %s", y->file, line,
					i - start + 1, what);
		if (c == '\n') {
			line++;
			start = i + 1;
		}
	}
	return 0;
}

static int load_yaml(struct yaml *y, const char *text, size_t len)
{
	struct fy_diag_cfg diag;
	struct fy_parse_cfg cfg = { .flags = FYPCF_QUIET | FYPCF_DEFAULT_VERSION_1_2 | FYPCF_JSON_NONE };

	fy_diag_cfg_default(&diag);
	diag.fp = NULL;
	diag.colorize = false;
	y->diag = fy_diag_create(&diag);
	if (!y->diag)
		return mor_fail_memory_of(y->err, y->file);
	fy_diag_set_collect_errors(y->diag, true);
	cfg.diag = y->diag;
	y->parser = fy_parser_create(&cfg);
	if (!y->parser || fy_parser_set_string(y->parser, text, len) < 0)
		return mor_fail_memory_of(y->err, y->file);
	y->doc = fy_parse_load_document(y->parser);
	return !y->doc && fy_parser_get_stream_error(y->parser) ? collected(y) : 0;
}

static int check_alone(struct yaml *y)
{
	struct fy_document *second = y->doc ? fy_parse_load_document(y->parser) : NULL;

	if (second) {
		fy_parse_document_destroy(y->parser, second);
		return mor_fail(y->err, MORTISE_EMANIFEST, "%s: holds more than one document: keep one",
				y->file);
	}
	return fy_parser_get_stream_error(y->parser) ? collected(y) : 0;
}

int mor_yaml_to_json(const char *file, const char *text, size_t len, struct mor_buf *ret_json,
		     mortise_error *err)
{
	__attribute__((
		cleanup(yaml_fini))) struct yaml y = { .file = file, .err = err, .json.limit = MOR_YAML_JSON };
	struct fy_node *root;
	int r;

	y.w.out = &y.json;
	if (len > MOR_MANIFEST_LIMIT)
		return mor_fail(err, MORTISE_EMANIFEST, "%s: larger than 1 MiB: make it smaller", file);
	r = check_characters(&y, text, len);
	if (r == 0)
		r = load_yaml(&y, text, len);
	root = r == 0 && y.doc ? fy_document_root(y.doc) : NULL;
	if (r == 0 && root && fy_node_get_type(root) == FYNT_MAPPING)
		r = write_node(&y, root, 0);
	else if (r == 0 && root && (fy_node_get_type(root) != FYNT_SCALAR || scalar(root).len))
		r = refuse_node(&y, root, "must hold a mapping (key: value)");
	else if (r == 0)
		mor_buf_text(&y.json, "{}");
	if (r == 0)
		r = check_alone(&y);
	if (r == 0)
		r = y.json.status ? y.json.status : mor_buf_slice(ret_json, mor_buf_view(&y.json));
	return r == MORTISE_ENOMEM || r == MORTISE_ELIMIT ? mor_fail_memory_of(err, file) : r;
}
