/* SPDX-License-Identifier: Apache-2.0 */
/* The layout is that of the specification's example: labels at the start of a line, "---" between functions. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "disasm.h"
#include "functions.h"
#include "printable.h"

#define ALIASES_SHOWN   8
#define IMPORTS_SHOWN   2000
#define LIBRARIES_BYTES 8192

struct maker { /* what the parts of one report share */
	const struct report_options *options;
	struct report *report;
	struct text *out;
	struct elf_file file;
	struct functions functions;
	struct disasm disasm;
	bool can_disassemble;
};

static void line(struct text *out, const char *label, const char *value)
{
	if (!value || !*value)
		return;
	text_printf(out, "%s: ", label);
	text_name(out, value);
	text_add(out, "\n", 1);
}

/* ---- Head ---- */

static void list_libraries(struct maker *m)
{
	if (m->file.needed_count == 0)
		return;
	text_printf(m->out, "\nNeeded Libraries:\n");
	for (size_t i = 0; i < m->file.needed_count; i++) {
		text_name(m->out, m->file.needed[i]);
		text_add(m->out, "\n", 1);
		text_printf(&m->report->libraries, i ? ", " : "");
		text_name(&m->report->libraries, m->file.needed[i]);
	}
}

/* What a binary calls tells most about it, and costs little: listed even beyond max_functions. */
static void list_imports(struct maker *m)
{
	const struct functions *f = &m->functions;

	if (f->import_count == 0)
		return;
	text_printf(m->out, "\nImports:\n");
	for (size_t i = 0; i < f->import_count && i < IMPORTS_SHOWN; i++) {
		text_name(m->out, f->imports[i]);
		text_add(m->out, "\n", 1);
	}
	if (f->import_count > IMPORTS_SHOWN)
		text_printf(m->out, "(%zu more)\n", f->import_count - IMPORTS_SHOWN);
}

static void write_head(struct maker *m)
{
	const struct elf_file *file = &m->file;

	line(m->out, "Binary", m->options->label);
	text_printf(m->out, "Type: ELF %s\n", m->report->type);
	text_printf(m->out, "Architecture: %s\n", m->report->arch.name);
	text_printf(m->out, "Entry Point: 0x%" PRIx64 "\n", m->report->entry);
	line(m->out, "Interpreter", file->interpreter);
	line(m->out, "Soname", file->soname);
	line(m->out, "Runpath", file->runpath);
	line(m->out, "Build ID", file->build_id);
	list_libraries(m);
	list_imports(m);
}

/* ---- Functions ---- */

/* Without a name, the one Ghidra would give. */
static void write_names(struct maker *m, const struct function *f)
{
	unsigned shown = 0;

	text_add(m->out, "---\nFunction: ", 14);
	if (f->name)
		text_name(m->out, f->name);
	else
		text_printf(m->out, "FUN_%08" PRIx64, f->addr);
	text_add(m->out, "\n", 1);
	for (uint32_t i = 1; i <= f->aliases && shown < ALIASES_SHOWN; i++) {
		if (!f[i].name)
			continue;
		text_printf(m->out, shown++ ? ", " : "Aliases: ");
		text_name(m->out, f[i].name);
	}
	if (shown)
		text_add(m->out, "\n", 1);
}

/* False when the time for the whole report is over. */
static bool write_code(struct maker *m, const struct function *f)
{
	struct disasm_job job = { .addr = f->addr,
				  .thumb = f->thumb,
				  .max_instructions = m->options->max_instructions };
	int64_t whole_ns = m->options->deadline_ns, own_ns = clock_after(m->options->function_sec);
	enum disasm_status status;
	uint64_t avail;

	job.deadline_ns = own_ns < whole_ns ? own_ns : whole_ns;
	job.code = m->can_disassemble ? elf_file_at(&m->file, f->section, f->addr, &avail) : NULL;
	if (!job.code || f->size == 0) {
		m->report->failures++;
		return true;
	}
	job.size = f->size < avail ? f->size : avail;
	text_printf(m->out, "Disassembly:\n");
	status = disasm_run(&m->disasm, &job, m->out);
	if (status == DISASM_TIMEOUT)
		text_printf(m->out, "  (time limit reached)\n");
	if (status == DISASM_DONE)
		m->report->functions_disassembled++;
	else
		m->report->failures++;
	return status != DISASM_TIMEOUT || !clock_passed(whole_ns);
}

