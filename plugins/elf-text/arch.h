/* SPDX-License-Identifier: Apache-2.0 */
/* Processors: what they are called and how capstone reads their code. */
#ifndef ELF_TEXT_ARCH_H
#define ELF_TEXT_ARCH_H

#include <capstone/capstone.h>
#include <gelf.h>
#include <stdbool.h>

struct arch {
	char name[64]; /* in Ghidra's manner: processor:endian:bits:variant */
	bool known;    /* capstone can read it: the next two are set        */
	cs_arch cs;
	cs_mode mode;
};

void arch_of(const GElf_Ehdr *header, struct arch *ret);

#endif
