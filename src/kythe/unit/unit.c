/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units in three forms. The rest of Mortise sees the struct. Its texts are in the protobuf-c message that
 * was unpacked from the wire bytes; JSON is first turned into wire bytes. Writing goes the other way:
 * struct, wire, JSON.
 */
#include "kythe/unit/unit.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kythe/unit/kythe.pb-c.h"
#include "kythe/unit/pbc.h"
#include "kythe/unit/pbjson.h"
#include "pb/pb.h"

/* The type of mor_unit.memory in a unit that was read. */
struct loaded {
	struct mor_unit unit;
	struct mor_pbc_message message;
	struct mor_any *input_details; /* of all inputs, one after the other */
};

/* ---- message to struct ---- */

static void set_vname(struct mor_vname *to, const Kythe__Proto__VName *from)
{
	*to = (struct mor_vname)MOR_VNAME_EMPTY;
	if (from)
		*to = (struct mor_vname){ from->signature, from->corpus, from->root, from->path,
					  from->language };
}

static void set_any(struct mor_any *to, const Kythe__Proto__Any *from)
{
	*to = (struct mor_any){ .type_url = from->type_url };
	if (from->json.len)
		to->json = (struct mor_slice){ (const char *)from->json.data, from->json.len };
	else
		to->value = (struct mor_slice){ from->value.len ? (const char *)from->value.data : "",
						from->value.len };
}

/* `details` is the place for this input's details. */
static void set_input(struct mor_input *to, const Kythe__Proto__FileInput *from, struct mor_any *details)
{
	set_vname(&to->vname, from->v_name);
	to->path = from->info ? from->info->path : "";
	to->digest = from->info ? from->info->digest : "";
	to->details = details;
	to->detail_count = from->n_details;
	for (size_t i = 0; i < from->n_details; i++)
		set_any(&details[i], from->details[i]);
}

static int set_inputs(struct loaded *loaded, const Kythe__Proto__CompilationUnit *from)
{
	struct mor_unit *unit = &loaded->unit;
	size_t details = 0;

	for (size_t i = 0; i < from->n_required_input; i++)
		details += from->required_input[i]->n_details;
	unit->inputs = mor_zalloc(from->n_required_input * sizeof(*unit->inputs));
	loaded->input_details = mor_zalloc(details * sizeof(*loaded->input_details));
	if (!unit->inputs || !loaded->input_details)
		return MORTISE_ENOMEM;
	unit->input_count = from->n_required_input;
	details = 0;
	for (size_t i = 0; i < unit->input_count; i++) {
		set_input(&unit->inputs[i], from->required_input[i], loaded->input_details + details);
		details += unit->inputs[i].detail_count;
	}
	return 0;
}

static int set_env_and_details(struct mor_unit *unit, const Kythe__Proto__CompilationUnit *from)
{
	unit->env = mor_zalloc(from->n_environment * sizeof(*unit->env));
	unit->details = mor_zalloc(from->n_details * sizeof(*unit->details));
	if (!unit->env || !unit->details)
		return MORTISE_ENOMEM;
	unit->env_count = from->n_environment;
	for (size_t i = 0; i < unit->env_count; i++)
		unit->env[i] = (struct mor_unit_env){ from->environment[i]->name, from->environment[i]->value };
	unit->detail_count = from->n_details;
	for (size_t i = 0; i < unit->detail_count; i++)
		set_any(&unit->details[i], from->details[i]);
	return 0;
}

/* The lists of texts belong to the message. */
static void set_texts(struct mor_unit *unit, const Kythe__Proto__CompilationUnit *from)
{
	set_vname(&unit->vname, from->v_name);
	unit->has_compile_errors = from->has_compile_errors;
	unit->arguments = (const char **)from->argument;
	unit->argument_count = from->n_argument;
	unit->sources = (const char **)from->source_file;
	unit->source_count = from->n_source_file;
	unit->output_key = from->output_key;
	unit->working_directory = from->working_directory;
	unit->entry_context = from->entry_context;
}

