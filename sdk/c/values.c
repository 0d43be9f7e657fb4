/* SPDX-License-Identifier: Apache-2.0 */
/* What a function sees of its call: who calls, and the parameters. */
#include <string.h>

#include "base/alloc.h"
#include "call.h"
#include "dialect.h"

void tn_call_init(tenon_call *call, struct tn_session *session)
{
	*call = (tenon_call){
		.session = session,
		.plugin = session->plugin,
		.shape = &tn_shape_rpc,
		.out = &session->answer,
		.out_start = session->answer.len,
	};
}

static void free_bytes(struct tn_bytes *list)
{
	while (list) {
		struct tn_bytes *bytes = list;

		list = bytes->next;
		mor_buf_fini(&bytes->buf);
		mor_free(bytes);
	}
}

void tn_call_fini(tenon_call *call)
{
	while (call->trees) {
		struct tn_trees *tree = call->trees;

		call->trees = tree->next;
		mor_doc_free(tree->doc);
		mor_free(tree);
	}
	if (call->bytes)
		free_bytes(call->bytes);
	if (call->sent)
		mor_doc_free(call->sent);
	if (call->filled)
		mor_doc_free(call->filled);
	mor_buf_fini(&call->built);
	mor_buf_fini(&call->pieces);
	mor_buf_fini(&call->files);
}

/* Without memory it leaks nothing and says so: the tree is freed, and its values with it. */
static void keep_tree(tenon_call *call, struct mor_doc **doc)
{
	struct tn_trees *tree = *doc ? mor_zalloc(sizeof(*tree)) : NULL;

	if (tree) {
		*tree = (struct tn_trees){ call->trees, *doc };
		call->trees = tree;
		*doc = NULL;
	}
}

void tn_call_renew(tenon_call *call)
{
	keep_tree(call, &call->sent);
	if (call->sent)
		call->over = call->no_memory = true; /* it could not be kept: what follows must not use it */
	call->params_text = (struct mor_slice){ 0 };
	call->id = (struct mor_slice){ 0 };
	call->answered = call->misbuilt = false;
	mor_buf_fini(&call->built);
	mor_buf_fini(&call->pieces);
	call->writer = (struct mor_writer){ .out = &call->built };
	call->out_start = call->out->len;
}

const struct mor_buf *tn_call_take(tenon_call *call, struct mor_buf *from)
{
	struct tn_bytes *bytes = mor_buf_byte(from, '\0') == 0 ? mor_zalloc(sizeof(*bytes)) : NULL;

	if (!bytes)
		return NULL;
	bytes->buf = *from;
	*from = (struct mor_buf)MOR_BUF_INIT;
	bytes->next = call->bytes;
	call->bytes = bytes;
	return &bytes->buf;
}

const char *tn_call_keep(tenon_call *call, struct mor_slice text)
{
	MOR_CLEAN(mor_buf) struct mor_buf copy = MOR_BUF_INIT;
	const struct mor_buf *kept = mor_buf_slice(&copy, text) == 0 ? tn_call_take(call, &copy) : NULL;

	return kept ? kept->data : NULL;
}

/* The envelope's scanner has found it to be JSON: only memory can be missing. */
const struct mor_value *tn_call_sent(const tenon_call *call)
{
	tenon_call *lazy = (tenon_call *)(uintptr_t)call; /* parsed once, when it is first asked for */

	if (!lazy->sent && lazy->params_text.ptr &&
	    mor_doc_parse(lazy->params_text, 0, 0, &lazy->sent, NULL) < 0)
		lazy->no_memory = true;
	return lazy->sent ? mor_doc_root(lazy->sent) : NULL;
}

void tn_call_give(tenon_call *call, const struct mor_value *given)
{
	call->given = given;
}

const tenon_plugin *tenon_plugin_of(const tenon_call *call)
{
	return call->plugin;
}

int tenon_is_note(const tenon_call *call)
{
	return call->id.ptr == NULL;
}

const char *tenon_name(const tenon_call *call)
{
	return call->name ? call->name : "";
}

const char *tenon_dialect(const tenon_call *call)
{
	return call->session->dialect->name;
}

const char *tenon_id(tenon_call *call)
{
	return call->id.ptr ? tn_call_keep(call, call->id) : NULL;
}

int tenon_cancelled(const tenon_call *call)
{
	return call->over || atomic_load(&call->session->cancelled_seq) == call->seq ||
	       atomic_load(&call->session->stop) || atomic_load(&call->session->gone);
}

/* ---- Parameters. tenon_value is the public name of mor_value: the same pointer, two types. ---- */

const tenon_value *tenon_sent(const tenon_call *call)
{
	return tn_outer(tn_call_sent(call));
}

const tenon_value *tenon_params(const tenon_call *call)
{
	if (call->filled)
		return tn_outer(mor_doc_root(call->filled));
	return call->given ? tn_outer(call->given) : tenon_sent(call);
}

const char *tenon_params_json(const tenon_call *call, size_t *ret_len)
{
	if (call->params_text.ptr)
		*ret_len = call->params_text.len;
	return call->params_text.ptr;
}

