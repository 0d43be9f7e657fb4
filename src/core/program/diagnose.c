/* SPDX-License-Identifier: Apache-2.0 */
/* Explains in words why a program could not be started. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "program/inside.h"

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

enum { PATH_SHOWN = 128 };

int mor_exec_fail(struct mor_exec_failure *failure, enum mor_proc_step step, int os_errno, int code,
		  const char *path, const char *format, ...)
{
	size_t len = strlen(path), room = PATH_SHOWN;
	char shown[PATH_SHOWN], why[220];
	va_list args;

	if (!failure)
		return code;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	/* The end of a long path says more than its beginning, and the reason must fit after it. */
	mor_excerpt(mor_slice_of(len < room ? path : path + len - room + 4), shown, sizeof(shown));
	*failure = (struct mor_exec_failure){ .step = step, .os_errno = os_errno, .code = code };
	snprintf(failure->text, sizeof(failure->text), "%s%s: %s", len < room ? "" : "...", shown, why);
	return code;
}

/* ---- ELF ---- */

static const char *machine_name(unsigned machine, char out[32])
{
	static const struct {
		unsigned machine;
		const char *name; /* as uname -m says it */
	} table[] = {
		{ EM_X86_64, "x86_64" },   { EM_AARCH64, "aarch64" },
		{ EM_386, "i386" },        { EM_ARM, "arm" },
		{ EM_RISCV, "riscv" },     { EM_PPC64, "ppc64" },
		{ EM_S390, "s390x" },      { EM_MIPS, "mips" },
		{ EM_PPC, "ppc" },         { EM_LOONGARCH, "loongarch64" },
		{ EM_SPARCV9, "sparc64" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].machine == machine)
			return table[i].name;
	}
	snprintf(out, 32, "ELF machine %u", machine);
	return out;
}

/* The loader that a program needs (PT_INTERP). false: none, or another word size. */
static bool loader_of(int fd, const Elf64_Ehdr *elf, char out[PATH_MAX])
{
	Elf64_Phdr part;

	if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_phentsize != sizeof(part))
		return false;
	for (int i = 0; i < elf->e_phnum && i < 64; i++) {
		off_t at = (off_t)(elf->e_phoff + (size_t)i * sizeof(part));

		if (pread(fd, &part, sizeof(part), at) != sizeof(part))
			return false;
		if (part.p_type != PT_INTERP)
			continue;
		if (part.p_filesz == 0 || part.p_filesz >= PATH_MAX ||
		    pread(fd, out, part.p_filesz, (off_t)part.p_offset) != (ssize_t)part.p_filesz)
			return false;
		out[part.p_filesz] = '\0';
		return true;
	}
	return false;
}

static int diagnose_elf(int fd, const char *path, const Elf64_Ehdr *elf, int os_errno,
			struct mor_exec_failure *failure)
{
	/* At the same place in both word sizes, but the byte order may differ. */
	const unsigned char *two = (const unsigned char *)&elf->e_machine;
	bool little = elf->e_ident[EI_DATA] != ELFDATA2MSB;
	unsigned machine = little ? two[0] | two[1] << 8 : two[0] << 8 | two[1];
	char other[32], loader[PATH_MAX];
	const char *name = machine_name(machine, other);
	struct utsname here;

	uname(&here);
	if (loader_of(fd, elf, loader) && access(loader, X_OK) < 0 && os_errno == ENOENT)
		return mor_exec_fail(failure, MOR_STEP_EXEC, os_errno, MORTISE_EEXEC, path,
				     "its loader %.80s is missing: built for another C library or system",
				     loader);
	if (strncmp(name, here.machine, strlen(name)) != 0)
		return mor_exec_fail(failure, MOR_STEP_EXEC, os_errno, MORTISE_EEXEC, path,
				     "built for %s, this machine is %s", name, here.machine);
	return mor_exec_fail(failure, MOR_STEP_EXEC, os_errno, MORTISE_EEXEC, path,
			     "damaged or unusable ELF file: %s", strerrordesc_np(os_errno));
}

/* ---- a command line in one word ---- */

/* Where the typed words begin: a relative command has the plugin's directory before it, which may have blanks
 * itself. */
static const char *after_directory(const char *path)
{
	const char *words = path;
	char dir[PATH_MAX];
	struct stat st;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path + 1), path);
		if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
			words = slash + 1;
	}
	return words;
}

const char *mor_program_list_hint(const char *path, char out[static MOR_LIST_HINT])
{
	const char *word = after_directory(path), *end = strchr(word, ' ');
	char first[PATH_MAX];
	int len;

	out[0] = '\0';
	/* Quotes would need the rules of a shell. */
	if (!end || end == word || strpbrk(word, "\"'\\"))
		return out;
	snprintf(first, sizeof(first), "%.*s", (int)(end - path), path);
	len = snprintf(out, MOR_LIST_HINT, "; write a list: [\"%.*s\"",
		       access(first, F_OK) == 0 ? (int)(end - path) : (int)(end - word),
		       access(first, F_OK) == 0 ? path : word);
	while (*(word = end + strspn(end, " ")) && len < MOR_LIST_HINT) {
		end = word + strcspn(word, " ");
		len += snprintf(out + len, (size_t)(MOR_LIST_HINT - len), ", \"%.*s\"", (int)(end - word),
				word);
	}
	if (len < MOR_LIST_HINT)
		len += snprintf(out + len, (size_t)(MOR_LIST_HINT - len), "]");
	if (len >= MOR_LIST_HINT)
		out[0] = '\0';
	return out;
}

