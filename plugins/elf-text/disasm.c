/* SPDX-License-Identifier: Apache-2.0 */
/* One instruction at a time, so that the clock and the limit are looked at between them. */
#include "disasm.h"

#include <inttypes.h>

#include "clock.h"

enum disasm_open_status disasm_open(struct disasm *disasm, const struct arch *arch)
{
	cs_err err;

	*disasm = (struct disasm){ .arch = arch };
	if (!arch->known)
		return DISASM_NO_ARCH;
	err = cs_open(arch->cs, arch->mode, &disasm->handle);
	if (err == CS_ERR_MODE) /* a header that claims a big-endian x86 */
		return DISASM_NO_ARCH;
	if (err != CS_ERR_OK)
		return DISASM_MISSING;
	/* Tables lie between instructions, on ARM above all: show them as bytes and go on behind them. */
	cs_option(disasm->handle, CS_OPT_SKIPDATA, CS_OPT_ON);
	disasm->insn = cs_malloc(disasm->handle);
	if (disasm->insn)
		return DISASM_READY;
	disasm_close(disasm);
	return DISASM_MISSING;
}

void disasm_close(struct disasm *disasm)
{
	if (disasm->insn)
		cs_free(disasm->insn, 1);
	if (disasm->handle)
		cs_close(&disasm->handle);
	*disasm = (struct disasm){ 0 };
}

/* ARM and Thumb code stand side by side in one file; the lowest bit of the symbol tells which. */
static void set_mode(struct disasm *disasm, bool thumb)
{
	unsigned endian = (unsigned)disasm->arch->mode & (unsigned)CS_MODE_BIG_ENDIAN;

	if (disasm->arch->cs == CS_ARCH_ARM)
		cs_option(disasm->handle, CS_OPT_MODE, (thumb ? CS_MODE_THUMB : CS_MODE_ARM) | endian);
}

enum disasm_status disasm_run(struct disasm *disasm, const struct disasm_job *job, struct text *out)
{
	const uint8_t *code = job->code;
	size_t left = job->size, lines = 0, real = 0;
	uint64_t addr = job->addr;
	cs_insn *insn = disasm->insn;

	set_mode(disasm, job->thumb);
	for (; lines < job->max_instructions && text_has_room(out); lines++) {
		if (lines % 32 == 0 && clock_passed(job->deadline_ns))
			return DISASM_TIMEOUT;
		if (!cs_disasm_iter(disasm->handle, &code, &left, &addr, insn))
			break;
		real += insn->id != 0; /* 0: bytes that were skipped */
		text_printf(out, "  0x%" PRIx64 ": %s%s%s\n", insn->address, insn->mnemonic,
			    *insn->op_str ? " " : "", insn->op_str);
	}
	if (left > 0)
		text_printf(out, "  (%zu more bytes)\n", left);
	return real ? DISASM_DONE : DISASM_NONSENSE;
}