static int set_unit(struct loaded *loaded, const Kythe__Proto__IndexedCompilation *from)
{
	static const Kythe__Proto__CompilationUnit nothing = KYTHE__PROTO__COMPILATION_UNIT__INIT;
	const Kythe__Proto__CompilationUnit *unit = from->unit ? from->unit : &nothing;
	int r;

	set_texts(&loaded->unit, unit);
	if (from->index) {
		loaded->unit.revisions = (const char **)from->index->revisions;
		loaded->unit.revision_count = from->index->n_revisions;
	}
	r = set_inputs(loaded, unit);
	return r < 0 ? r : set_env_and_details(&loaded->unit, unit);
}

struct mor_unit *mor_unit_free(struct mor_unit *unit)
{
	struct loaded *loaded = unit ? unit->memory : NULL;

	if (!loaded)
		return NULL;
	mor_free(unit->inputs);
	mor_free(unit->env);
	mor_free(unit->details);
	mor_free(loaded->input_details);
	mor_pbc_message_fini(&loaded->message);
	mor_free(loaded);
	return NULL;
}

/* ---- reading ---- */

static int unpack_unit(struct mor_slice bytes, struct mor_unit **ret, mortise_error *err)
{
	struct loaded *loaded = mor_zalloc(sizeof(*loaded));
	int r;

	if (!loaded)
		return mor_fail_memory(err);
	loaded->unit.memory = loaded;
	r = mor_pbc_unpack(&kythe__proto__indexed_compilation__descriptor, bytes, &loaded->message, err);
	if (r == 0 &&
	    (r = set_unit(loaded, (const Kythe__Proto__IndexedCompilation *)loaded->message.root)) < 0)
		mor_fail_memory(err);
	if (r < 0) {
		mor_unit_free(&loaded->unit);
		return r;
	}
	*ret = &loaded->unit;
	return 0;
}

/* Our own field for the JSON of a detail is not allowed in foreign bytes: a sender could put bytes that are
 * not JSON into replies. */
static void forget_json(struct mor_any *details, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!details[i].value.ptr)
			details[i].value = MOR_SLICE("");
		details[i].json = (struct mor_slice){ 0 };
	}
}

int mor_unit_read_wire(struct mor_slice bytes, struct mor_unit **ret, mortise_error *err)
{
	int r = unpack_unit(bytes, ret, err);

	if (r < 0)
		return r;
	forget_json((*ret)->details, (*ret)->detail_count);
	for (size_t i = 0; i < (*ret)->input_count; i++)
		forget_json((*ret)->inputs[i].details, (*ret)->inputs[i].detail_count);
	return 0;
}

static int parse_json(struct mor_slice json, struct mor_doc **ret, mortise_error *err)
{
	int r = mor_doc_parse(json, 0, 0, ret, err);

	return r == MORTISE_EPROTO ? mor_fail(err, MORTISE_EINPUT, "not JSON: %s", err ? err->text : "") : r;
}

static int read_document(const struct mor_value *root, struct mor_unit **ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	int r = mor_pbc_from_json(root, &kythe__proto__indexed_compilation__descriptor, "", &bytes, err);

	return r < 0 ? r : unpack_unit(mor_buf_view(&bytes), ret, err);
}

int mor_unit_read_json(struct mor_slice json, unsigned flags, struct mor_unit **ret, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *outer = NULL;
	MOR_CLEAN(mor_doc) struct mor_doc *inner = NULL;
	struct mor_slice text;
	int r = parse_json(json, &outer, err);

	if (r < 0)
		return r;
	text = mor_json_string(mor_doc_root(outer));
	if (!text.ptr || flags & MOR_UNIT_STRICT)
		return read_document(mor_doc_root(outer), ret, err);
	/* One level only: some writers put the JSON into a JSON string. */
	r = parse_json(text, &inner, err);
	return r < 0 ? r : read_document(mor_doc_root(inner), ret, err);
}

/* ---- writing ---- */

enum any_parts { WITH_JSON, WIRE_ONLY };