/* ---- why exec failed ---- */

static int refuse_exec(struct mor_exec_failure *failure, int os_errno, const char *path, const char *why)
{
	bool absent = os_errno == ENOENT || os_errno == ENOTDIR;

	return mor_exec_fail(failure, MOR_STEP_EXEC, os_errno, absent ? MORTISE_ENOTFOUND : MORTISE_EEXEC, path,
			     "%s", why);
}

/* The file exists and is executable, but exec does not know its format. */
static int diagnose_content(const char *path, int os_errno, struct mor_exec_failure *failure)
{
	union {
		Elf64_Ehdr elf;
		char text[sizeof(Elf64_Ehdr)];
	} head = { .text = "" };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
	ssize_t n = fd < 0 ? -1 : pread(fd, &head, sizeof(head), 0);

	if (n >= 20 && memcmp(head.text, ELFMAG, SELFMAG) == 0)
		r = diagnose_elf(fd, path, &head.elf, os_errno, failure);
	else if (os_errno != ENOEXEC)
		r = mor_exec_fail(failure, MOR_STEP_EXEC, os_errno, MORTISE_EEXEC, path, "%s",
				  strerrordesc_np(os_errno));
	else if (n == 0)
		r = refuse_exec(failure, os_errno, path, "is empty");
	else if (n >= 2 && memcmp(head.text, "MZ", 2) == 0)
		r = refuse_exec(failure, os_errno, path, "is a Windows program");
	else
		r = refuse_exec(failure, os_errno, path,
				"is no program, and its first line names no interpreter (#!/usr/bin/env ...)");
	mor_fd_close(&fd);
	return r;
}

static int diagnose_access(const char *path, mode_t mode, int os_errno, struct mor_exec_failure *failure)
{
	struct statvfs fs;
	unsigned bits = mode & 07777;

	if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOEXEC))
		return refuse_exec(failure, os_errno, path, "is on a file system mounted noexec");
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0)
		return mor_exec_fail(failure, MOR_STEP_EXEC, os_errno, MORTISE_EEXEC, path,
				     "not executable (mode %04o): chmod +x it", bits);
	return mor_exec_fail(failure, MOR_STEP_EXEC, os_errno, MORTISE_EEXEC, path,
			     "permission denied (mode %04o)", bits);
}

int mor_exec_diagnose(const struct mor_command *command, const char *path, int os_errno,
		      struct mor_exec_failure *failure)
{
	char seen[PATH_MAX], hint[MOR_LIST_HINT];
	struct stat st;

	if (!mor_program_seen_from(command, path, seen))
		return refuse_exec(failure, ENAMETOOLONG, path, "name is too long");
	if (mor_errno_is_lack(os_errno)) /* not the fault of the file */
		return mor_exec_fail(failure, MOR_STEP_EXEC, os_errno, MORTISE_ESYSTEM, path,
				     "cannot start a process: %s", strerrordesc_np(os_errno));
	if (stat(seen, &st) < 0 && errno == ENOENT)
		return mor_exec_fail(failure, MOR_STEP_EXEC, ENOENT, MORTISE_ENOTFOUND, seen, "no such file%s",
				     mor_program_list_hint(seen, hint));
	if (stat(seen, &st) < 0)
		return refuse_exec(failure, errno, seen, strerrordesc_np(errno));
	if (S_ISDIR(st.st_mode))
		return refuse_exec(failure, EISDIR, seen, "is a directory");
	if (!S_ISREG(st.st_mode))
		return refuse_exec(failure, os_errno, seen, "is not a regular file");
	if (os_errno == EACCES)
		return diagnose_access(seen, st.st_mode, os_errno, failure);
	if (os_errno == ETXTBSY)
		return refuse_exec(failure, os_errno, seen, "is being written to by another process");
	if (os_errno == E2BIG)
		return refuse_exec(failure, os_errno, seen, "its arguments and environment are too long");
	return diagnose_content(seen, os_errno, failure);
}

int mor_exec_foresee(const struct mor_command *command, const char *path, struct mor_exec_failure *failure)
{
	char seen[PATH_MAX];
	struct stat st;

	if (!mor_program_seen_from(command, path, seen))
		return refuse_exec(failure, ENAMETOOLONG, path, "name is too long");
	if (stat(seen, &st) < 0 || !S_ISREG(st.st_mode) || faccessat(AT_FDCWD, seen, X_OK, AT_EACCESS) < 0)
		return mor_exec_diagnose(command, path, EACCES, failure);
	return 0;
}
