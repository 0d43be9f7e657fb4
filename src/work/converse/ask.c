/* SPDX-License-Identifier: Apache-2.0 */
#include "converse/ask.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "runner/answer.h"

/* One that waits for the person. */
struct ask {
	struct mor_list node;
	mortise_request *request;
	char method[]; /* for the person */
};

static void show_request(const struct mor_converse_guest *guest, const char *method, mortise_json params,
			 bool waits)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_console *console = guest->chat->console;
	struct mor_slice text = { params.text ? params.text : "", params.len };
	struct mor_writer w = { .out = &json };
	char shown[800], name[200];

	if (console->json) {
		mor_w_object(&w);
		mor_w_pair(&w, "request", method);
		mor_w_pair_raw(&w, "params", text.len ? text : MOR_SLICE("null"));
		mor_w_pair(&w, "plugin", mortise_plugin_name(guest->turn.plugin));
		mor_w_end(&w);
		mor_out_json_line(console, mor_buf_view(&json));
		return;
	}
	mor_converse_lines_make_room(guest->chat->lines);
	mor_note(console, "%s asks %s %s%s", mortise_plugin_name(guest->turn.plugin),
		 mor_printable(mor_slice_of(method), name, sizeof(name)),
		 mor_printable(text, shown, sizeof(shown)),
		 waits ? "; it waits for /answer JSON or /refuse [CODE] TEXT" : "");
	mor_converse_lines_redraw(guest->chat->lines);
}

static bool keep_request(struct mor_converse *chat, mortise_request *request, const char *method)
{
	size_t size = strlen(method) + 1;
	struct ask *ask = mor_alloc(sizeof(*ask) + size);

	if (!ask)
		return false;
	ask->request = request;
	memcpy(ask->method, method, size);
	mor_list_append(&chat->asks, &ask->node);
	return true;
}

void mor_converse_ask_take(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	struct mor_converse_guest *guest = arg;
	struct mor_converse *chat = guest->chat;
	bool waits = chat->args->ask && keep_request(chat, request, method);

	show_request(guest, method, params, waits);
	if (!waits)
		mor_runner_answer(&chat->args->answers, request, method);
}

/* The oldest whose process still runs: nobody else would read the answer. */
static struct ask *take_oldest(struct mor_converse *chat)
{
	struct mor_list *node;

	while ((node = mor_list_pop(&chat->asks))) {
		struct ask *ask = mor_container_of(node, struct ask, node);

		if (mortise_request_plugin(ask->request))
			return ask;
		/* gives the handle back */
		mortise_request_fail(ask->request, -32603, "", (mortise_json){ 0 }, NULL);
		mor_free(ask);
	}
	return NULL;
}

static int nobody_asks(mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT,
			"no plugin waits for an answer (with --ask, what they ask waits for you)");
}

int mor_converse_ask_answer(struct mor_converse *chat, const char *json, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error why = { 0 };
	struct ask *ask;

	if (mor_doc_parse(mor_slice_of(json), 0, 0, &doc, &why) < 0)
		return mor_fail(err, MORTISE_EINPUT, "/answer wants one JSON value: %s", why.text);
	ask = take_oldest(chat);
	if (!ask)
		return nobody_asks(err);
	mortise_request_reply(ask->request, (mortise_json){ json, strlen(json) }, NULL);
	mor_free(ask);
	return 0;
}

int mor_converse_ask_refuse(struct mor_converse *chat, int64_t code, const char *text, mortise_error *err)
{
	struct ask *ask = take_oldest(chat);

	if (!ask)
		return nobody_asks(err);
	mortise_request_fail(ask->request, code, text, (mortise_json){ 0 }, NULL);
	mor_free(ask);
	return 0;
}

bool mor_converse_ask_waits(void *chat)
{
	return !mor_list_empty(&((struct mor_converse *)chat)->asks);
}

/* The first word, and not one that only begins so. */
static bool is_answer(const char *line)
{
	size_t len;

	line += strspn(line, " \t");
	len = strcspn(line, " \t");
	return mor_text_in((struct mor_slice){ line, len }, "/answer|/refuse");
}

/* The running call may wait for this very answer, so nothing else can be done before it. */
void mor_converse_ask_person(void *arg)
{
	struct mor_converse *chat = arg;
	enum mor_converse_line kind = MOR_CONVERSE_LINE_END;
	const char *line = NULL;
	mortise_error err = { 0 };

	if (mor_converse_lines_next(chat->lines, "answer …> ", &kind, &line, &err) < 0 ||
	    kind == MOR_CONVERSE_LINE_END) { /* nobody is there any more */
		struct ask *ask = take_oldest(chat);

		if (ask)
			mor_runner_answer(&chat->args->answers, ask->request, ask->method);
		mor_free(ask);
		return;
	}
	if (kind != MOR_CONVERSE_LINE_READ)
		return; /* a signal: the turn sees it */
	if (is_answer(line)) {
		mor_converse_act(chat, line);
		return;
	}
	mor_fail(&err, MORTISE_EINPUT,
		 "a plugin waits for /answer JSON or /refuse [CODE] TEXT, and its call runs");
	mor_converse_fail_line(chat, NULL, &err);
}

void mor_converse_ask_drop_all(struct mor_converse *chat)
{
	struct mor_list *node;

	while ((node = mor_list_pop(&chat->asks)))
		mor_free(mor_container_of(node, struct ask, node));
}