static void put_message(struct mor_buf *out, uint32_t field, const struct mor_buf *inside)
{
	mor_pb_put_bytes(out, field, mor_buf_view(inside));
	if (mor_buf_failed(inside))
		out->status = inside->status;
}

static void put_texts(struct mor_buf *out, uint32_t field, const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		mor_pb_put_bytes(out, field, mor_slice_of(texts[i]));
}

/* An empty message is left out, because "absent" and "empty" mean the same. */
static void put_vname(struct mor_buf *out, uint32_t field, const struct mor_vname *vname)
{
	MOR_CLEAN(mor_buf) struct mor_buf inside = MOR_BUF_INIT;

	mor_pb_put_text(&inside, 1, vname->signature);
	mor_pb_put_text(&inside, 2, vname->corpus);
	mor_pb_put_text(&inside, 3, vname->root);
	mor_pb_put_text(&inside, 4, vname->path);
	mor_pb_put_text(&inside, 5, vname->language);
	if (inside.len || mor_buf_failed(&inside))
		put_message(out, field, &inside);
}

static int put_any(struct mor_buf *out, uint32_t field, const struct mor_any *any, enum any_parts parts,
		   mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf inside = MOR_BUF_INIT;

	mor_pb_put_text(&inside, 1, any->type_url);
	if (any->value.len)
		mor_pb_put_bytes(&inside, 2, any->value);
	if (any->json.ptr && parts == WIRE_ONLY)
		return mor_fail(err, MORTISE_EUNSUPPORTED,
				"details have the unknown type \"%s\": their JSON cannot be turned into "
				"protobuf",
				any->type_url);
	if (any->json.ptr)
		mor_pb_put_bytes(&inside, 100, any->json);
	put_message(out, field, &inside);
	return 0;
}

static int put_input(struct mor_buf *out, const struct mor_input *input, enum any_parts parts,
		     mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf inside = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf info = MOR_BUF_INIT;
	int r = 0;

	put_vname(&inside, 1, &input->vname);
	mor_pb_put_text(&info, 1, input->path);
	mor_pb_put_text(&info, 2, input->digest);
	put_message(&inside, 2, &info);
	for (size_t i = 0; r == 0 && i < input->detail_count; i++)
		r = put_any(&inside, 4, &input->details[i], parts, err);
	put_message(out, 3, &inside);
	return r;
}

static void put_env(struct mor_buf *out, const struct mor_unit_env *env)
{
	MOR_CLEAN(mor_buf) struct mor_buf inside = MOR_BUF_INIT;

	mor_pb_put_text(&inside, 1, env->name);
	mor_pb_put_text(&inside, 2, env->value);
	put_message(out, 10, &inside);
}

static int put_unit(struct mor_buf *out, const struct mor_unit *unit, enum any_parts parts, mortise_error *err)
{
	int r = 0;

	put_vname(out, 1, &unit->vname);
	for (size_t i = 0; r == 0 && i < unit->input_count; i++)
		r = put_input(out, &unit->inputs[i], parts, err);
	if (unit->has_compile_errors)
		mor_pb_put_number(out, 4, 1);
	put_texts(out, 5, unit->arguments, unit->argument_count);
	put_texts(out, 6, unit->sources, unit->source_count);
	mor_pb_put_text(out, 7, unit->output_key);
	mor_pb_put_text(out, 8, unit->working_directory);
	mor_pb_put_text(out, 9, unit->entry_context);
	for (size_t i = 0; i < unit->env_count; i++)
		put_env(out, &unit->env[i]);
	for (size_t i = 0; r == 0 && i < unit->detail_count; i++)
		r = put_any(out, 11, &unit->details[i], parts, err);
	return r;
}

static int put_compilation(struct mor_buf *out, const struct mor_unit *unit, enum any_parts parts,
			   mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf inside = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf index = MOR_BUF_INIT;
	int r = put_unit(&inside, unit, parts, err);

	if (r < 0)
		return r;
	put_message(out, 1, &inside);
	put_texts(&index, 1, unit->revisions, unit->revision_count);
	if (index.len || mor_buf_failed(&index))
		put_message(out, 2, &index);
	return mor_buf_failed(out) ? mor_fail(err, out->status, "%s", mortise_status_text(out->status)) : 0;
}

