/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rows that several dialects share, and the list of dialects. */
#include "check/own.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

extern const struct mor_check_tongue mor_check_tongue_plain, mor_check_tongue_yams, mor_check_tongue_ayiou,
	mor_check_tongue_gassist, mor_check_tongue_sunscreen, mor_check_tongue_sunscreen_json,
	mor_check_tongue_kythe;

const struct mor_check_tongue *const mor_check_tongues[] = {
	&mor_check_tongue_yams,           &mor_check_tongue_ayiou,
	&mor_check_tongue_gassist,        &mor_check_tongue_sunscreen,
	&mor_check_tongue_sunscreen_json, &mor_check_tongue_kythe,
	&mor_check_tongue_plain,          NULL,
};

const struct mor_check_tongue *mor_check_tongue(const char *dialect)
{
	for (const struct mor_check_tongue *const *t = mor_check_tongues; *t; t++)
		if (strcmp((*t)->name, dialect) == 0)
			return *t;
	return NULL;
}

/* ---- the author's functions ---- */

/* A response, or in G-Assist the note that ends a request. */
static bool has_settled(struct mor_check_session *s, void *arg)
{
	const char *id = arg;

	for (size_t i = 0; i < s->asked_count; i++)
		if (strcmp(s->asked[i].id, id) == 0 && s->asked[i].answers)
			return true;
	for (size_t i = 0; i < s->messages; i++)
		if (mor_text_in(mor_json_string(s->message[i].method), "complete|error"))
			return true;
	return false;
}

static void judge_member(const struct mor_finding *finding, void *arg)
{
	if (finding->fatal)
		mor_check_failed(arg, "result: %s", finding->text);
}

static void judge_call(struct mor_check_case *at, const char *id)
{
	struct mor_slice method = mor_slice_of(at->run->tongue->call_method);
	const struct mor_method *row =
		method.ptr ? mor_dialect_method(at->run->dialect, MOR_FROM_HOST, method) : NULL;
	const struct mor_check_message *m;
	bool over = false;

	if (!row || !row->result || row->settle != MOR_BY_REPLY)
		return;
	m = mor_check_response_or_end(at, mor_slice_of(id), &over);
	if (m && m->result)
		mor_validate(row->result, m->result, judge_member, at);
}

static void call_one(struct mor_check_case *at, const char *name)
{
	MOR_CLEAN(mor_buf) struct mor_buf quoted = MOR_BUF_INIT, why = MOR_BUF_INIT, text = MOR_BUF_INIT;
	const char *call = at->run->tongue->call, *place = strstr(call, "%s");
	char id[24];

	snprintf(id, sizeof(id), "%lld", (long long)at->next_id++);
	mor_buf_json_string(&quoted, mor_slice_of(name));
	mor_buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%s,%.*s%.*s%s}", id, (int)(place - call), call,
		       (int)quoted.len, quoted.data, place + 2);
	mor_check_send(at->s, mor_buf_view(&text));
	if (mor_check_wait(at->s, mor_check_call_ms(at->run), has_settled, id)) {
		judge_call(at, id);
		return;
	}
	mor_check_silence(at->s, mor_check_call_ms(at->run), &why);
	mor_check_failed(at, "%s: %.*s", name, (int)why.len, why.data);
}

uint32_t mor_check_call_ms(const struct mor_check_run *run)
{
	return run->opt->answer_ms ? run->opt->answer_ms : 30000; /* the limit of the dialects' own tables */
}

void mor_check_calls(struct mor_check_case *at)
{
	const char *const *names = at->run->opt->call;
	struct mor_json_iter it;

	if (!names) {
		mor_check_unseen(at, "functions of the author are called only with --call");
		return;
	}
	if (!mor_check_begin(at, false))
		return;
	for (; *names && mor_check_goes_on(at); names++) {
		if (strcmp(*names, "true") != 0) {
			call_one(at, *names);
			continue;
		}
		it = mor_json_iter(mor_doc_root(at->run->opt->manifest->actions));
		while (mor_check_goes_on(at) && mor_json_next(&it))
			call_one(at, mor_json_text(mor_json_get(it.value, "name"), ""));
	}
}

/* ---- manifests ---- */

const struct mor_value *mor_check_hello(struct mor_check_case *at)
{
	if (!at->run->hello && mor_check_begin(at, false))
		mor_check_unseen(at, "the plugin has not told who it is");
	if (!at->run->hello)
		mor_check_unseen(at, "the greeting does not work: see %s.%s", at->run->tongue->name,
				 at->run->tongue->greet_id);
	return mor_doc_root(at->run->hello);
}

static void compare_member(struct mor_check_case *at, const char *member)
{
	const struct mor_manifest *m = at->run->opt->manifest;
	const char *file = m->doc ? mor_json_text(mor_json_get(mor_doc_root(m->doc), member), NULL) : NULL;
	const struct mor_value *hello;

	if (!file) {
		mor_check_unseen(at, "there is no manifest that has a %s", member);
		return;
	}
	hello = mor_check_hello(at);
	if (hello && strcmp(file, mor_json_text(mor_json_get(hello, member), "")) != 0)
		mor_check_failed(at, "the manifest's %s is \"%s\", the greeting's is \"%s\"", member, file,
				 mor_json_text(mor_json_get(hello, member), ""));
}

void mor_check_manifest_name(struct mor_check_case *at)
{
	compare_member(at, "name");
}

void mor_check_manifest_version(struct mor_check_case *at)
{
	compare_member(at, "version");
}

void mor_check_manifest_warnings(struct mor_check_case *at)
{
	const struct mor_manifest *m = at->run->opt->manifest;
	const struct mor_list *node = m->warnings.next;

	if (!m->file)
		mor_check_unseen(at, "there is no manifest");
	else if (node && node != &m->warnings)
		mor_check_failed(at, "%s", mor_container_of(node, struct mor_warning, node)->text);
}
