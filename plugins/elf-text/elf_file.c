/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libelf reads the tables, converts their byte order and checks string offsets. What it does not do is
 * promise that sh_offset and p_offset lie in the file; within() does.
 */
#include "elf_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without the sum, which a hostile size would make overflow. */
static bool within(uint64_t offset, uint64_t size, size_t len)
{
	return offset <= len && size <= len - offset;
}

/* ---- Reading the tables ---- */

static void take_section(struct elf_file *file, Elf_Scn *scn, size_t names)
{
	struct section *section = &file->sections[elf_ndxscn(scn)];
	const char *name;
	GElf_Shdr shdr;

	if (!gelf_getshdr(scn, &shdr))
		return;
	name = names ? elf_strptr(file->elf, names, shdr.sh_name) : NULL;
	*section = (struct section){ name ? name : "", shdr.sh_type, shdr.sh_flags,
				     shdr.sh_addr,     shdr.sh_size, NULL };
	if (shdr.sh_type != SHT_NOBITS && shdr.sh_type != SHT_NULL &&
	    within(shdr.sh_offset, shdr.sh_size, file->len))
		section->data = file->image + shdr.sh_offset;
}

static bool read_sections(struct elf_file *file)
{
	size_t count = 0, names = 0;
	Elf_Scn *scn = NULL;

	if (elf_getshdrnum(file->elf, &count) < 0 || count == 0)
		return true;
	if (elf_getshdrstrndx(file->elf, &names) < 0)
		names = 0;
	file->sections = calloc(count, sizeof(*file->sections));
	if (!file->sections)
		return false;
	file->section_count = count;
	for (size_t i = 0; i < count; i++)
		file->sections[i].name = "";
	while ((scn = elf_nextscn(file->elf, scn)))
		if (elf_ndxscn(scn) < count)
			take_section(file, scn, names);
	return true;
}

static bool read_segments(struct elf_file *file)
{
	size_t count = 0;

	if (elf_getphdrnum(file->elf, &count) < 0 || count == 0)
		return true;
	file->segments = calloc(count, sizeof(*file->segments));
	if (!file->segments)
		return false;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(file->elf, (int)i, &phdr) || !within(phdr.p_offset, phdr.p_filesz, file->len))
			continue;
		file->segments[file->segment_count++] = (struct segment){
			phdr.p_type, phdr.p_flags, phdr.p_vaddr, phdr.p_filesz, file->image + phdr.p_offset,
		};
	}
	return true;
}

/* A table that lies beyond the end is the mark of a download or copy that stopped half way. */
static const char *table_fault(const struct elf_file *file)
{
	const GElf_Ehdr *h = &file->header;

	if (h->e_phoff && h->e_phnum != PN_XNUM &&
	    !within(h->e_phoff, (uint64_t)h->e_phnum * h->e_phentsize, file->len))
		return "the program header table lies beyond the end of the file";
	if (h->e_shoff && !within(h->e_shoff, (uint64_t)h->e_shnum * h->e_shentsize, file->len))
		return "the section header table lies beyond the end of the file";
	return NULL;
}

/* ---- What the tables point at ---- */

/* The string is asked for whatever the tag: what is no offset gives NULL, or is not looked at. */
static void take_dynamic(struct elf_file *file, const GElf_Dyn *dyn, size_t strings)
{
	const char *text = elf_strptr(file->elf, strings, dyn->d_un.d_val);

	if (dyn->d_tag == DT_FLAGS_1)
		file->pie = dyn->d_un.d_val & DF_1_PIE;
	if (!text)
		return;
	if (dyn->d_tag == DT_NEEDED && file->needed_count < NEEDED_MAX)
		file->needed[file->needed_count++] = text;
	else if (dyn->d_tag == DT_SONAME)
		file->soname = text;
	else if (dyn->d_tag == DT_RUNPATH || (dyn->d_tag == DT_RPATH && !file->runpath))
		file->runpath = text;
}

static void read_dynamic(struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Dyn dyn;

	for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++)
		take_dynamic(file, &dyn, shdr->sh_link);
}

/* Build ids are 20 bytes, sometimes 8 or 16; 32 is as much as we keep. */
static void read_notes(struct elf_file *file, Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t offset = 0, name_at, desc_at;
	GElf_Nhdr note;

	while (data && (offset = gelf_getnote(data, offset, &note, &name_at, &desc_at)) > 0) {
		const unsigned char *bytes = data->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp(bytes + name_at, "GNU", 4) != 0)
			continue;
		for (size_t i = 0; i < note.n_descsz && i < 32; i++)
			snprintf(file->build_id + 2 * i, 3, "%02x", bytes[desc_at + i]);
	}
}

/* Only with its NUL inside the segment is it a C string. */
static void read_interpreter(struct elf_file *file)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const struct segment *segment = &file->segments[i];

		if (segment->type == PT_INTERP && segment->size && segment->data[segment->size - 1] == '\0')
			file->interpreter = (const char *)segment->data;
	}
}