/* Checked like foreign bytes: what cannot be read again must not be written. */
int mor_unit_write_wire(const struct mor_unit *unit, struct mor_buf *out, mortise_error *err)
{
	size_t before = out->len;
	int r = put_compilation(out, unit, WIRE_ONLY, err);

	if (r < 0)
		return r;
	return mor_pbc_check(&kythe__proto__indexed_compilation__descriptor,
			     (struct mor_slice){ out->data + before, out->len - before }, err);
}

int mor_unit_write_json(const struct mor_unit *unit, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	struct mor_writer w = { .out = out };
	MOR_CLEAN(mor_pbc_message) struct mor_pbc_message message = { 0 };
	int r = put_compilation(&bytes, unit, WITH_JSON, err);

	if (r == 0)
		r = mor_pbc_unpack(&kythe__proto__indexed_compilation__descriptor, mor_buf_view(&bytes),
				   &message, err);
	if (r < 0)
		return r;
	mor_pbc_to_json(message.root, MOR_PBC_PROTO_NAMES, &w);
	return mor_buf_failed(out) ? mor_fail(err, out->status, "%s", mortise_status_text(out->status)) : 0;
}

/* ---- pieces of an AnalyzeReply ---- */

const char *mor_unit_title(const struct mor_unit *unit)
{
	if (unit->source_count)
		return unit->sources[0];
	return *unit->output_key ? unit->output_key : unit->vname.signature;
}

void mor_unit_env_json(const struct mor_unit *unit, struct mor_writer *w)
{
	mor_w_array(w);
	for (size_t i = 0; i < unit->env_count; i++) {
		mor_w_object(w);
		mor_w_pair(w, "name", unit->env[i].name);
		mor_w_pair(w, "value", unit->env[i].value);
		mor_w_end(w);
	}
	mor_w_end(w);
}

void mor_any_json(const struct mor_any *any, struct mor_writer *w)
{
	mor_any_to_json(any, MOR_PBC_CAMEL_CASE, w);
}

void mor_unit_details_json(const struct mor_unit *unit, struct mor_writer *w)
{
	mor_w_array(w);
	for (size_t i = 0; i < unit->detail_count; i++)
		mor_any_json(&unit->details[i], w);
	mor_w_end(w);
}

static void texts_json(struct mor_writer *w, const char *name, const char *const *texts, size_t count)
{
	mor_w_key(w, name);
	mor_w_array(w);
	for (size_t i = 0; i < count; i++)
		mor_w_string(w, texts[i]);
	mor_w_end(w);
}

void mor_unit_reply_json(const struct mor_unit *unit, const char *working_dir, const char *output,
			 struct mor_writer *w)
{
	mor_w_object(w);
	mor_w_pair(w, "workingDir", working_dir);
	texts_json(w, "inputs", unit->sources, unit->source_count);
	if (unit->source_count)
		mor_w_pair(w, "input", unit->sources[0]);
	texts_json(w, "arguments", unit->arguments, unit->argument_count);
	mor_w_key(w, "environment");
	mor_unit_env_json(unit, w);
	mor_w_pair(w, "output", output);
	mor_w_pair(w, "entryContext", unit->entry_context);
	mor_w_pair(w, "outputKey", unit->output_key);
	mor_w_key(w, "details");
	mor_unit_details_json(unit, w);
	mor_w_end(w);
}

static void pair_unless_empty(struct mor_writer *w, const char *name, const char *text)
{
	if (*text)
		mor_w_pair(w, name, text);
}

void mor_vname_json(const struct mor_vname *vname, struct mor_writer *w)
{
	mor_w_object(w);
	pair_unless_empty(w, "signature", vname->signature);
	pair_unless_empty(w, "corpus", vname->corpus);
	pair_unless_empty(w, "root", vname->root);
	pair_unless_empty(w, "path", vname->path);
	pair_unless_empty(w, "language", vname->language);
	mor_w_end(w);
}
