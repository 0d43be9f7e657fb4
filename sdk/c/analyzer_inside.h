/* SPDX-License-Identifier: Apache-2.0 */
/* The analyzer's state. For analyzer*.c only. */
#ifndef TENON_ANALYZER_INSIDE_H
#define TENON_ANALYZER_INSIDE_H

#include <stdbool.h>

#include <tenon/analyzer.h>

#include "base/buf.h"
#include "wire/framing.h"
#include "wire/json.h"

struct name { /* a cached answer of the driver */
	struct name *next;
	tenon_vname vname;
	struct mor_doc *doc; /* its texts */
	char key[];          /* path NUL signature NUL */
};
#define NAME_SLOTS 1024

struct tenon_analyzer {
	const tenon_analyzer_options *opt;
	int in, out;
	struct mor_deframer deframer;
	struct mor_buf input, frame, message;
	size_t taken; /* bytes of `input` that are over */
	int64_t id;
	bool gone; /* the driver closed our input */
	/* of the analysis under way */
	struct name *names[NAME_SLOTS];
	int output;
	struct mor_buf entries;
	int output_errno;
	uint64_t entry_count;
};

/* tenon_run() of a plugin that speaks kythe. */
int tn_run_analyses(const tenon_plugin *plugin);
/* What is left of the entries into the output; a failure stays in output_errno. */
void tn_flush_entries(tenon_analyzer *a);
/* What a buffer of entries may hold on to between analyses. */
#define TN_ENTRIES_KEPT ((size_t)2 << 20)

#endif