const tenon_value *tenon_get(const tenon_value *object, const char *key)
{
	return tn_outer(mor_json_get(tn_inner(object), key));
}

const tenon_value *tenon_at(const tenon_value *value, const char *pointer)
{
	return tn_outer(mor_json_at(tn_inner(value), pointer));
}

const tenon_value *tenon_item(const tenon_value *array, size_t index)
{
	return tn_outer(mor_json_item(tn_inner(array), index));
}

size_t tenon_size(const tenon_value *value)
{
	return mor_json_size(tn_inner(value));
}

enum tenon_type tenon_type_of(const tenon_value *value)
{
	_Static_assert((int)TENON_OBJECT == (int)MOR_JSON_OBJECT && (int)TENON_BOOL == (int)MOR_JSON_BOOL,
		       "the public types are numbered as the inner ones");
	return (enum tenon_type)mor_json_type(tn_inner(value));
}

const char *tenon_as_text(const tenon_value *value, size_t *ret_len)
{
	struct mor_slice text = mor_json_string(tn_inner(value));

	if (text.ptr)
		*ret_len = text.len;
	return text.ptr;
}

const char *tenon_as_str(const tenon_value *value, const char *fallback)
{
	struct mor_slice text = mor_json_string(tn_inner(value));

	/* "a\u0000b" would silently become "a": a way to smuggle a path past a check that looks
	 * at all of it. */
	return text.ptr && !memchr(text.ptr, '\0', text.len) ? text.ptr : fallback;
}

int64_t tenon_as_int(const tenon_value *value, int64_t fallback)
{
	return mor_json_int(tn_inner(value), fallback);
}

double tenon_as_double(const tenon_value *value, double fallback)
{
	return mor_json_double(tn_inner(value), fallback);
}

int tenon_as_bool(const tenon_value *value, int fallback)
{
	return mor_json_type(tn_inner(value)) == MOR_JSON_BOOL ? mor_json_bool(tn_inner(value), false) :
								 fallback;
}

const void *tenon_as_bytes(tenon_call *call, const tenon_value *value, size_t *ret_len)
{
	struct mor_slice text = mor_json_string(tn_inner(value));
	MOR_CLEAN(mor_buf) struct mor_buf decoded = MOR_BUF_INIT;
	const struct mor_buf *kept = NULL;

	if (text.ptr && mor_base64_decode(text, &decoded) == 0)
		kept = tn_call_take(call, &decoded);
	if (!kept)
		return NULL;
	*ret_len = kept->len - 1;
	return kept->data;
}

/* Above null in the enum: all that is a value. */
int tenon_has(const tenon_call *call, const char *key)
{
	return tenon_type_of(tenon_get(tenon_params(call), key)) > TENON_NULL;
}

const char *tenon_str(const tenon_call *call, const char *key, const char *fallback)
{
	return tenon_as_str(tenon_get(tenon_params(call), key), fallback);
}

int64_t tenon_int(const tenon_call *call, const char *key, int64_t fallback)
{
	return tenon_as_int(tenon_get(tenon_params(call), key), fallback);
}

double tenon_double(const tenon_call *call, const char *key, double fallback)
{
	return tenon_as_double(tenon_get(tenon_params(call), key), fallback);
}

int tenon_bool(const tenon_call *call, const char *key, int fallback)
{
	return tenon_as_bool(tenon_get(tenon_params(call), key), fallback);
}

/* ---- What the dialects add. It is where the message has it, so one look serves them all. ---- */

static const tenon_value *sent_member(const tenon_call *call, const char *key)
{
	const tenon_value *value = tenon_get(tenon_sent(call), key);

	return tenon_type_of(value) > TENON_NULL ? value : NULL;
}

const tenon_message *tenon_message_of(const tenon_call *call)
{
	return call->message.text ? &call->message : NULL;
}

const char *tenon_workspace(const tenon_call *call)
{
	const char *root = tenon_as_str(sent_member(call, "workspace_root"), NULL);

	if (!root)
		root = tenon_as_str(tenon_get(sent_member(call, "context"), "workspace_root"), NULL);
	return root ? root : tenon_as_str(sent_member(call, "workspace"), NULL);
}

const tenon_value *tenon_config(const tenon_call *call)
{
	const tenon_value *sent = sent_member(call, "config");

	if (sent && tenon_type_of(sent) == TENON_OBJECT)
		return sent;
	return call->session->config ? tn_outer(mor_doc_root(call->session->config)) : NULL;
}

const tenon_value *tenon_flags(const tenon_call *call)
{
	return sent_member(call, "flags");
}

const tenon_value *tenon_args(const tenon_call *call)
{
	return sent_member(call, "args");
}

const tenon_value *tenon_context(const tenon_call *call)
{
	return sent_member(call, "context");
}

const char *tenon_system_info(const tenon_call *call)
{
	return tenon_as_str(sent_member(call, "system_info"), NULL);
}

const tenon_value *tenon_options(const tenon_call *call)
{
	return sent_member(call, "options");
}

const char *tenon_source_path(const tenon_call *call)
{
	return tenon_as_str(tenon_get(sent_member(call, "source"), "path"), NULL);
}
