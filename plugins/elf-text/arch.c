/* SPDX-License-Identifier: Apache-2.0 */
#include "arch.h"

#include <stdio.h>

struct row {
	GElf_Half machine;
	int bits; /* 0: both classes */
	const char *processor, *variant;
	int cs; /* cs_arch, or -1: capstone 4 does not know it */
	int mode;
};

/* The names are those of Ghidra's language files where it has one. */
static const struct row rows[] = {
	{ EM_X86_64, 64, "x86", "default", CS_ARCH_X86, CS_MODE_64 },
	{ EM_X86_64, 32, "x86", "x32", CS_ARCH_X86, CS_MODE_64 },
	{ EM_386, 0, "x86", "default", CS_ARCH_X86, CS_MODE_32 },
	{ EM_ARM, 0, "ARM", "v8", CS_ARCH_ARM, CS_MODE_ARM },
	{ EM_AARCH64, 0, "AARCH64", "v8A", CS_ARCH_ARM64, CS_MODE_ARM },
	{ EM_MIPS, 32, "MIPS", "default", CS_ARCH_MIPS, CS_MODE_MIPS32 },
	{ EM_MIPS, 64, "MIPS", "default", CS_ARCH_MIPS, CS_MODE_MIPS64 },
	{ EM_PPC, 0, "PowerPC", "default", CS_ARCH_PPC, CS_MODE_32 },
	{ EM_PPC64, 0, "PowerPC", "default", CS_ARCH_PPC, CS_MODE_64 },
	{ EM_SPARC, 0, "sparc", "default", CS_ARCH_SPARC, 0 },
	{ EM_SPARCV9, 0, "sparc", "default", CS_ARCH_SPARC, CS_MODE_V9 },
	{ EM_S390, 0, "SystemZ", "default", CS_ARCH_SYSZ, 0 },
	{ EM_68K, 0, "68000", "default", CS_ARCH_M68K, CS_MODE_M68K_000 },
	{ EM_RISCV, 0, "RISCV", "default", -1, 0 },
	{ EM_LOONGARCH, 0, "Loongarch", "lp64d", -1, 0 },
	{ EM_IA_64, 0, "IA64", "default", -1, 0 },
	{ EM_AVR, 0, "avr8", "default", -1, 0 },
	{ EM_MSP430, 0, "TI_MSP430", "default", -1, 0 },
	{ EM_XTENSA, 0, "Xtensa", "default", -1, 0 },
	{ EM_SH, 0, "SuperH4", "default", -1, 0 },
	{ EM_BPF, 0, "eBPF", "default", -1, 0 },
};

/* Data and code may differ: a 64-bit ARM reads its instructions little-endian always, a 32-bit one does
 * when the linker made the file so ("BE8"). */
static bool code_is_big(const GElf_Ehdr *header)
{
	if (header->e_ident[EI_DATA] != ELFDATA2MSB || header->e_machine == EM_AARCH64)
		return false;
	return header->e_machine != EM_ARM || !(header->e_flags & EF_ARM_BE8);
}

void arch_of(const GElf_Ehdr *header, struct arch *ret)
{
	bool big = header->e_ident[EI_DATA] == ELFDATA2MSB;
	int bits = header->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
	char unknown[32]; /* still a name that can be searched for */
	struct row row = { 0, 0, unknown, "default", -1, 0 };

	snprintf(unknown, sizeof(unknown), "machine%u", (unsigned)header->e_machine);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].machine == header->e_machine && (rows[i].bits == 0 || rows[i].bits == bits)) {
			row = rows[i];
			break;
		}
	*ret = (struct arch){ .known = row.cs >= 0 };
	snprintf(ret->name, sizeof(ret->name), "%s:%s:%d:%s", row.processor, big ? "BE" : "LE", bits,
		 row.variant);
	if (ret->known) {
		ret->cs = (cs_arch)row.cs;
		ret->mode = (cs_mode)((unsigned)row.mode |
				      (code_is_big(header) ? (unsigned)CS_MODE_BIG_ENDIAN : 0U));
	}
}
