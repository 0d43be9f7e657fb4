/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code as text, by capstone. */
#ifndef ELF_TEXT_DISASM_H
#define ELF_TEXT_DISASM_H

#include <stdint.h>

#include "arch.h"
#include "text.h"

struct disasm {
	csh handle;
	cs_insn *insn;
	const struct arch *arch;
};

enum disasm_open_status {
	DISASM_READY,
	DISASM_NO_ARCH, /* nothing here reads this processor's code                    */
	DISASM_MISSING  /* capstone should, but is built without it or has no memory   */
};

enum disasm_open_status disasm_open(struct disasm *disasm, const struct arch *arch);
void disasm_close(struct disasm *disasm); /* also fine when it was never opened */

struct disasm_job {
	const unsigned char *code;
	uint64_t size, addr;
	bool thumb;
	size_t max_instructions;
	int64_t deadline_ns;
};

enum disasm_status { DISASM_DONE, DISASM_NONSENSE /* no instruction in it */, DISASM_TIMEOUT };

/* Appends one line per instruction; bytes that are none show as .byte. */
enum disasm_status disasm_run(struct disasm *disasm, const struct disasm_job *job, struct text *out);

#endif
