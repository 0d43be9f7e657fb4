/* SPDX-License-Identifier: Apache-2.0 */
/* The author's on_start and on_stop. */
#include "dialect.h"
#include "session.h"

/* on_start answers nobody: what it says becomes a part of the answer to init. */
struct starting {
	tenon_call call; /* first: the shape finds the rest */
	tenon_call *init;
	struct mor_buf *applied;
	bool failed;
};

static int keep_result(tenon_call *call, struct mor_slice json)
{
	struct starting *starting = (struct starting *)(void *)call;

	return starting->applied ? mor_buf_slice(starting->applied, json) : 0;
}

static int pass_error(tenon_call *call, const struct tn_fault *fault)
{
	struct starting *starting = (struct starting *)(void *)call;

	starting->failed = true;
	return starting->init->shape->error(starting->init, fault);
}

static const struct tn_shape shape_start = { keep_result, pass_error, TENON_EINTERNAL };

static int call_on_start(tenon_call *init, struct mor_buf *applied)
{
	struct starting starting = { .init = init, .applied = applied };
	int r;

	tn_call_init(&starting.call, init->session);
	starting.call.id = init->id;
	starting.call.params_text = init->params_text;
	starting.call.shape = &shape_start;
	starting.call.in_batch = true; /* no conversation either */
	starting.call.writer.out = &starting.call.built;
	starting.call.seq = init->session->seq;
	starting.call.name = "on_start";
	r = init->plugin->on_start(&starting.call);
	if (r != 0 && !starting.call.answered)
		tenon_fail(&starting.call, TENON_EFAILED, "on_start failed");
	tn_call_fini(&starting.call);
	return starting.failed || r != 0 ? -1 : 0;
}

int tn_start(tenon_call *call, const struct mor_value *config, struct mor_buf *applied)
{
	struct tn_session *s = call->session;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	s->config = mor_doc_free(s->config);
	if (config && (mor_json_write(config, false, &text) < 0 ||
		       mor_doc_parse(mor_buf_view(&text), 0, 0, &s->config, NULL) < 0)) {
		tn_refuse(call, TENON_EINTERNAL, "out of memory", (struct mor_slice){ 0 });
		return -1;
	}
	if (s->plugin->on_start && call_on_start(call, applied) < 0) {
		call->answered = true;
		return -1;
	}
	atomic_store(&s->started, true);
	return 0;
}

void tn_stop(struct tn_session *s)
{
	if (atomic_exchange(&s->started, false) && s->plugin->on_stop)
		s->plugin->on_stop(s->plugin);
}