static void read_details(struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;

	read_interpreter(file);
	while ((scn = elf_nextscn(file->elf, scn))) {
		if (!gelf_getshdr(scn, &shdr))
			continue;
		if (shdr.sh_type == SHT_DYNAMIC && file->needed_count == 0)
			read_dynamic(file, scn, &shdr);
		else if (shdr.sh_type == SHT_NOTE && !file->build_id[0])
			read_notes(file, scn);
	}
	/* Not every linker sets the flag. Programs name an interpreter, but so does libc.so.6, which
	 * has a soname. */
	file->pie = file->header.e_type == ET_DYN && (file->pie || (file->interpreter && !file->soname));
}

/* ---- Opening ---- */

static enum elf_status open_tables(struct elf_file *file, const char **ret_why)
{
	const char *fault;

	if (elf_kind(file->elf) != ELF_K_ELF || !gelf_getehdr(file->elf, &file->header)) {
		*ret_why = "the ELF header is damaged or cut short";
		return ELF_CORRUPT;
	}
	fault = table_fault(file);
	if (fault) {
		*ret_why = fault;
		return ELF_CORRUPT;
	}
	if (!read_sections(file) || !read_segments(file))
		return ELF_NO_MEMORY;
	read_details(file);
	return ELF_OK;
}

/* No magic: another kind of file. Magic, but libelf refuses the rest: a damaged one. */
enum elf_status elf_file_open(struct elf_file *file, unsigned char *image, size_t len, const char **ret_why)
{
	enum elf_status status;

	*file = (struct elf_file){ .image = image, .len = len };
	if (len < SELFMAG || memcmp(image, ELFMAG, SELFMAG) != 0)
		return ELF_FOREIGN;
	elf_version(EV_CURRENT);
	file->elf = elf_memory((char *)image, len);
	status = open_tables(file, ret_why);
	if (status != ELF_OK)
		elf_file_close(file);
	return status;
}

void elf_file_close(struct elf_file *file)
{
	free(file->sections);
	free(file->segments);
	elf_end(file->elf);
	*file = (struct elf_file){ 0 };
}

/* ---- Asking ---- */

void elf_file_type(const struct elf_file *file, char *out, size_t out_size)
{
	static const char *const kinds[] = {
		[ET_NONE] = "file of no type", [ET_REL] = "relocatable", [ET_EXEC] = "executable",
		[ET_DYN] = "shared object",    [ET_CORE] = "core file",
	};
	const GElf_Ehdr *h = &file->header;
	const char *kind =
		h->e_type < sizeof(kinds) / sizeof(kinds[0]) ? kinds[h->e_type] : "file of unknown type";

	snprintf(out, out_size, "%s %s %s", h->e_ident[EI_CLASS] == ELFCLASS64 ? "64-bit" : "32-bit",
		 h->e_ident[EI_DATA] == ELFDATA2MSB ? "MSB" : "LSB", file->pie ? "pie executable" : kind);
}

static const unsigned char *at(const unsigned char *data, uint64_t base, uint64_t size, uint64_t addr,
			       uint64_t *ret_avail)
{
	if (!data || addr < base || addr - base >= size)
		return NULL;
	*ret_avail = size - (addr - base);
	return data + (addr - base);
}

static const unsigned char *section_at(const struct section *section, uint64_t base, uint64_t addr,
				       uint64_t *ret_avail)
{
	return at(section->data, base, section->size, addr, ret_avail);
}

const unsigned char *elf_file_at(const struct elf_file *file, size_t section, uint64_t addr,
				 uint64_t *ret_avail)
{
	const unsigned char *found = NULL;
	bool relocatable = file->header.e_type == ET_REL;

	if (section > 0 && section < file->section_count) {
		const struct section *s = &file->sections[section];

		found = section_at(s, relocatable ? 0 : s->addr, addr, ret_avail);
	}
	if (found || relocatable)
		return found;
	for (size_t i = 0; !found && i < file->section_count; i++)
		if (file->sections[i].flags & SHF_ALLOC)
			found = section_at(&file->sections[i], file->sections[i].addr, addr, ret_avail);
	/* Segments only without sections: in a file of separate debug information they point at nothing. */
	for (size_t i = 0; !found && !file->section_count && i < file->segment_count; i++)
		if (file->segments[i].type == PT_LOAD)
			found = at(file->segments[i].data, file->segments[i].addr, file->segments[i].size, addr,
				   ret_avail);
	return found;
}

const struct section *elf_file_section(const struct elf_file *file, const char *name)
{
	for (size_t i = 0; i < file->section_count; i++)
		if (strcmp(file->sections[i].name, name) == 0)
			return &file->sections[i];
	return NULL;
}
