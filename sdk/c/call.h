/* SPDX-License-Identifier: Apache-2.0 */
/* One call from the frame to its answer. Shared by the loop (run.c) and what methods use (tenon.c). */
#ifndef TENON_CALL_H
#define TENON_CALL_H

#include <stdbool.h>

#include <tenon/tenon.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

struct tenon_bytes { /* what tenon_as_bytes() handed out; dies with the call */
	struct tenon_bytes *next;
	struct mor_buf buf;
};

struct tenon_call {
	const tenon_plugin *plugin;
	struct mor_slice id;          /* verbatim; ptr NULL: a notification     */
	struct mor_slice params_text; /* verbatim; ptr NULL: absent             */
	struct mor_doc *params;
	struct mor_buf *out; /* the answer is appended here            */
	size_t out_start;    /* where it begins                        */
	bool answered;
	struct mor_buf built; /* what the tenon_put_... functions write */
	struct mor_writer writer;
	bool misbuilt;
	struct tenon_bytes *bytes;
};

void tenon_call_init(tenon_call *call, const tenon_plugin *plugin, struct mor_buf *out);
void tenon_call_fini(tenon_call *call);

#endif