static bool write_function(struct maker *m, const struct function *f)
{
	write_names(m, f);
	text_printf(m->out, "Address: 0x%" PRIx64 "\n", f->addr);
	/* Addresses of a relocatable file begin at 0 in each of its sections. */
	if (m->file.header.e_type == ET_REL && f->section < m->file.section_count)
		line(m->out, "Section", m->file.sections[f->section].name);
	text_printf(m->out, "Size: %" PRIu64 " bytes%s\n", f->size, f->guessed ? " (estimated)" : "");
	if (f->disassembled && !write_code(m, f))
		return false;
	if (text_has_room(m->out))
		m->report->functions_listed++;
	return true;
}

/* False when time is over. */
static bool write_functions(struct maker *m)
{
	const struct functions *f = &m->functions;

	if (f->count == 0)
		return true;
	text_printf(m->out, "\nFunctions:\n");
	for (size_t i = 0; i < f->count && text_has_room(m->out); i += 1 + f->items[i].aliases) {
		if (clock_passed(m->options->deadline_ns))
			return false;
		if (f->items[i].listed && !write_function(m, &f->items[i]))
			return false;
	}
	if (f->total > m->report->functions_listed)
		text_printf(m->out, "---\n(%zu more functions)\n", f->total - m->report->functions_listed);
	return true;
}

/* ---- The whole ---- */

/* All that can fail before the first line is written. */
static enum report_status prepare(struct maker *m)
{
	const struct report_options *o = m->options;
	enum collect_status collected;
	enum disasm_open_status opened;

	elf_file_type(&m->file, m->report->type, sizeof(m->report->type));
	snprintf(m->report->build_id, sizeof(m->report->build_id), "%s", m->file.build_id);
	m->report->entry = m->file.header.e_entry;
	arch_of(&m->file.header, &m->report->arch);
	collected = functions_collect(&m->file, o->deadline_ns, &m->functions);
	if (collected != COLLECT_OK)
		return collected == COLLECT_TIMEOUT ? REPORT_TIMEOUT : REPORT_NO_MEMORY;
	m->report->functions_found = m->functions.total;
	snprintf(m->report->functions_source, sizeof(m->report->functions_source), "%s", m->functions.source);
	if (!functions_choose(&m->functions, o->max_functions, o->disassemble_functions))
		return REPORT_NO_MEMORY;
	if (o->disassemble_functions == 0)
		return REPORT_OK;
	opened = disasm_open(&m->disasm, &m->report->arch);
	m->can_disassemble = opened == DISASM_READY;
	return opened == DISASM_MISSING ? REPORT_NO_DISASSEMBLER : REPORT_OK;
}

static enum report_status write_strings(struct maker *m)
{
	const struct report_options *o = m->options;
	struct strings_options options = { o->min_string_length, o->max_strings, o->deadline_ns };
	enum strings_status status;

	text_printf(m->out, "\nStrings:\n");
	status = strings_run(&m->file, &options, m->out, &m->report->strings);
	if (status == STRINGS_NO_MEMORY)
		return REPORT_NO_MEMORY;
	return status == STRINGS_TIMEOUT ? REPORT_TIMEOUT : REPORT_OK;
}

static enum report_status write_all(struct maker *m)
{
	enum report_status status = prepare(m);
	bool cut;

	if (status != REPORT_OK)
		return status;
	/* A quarter is kept for the strings: for search they are worth more than the n-th listing. */
	m->out->limit = m->options->max_content_bytes / 4 * 3;
	write_head(m);
	if (!write_functions(m))
		return REPORT_TIMEOUT;
	cut = m->out->cut;
	m->out->cut = false;
	m->out->limit = m->options->max_content_bytes;
	if (cut)
		text_printf(m->out, "\n(cut: over the limit)\n");
	status = write_strings(m);
	m->out->cut = m->out->cut || cut;
	return m->out->no_memory ? REPORT_NO_MEMORY : status;
}

enum report_status report_make(unsigned char *image, size_t len, const struct report_options *options,
			       struct report *ret)
{
	struct maker m = { .options = options, .report = ret, .out = &ret->text };
	enum elf_status opened;
	enum report_status status;

	*ret = (struct report){ .libraries.limit = LIBRARIES_BYTES };
	opened = elf_file_open(&m.file, image, len, &ret->why);
	if (opened != ELF_OK)
		return opened == ELF_FOREIGN ? REPORT_FOREIGN :
		       opened == ELF_CORRUPT ? REPORT_CORRUPT :
					       REPORT_NO_MEMORY;
	status = write_all(&m);
	disasm_close(&m.disasm);
	functions_fini(&m.functions);
	elf_file_close(&m.file);
	return status;
}

void report_fini(struct report *report)
{
	text_fini(&report->text);
	text_fini(&report->libraries);
}
