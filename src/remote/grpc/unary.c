/* SPDX-License-Identifier: Apache-2.0 */
/* A call with one message there and one back. Its state is part of the call, and is freed with it. */
#include "base/error.h"
#include "grpc/inside.h"

static void on_answer(void *arg, struct mor_slice message)
{
	struct mor_grpc_call *call = arg;

	if (call->answers++ == 0)
		mor_buf_slice(&call->answer, message);
}

/* An end with anything but one message is not good. */
static void on_answered(void *arg, unsigned status, const mortise_error *err)
{
	struct mor_grpc_call *call = arg;
	mortise_error own = { 0 };
	struct mor_slice message = { 0 };

	if (!err && mor_buf_failed(&call->answer))
		mor_fail_memory(&own);
	else if (!err && call->answers != 1)
		mor_fail(&own, MORTISE_EPROTO, "answered \"%s\" with %u messages where one is due",
			 call->options.method, call->answers);
	if (own.code) {
		err = &own;
		status = MOR_GRPC_INTERNAL;
	}
	if (!err)
		message = mor_buf_view(&call->answer);
	call->unary.on_done(call->unary.arg, message, status, err);
}

int mor_grpc_unary(struct mor_grpc *grpc, const struct mor_grpc_unary *unary, struct mor_grpc_call **ret,
		   mortise_error *err)
{
	struct mor_grpc_call_options options = {
		.method = unary->method,
		.timeout_ms = unary->timeout_ms,
		.on_message = on_answer,
		.on_end = on_answered,
	};
	struct mor_grpc_call *call;
	int r = mor_grpc_call(grpc, &options, &call, err);

	if (r < 0)
		return r;
	call->options.arg = call;
	call->unary = *unary;
	if ((r = mor_grpc_send(call, unary->message)) < 0) {
		mor_h2_detach(call);
		mor_grpc_drop(call);
		return mor_fail(err, r, "%s", mortise_status_text(r));
	}
	mor_grpc_finish(call);
	if (ret)
		*ret = call;
	return 0;
}
