/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#include "base/error.h"
#include "proc/run.h"
#include "program/inside.h"
#include "tmp.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* ---- a directory to try things in ---- */

static char dir[TMP_ROOM];

static const char *in_dir(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, mode_t mode, const void *bytes, size_t len)
{
	const char *path = in_dir(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void put_text(const char *name, mode_t mode, const char *text)
{
	put(name, mode, text, strlen(text));
}

static int enter(void **state)
{
	tmp_name(dir, "resolve");
	return mkdtemp(dir) ? leak_setup(state) : -1;
}

static int leave(void **state)
{
	static const char *const names[] = { "plain",    "a.py",     "a.js", "a.mjs",
					     "sub/node", "sub/tool", "sub",  "a b" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove(in_dir(names[i]));
	if (rmdir(dir) < 0)
		return -1;
	return leak_teardown(state);
}

/* ---- what is said ---- */

/* Starting it must fail with this code and exactly this text behind the name. */
static void check_refused(const struct mor_command *command, int code, const char *name, const char *text)
{
	struct mor_exec_failure failure = { 0 };
	struct run run = { 0 };
	char want[320];

	assert_int_equal(mor_loop_new(0, &run.loop), 0);
	if (run_try(&run, command, &failure) ==
	    0) { /* what only exec can tell comes later, in the same words */
		assert_false(run_direct());
		run.free_at = 'f';
		run_until(&run, 'f');
		assert_string_equal(run.journal, "f");
		failure = run.failure;
	}
	assert_int_equal(failure.code, code);
	assert_true(failure.os_errno > 0);
	snprintf(want, sizeof(want), "%s: %s", name, text);
	assert_string_equal(failure.text, want);
	assert_null(run.proc);
	mor_loop_free(run.loop);
}

static void refused(const char *name, int code, const char *text)
{
	char path[256];
	const char *argv[] = { path, NULL };

	snprintf(path, sizeof(path), "%s", in_dir(name));
	check_refused(&(struct mor_command){ .argv = argv }, code, path, text);
}

static void test_absent(void **state)
{
	(void)state;
	refused("plain", MORTISE_ENOTFOUND, "no such file");
	refused("a.py", MORTISE_ENOTFOUND, "no such file");
	put_text("plain", 0755, "x");
	refused("plain/x", MORTISE_ENOTFOUND, "Not a directory");
}

/* The whole command line in one string. */
static void test_absent_with_arguments(void **state)
{
	char own[400];

	(void)state;
	refused("python3 -u ./x.py", MORTISE_ENOTFOUND,
		"no such file; write a list: [\"python3\", \"-u\", \"./x.py\"]");
	refused("x 'a b'", MORTISE_ENOTFOUND, "no such file");
	put_text("plain", 0755, "x");
	snprintf(own, sizeof(own), "no such file; write a list: [\"%s\", \"-v\"]", in_dir("plain"));
	refused("plain  -v", MORTISE_ENOTFOUND, own);
	assert_int_equal(mkdir(in_dir("a b"), 0755), 0);
	refused("a b/gone -v", MORTISE_ENOTFOUND, "no such file; write a list: [\"gone\", \"-v\"]");
}

static void test_directory(void **state)
{
	(void)state;
	assert_int_equal(mkdir(in_dir("sub"), 0755), 0);
	refused("sub", MORTISE_EEXEC, "is a directory");
}

static void test_not_executable(void **state)
{
	(void)state;
	put_text("plain", 0644, "#!/bin/sh\n");
	refused("plain", MORTISE_EEXEC, "not executable (mode 0644): chmod +x it");
}

static void test_no_shebang(void **state)
{
	(void)state;
	put_text("plain", 0755, "echo hello\n");
	refused("plain", MORTISE_EEXEC,
		"is no program, and its first line names no interpreter (#!/usr/bin/env ...)");
	put_text("plain", 0755, "");
	refused("plain", MORTISE_EEXEC, "is empty");
	put_text("plain", 0755, "MZ\x90");
	refused("plain", MORTISE_EEXEC, "is a Windows program");
}

static void test_carriage_return(void **state)
{
	(void)state;
	put_text("plain", 0755, "#!/usr/bin/env python3\r\nprint()\r\n");
	refused("plain", MORTISE_EEXEC,
		"its first line ends in a carriage return (Windows line ends), so \"python3\\r\" is looked "
		"for: "
		"sed -i 's/\\r$//' it");
	put_text("plain", 0755, "#!/bin/sh\r\n");
	refused("plain", MORTISE_EEXEC,
		"its first line ends in a carriage return (Windows line ends), so \"/bin/sh\\r\" is looked "
		"for: "
		"sed -i 's/\\r$//' it");
}

static void test_missing_interpreter(void **state)
{
	(void)state;
	put_text("plain", 0755, "#! /no/such/thing -x\n");
	refused("plain", MORTISE_EEXEC,
		"its interpreter /no/such/thing (named in its first line) does not exist or is not executable");
	put_text("plain", 0755, "#!/usr/bin/env no-such-thing\n");
	refused("plain", MORTISE_EEXEC,
		"its interpreter no-such-thing (named in its first line) is not in PATH");
	put_text("plain", 0755, "#!/usr/bin/env sh -e\n");
	refused("plain", MORTISE_EEXEC,
		"its first line makes env look for a program called \"sh -e\": write env -S");
	put_text("plain", 0755, "#!/no/\033[2Jclear");
	refused("plain", MORTISE_EEXEC,
		"its interpreter /no/\\x1b[2Jclear (named in its first line) does not exist or is not "
		"executable");
}

/* ---- ELF ---- */

struct tiny {
	Elf64_Ehdr head;
	Elf64_Phdr part;
	char loader[24];
};

static struct tiny tiny_elf(unsigned machine)
{
	struct tiny tiny = {
		.head = { .e_type = ET_EXEC,
			  .e_version = EV_CURRENT,
			  .e_phoff = offsetof(struct tiny, part),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1 },
		.part = { .p_type = PT_INTERP, .p_offset = offsetof(struct tiny, loader), .p_filesz = 16 },
		.loader = "/lib/no-such.so",
	};

	memcpy(tiny.head.e_ident, ELFMAG, SELFMAG);
	tiny.head.e_ident[EI_CLASS] = ELFCLASS64;
	tiny.head.e_ident[EI_DATA] = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	tiny.head.e_ident[EI_VERSION] = EV_CURRENT;
	tiny.head.e_machine = (Elf64_Half)machine;
	return tiny;
}

static unsigned our_machine(void)
{
	Elf64_Ehdr head;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, &head, sizeof(head)), sizeof(head));
	close(fd);
	return head.e_machine;
}

static void test_other_machine(void **state)
{
	struct tiny tiny = tiny_elf(our_machine() == EM_AARCH64 ? EM_X86_64 : EM_AARCH64);
	struct utsname here;
	char text[128];

	(void)state;
	uname(&here);
	put("plain", 0755, &tiny, sizeof(tiny));
	snprintf(text, sizeof(text), "built for %s, this machine is %s",
		 tiny.head.e_machine == EM_AARCH64 ? "aarch64" : "x86_64", here.machine);
	refused("plain", MORTISE_EEXEC, text);
	tiny = tiny_elf(0x7abc);
	put("plain", 0755, &tiny, sizeof(tiny));
	snprintf(text, sizeof(text), "built for ELF machine 31420, this machine is %s", here.machine);
	refused("plain", MORTISE_EEXEC, text);
}

static void test_missing_loader(void **state)
{
	struct tiny tiny = tiny_elf(our_machine());

	(void)state;
	put("plain", 0755, &tiny, sizeof(tiny));
	refused("plain", MORTISE_EEXEC,
		"its loader /lib/no-such.so is missing: built for another C library or system");
	tiny.head.e_phnum = 0;
	put("plain", 0755, &tiny, sizeof(tiny));
	refused("plain", MORTISE_EEXEC, "damaged or unusable ELF file: Exec format error");
}

/* A loader that cannot be read out of a damaged file is not reported as missing. */
static void test_damaged_elf(void **state)
{
	static const char *const text = "damaged or unusable ELF file: Exec format error";
	struct tiny tiny = tiny_elf(our_machine());

	(void)state;
	tiny.head.e_phentsize = 1;
	put("plain", 0755, &tiny, sizeof(tiny));
	refused("plain", MORTISE_EEXEC, text);
	tiny = tiny_elf(our_machine());
	tiny.head.e_phnum = 2; /* the second lies behind the end */
	tiny.part.p_type = PT_NOTE;
	put("plain", 0755, &tiny, offsetof(struct tiny, loader));
	refused("plain", MORTISE_EEXEC, text);
	tiny = tiny_elf(our_machine());
	tiny.part.p_filesz = 0;
	put("plain", 0755, &tiny, sizeof(tiny));
	refused("plain", MORTISE_EEXEC, text);
}

/* ---- what exec may say, however it comes to say it ---- */

static void diagnosed(const char *path, int error, int code, const char *text)
{
	struct mor_command command = { .argv = (const char *const[]){ path, NULL } };
	struct mor_exec_failure failure = { 0 };

	assert_int_equal(mor_exec_diagnose(&command, path, error, &failure), code);
	assert_int_equal(failure.code, code);
	if (!strstr(failure.text, text))
		fail_msg("\"%s\" is not in \"%s\"", text, failure.text);
}

static void test_diagnoses(void **state)
{
	struct statvfs fs;

	(void)state;
	put_text("plain", 0755, "#!/bin/sh\n");
	diagnosed("/dev/null", EACCES, MORTISE_EEXEC, "/dev/null: is not a regular file");
	if (statvfs("/proc/version", &fs) == 0 && (fs.f_flag & ST_NOEXEC)) /* as it mostly is */
		diagnosed("/proc/version", EACCES, MORTISE_EEXEC,
			  "/proc/version: is on a file system mounted noexec");
	diagnosed(in_dir("plain"), EACCES, MORTISE_EEXEC, "plain: permission denied (mode 0755)");
	diagnosed(in_dir("plain"), ETXTBSY, MORTISE_EEXEC, "plain: is being written to by another process");
	diagnosed(in_dir("plain"), EIO, MORTISE_EEXEC, "plain: Input/output error");
}

static void test_long_name_below_a_directory(void **state)
{
	static char name[PATH_MAX];
	struct mor_command command = { .argv = (const char *const[]){ name, NULL }, .cwd = dir };
	struct mor_exec_failure failure;
	char **argv = NULL;

	(void)state;
	memset(name, 'x', sizeof(name) - 3);
	memcpy(name, "./", 2);
	assert_int_equal(mor_program_resolve(&command, &argv, &failure), MORTISE_ENOTFOUND);
	assert_non_null(strstr(failure.text, "xxx: name is too long"));
	assert_int_equal(mor_exec_diagnose(&command, name, ENOENT, &failure), MORTISE_EEXEC);
	assert_non_null(strstr(failure.text, "xxx: name is too long"));
	assert_int_equal(mor_exec_foresee(&command, name, &failure), MORTISE_EEXEC);
	assert_non_null(strstr(failure.text, "xxx: name is too long"));
}

static void test_first_lines(void **state)
{
	struct mor_shebang line;

	(void)state;
	put_text("plain", 0755, "#!  /bin/sh   -e -x \t \nexit\n");
	assert_true(mor_shebang_read(in_dir("plain"), &line));
	assert_string_equal(line.interpreter, "/bin/sh");
	assert_string_equal(line.argument, "-e -x");
	put_text("plain", 0755, "#! \t \nexit\n");
	assert_false(mor_shebang_read(in_dir("plain"), &line));
	assert_false(mor_shebang_read(dir, &line));
}

/* The interpreter would find out, and say so in its own words. As root, everything can be read. */
static void test_source_not_readable(void **state)
{
	struct mor_command command = { .argv = LIST("./a.py"), .cwd = dir };
	struct mor_exec_failure failure = { 0 };
	bool root = geteuid() == 0;
	char **argv = NULL;
	int r;

	(void)state;
	put_text("a.py", 0600, "");
	assert_int_equal(chmod(dir, 0755), 0);
	if (root)
		assert_int_equal(seteuid(65534), 0);
	else
		assert_int_equal(chmod(in_dir("a.py"), 0200), 0);
	r = mor_program_resolve(&command, &argv, &failure);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(r, MORTISE_EEXEC);
	assert_non_null(strstr(failure.text,
			       root ? "a.py: not readable (mode 0600)" : "a.py: not readable (mode 0200)"));
}

/* ---- what is run ---- */

/* Resolves and compares with the wanted argv. */
static void check_argv(const struct mor_command *command, const char *const *want)
{
	struct mor_exec_failure failure = { 0 };
	char **argv = NULL;
	int i;

	if (mor_program_resolve(command, &argv, &failure) < 0)
		fail_msg("%s", failure.text);
	for (i = 0; want[i]; i++)
		assert_string_equal(argv[i], want[i]);
	assert_null(argv[i]);
	mor_program_argv_free(argv);
}

static void test_python_file(void **state)
{
	struct mor_command command = { .argv = LIST("./a.py", "x"), .cwd = dir };
	struct run run = { 0 };
	char out[64];

	(void)state;
	/* CRLF and not executable: both are no matter when the interpreter is ours to choose. */
	put_text("a.py", 0644, "#!/usr/bin/env python3\r\nimport sys\r\nprint('hi', sys.argv[1])\r\n");
	check_argv(&command, LIST("/usr/bin/python3", "-u", "./a.py", "x"));
	run_start(&run, &command);
	run_read_all(&run, out, sizeof(out));
	assert_string_equal(out, "hi x\n");
	run_end(&run);
}

static void test_python_of_its_own(void **state)
{
	char line[320], python[256];
	struct mor_command command = { .argv = LIST("./a.py"), .cwd = dir };

	(void)state;
	assert_int_equal(mkdir(in_dir("sub"), 0755), 0);
	put_text("sub/tool", 0755, "#!/bin/sh\n");
	snprintf(python, sizeof(python), "%s/sub/tool", dir);
	snprintf(line, sizeof(line), "#!%s\n", python);
	put_text("a.py", 0755, line);
	check_argv(&command, LIST("/usr/bin/python3", "-u", "./a.py")); /* not called python */
	put_text("a.py", 0755, "#!/bin/python-that-is-not-there\n");
	check_argv(&command, LIST("/usr/bin/python3", "-u", "./a.py"));
	if (access("/bin/python3", X_OK) == 0) {
		put_text("a.py", 0644, "#!/bin/python3 -E\n");
		check_argv(&command, LIST("/bin/python3", "-u", "./a.py"));
	}
}

static void test_node_file(void **state)
{
	char path[256], node[256], script[256];
	const char *env[] = { path, NULL };
	struct mor_command command = { .argv = LIST("./a.js", "y"), .env = env, .cwd = dir };

	(void)state;
	assert_int_equal(mkdir(in_dir("sub"), 0755), 0);
	put_text("a.js", 0644, "");
	put_text("a.mjs", 0644, "");
	snprintf(path, sizeof(path), "PATH=/no/where:%s/sub", dir);
	snprintf(node, sizeof(node), "%s/sub/node", dir);
	snprintf(script, sizeof(script), "%s/./a.js", dir);
	check_refused(&command, MORTISE_EEXEC, script, "needs node, which is not in PATH");
	put_text("sub/node", 0755, "#!/bin/sh\n");
	check_argv(&command, LIST(node, "./a.js", "y"));
	command.argv = LIST("./a.mjs");
	check_argv(&command, LIST(node, "./a.mjs"));
}

static void test_search_path(void **state)
{
	char path[128];
	const char *env[] = { path, NULL };
	struct mor_command command = { .argv = LIST("tool"), .env = env, .cwd = dir };
	struct mor_exec_failure failure = { 0 };
	char **argv = NULL;

	(void)state;
	assert_int_equal(mkdir(in_dir("sub"), 0755), 0);
	put_text("sub/tool", 0644, "#!/bin/sh\n");
	/* Relative entries count from the child's directory, and an empty one is that directory. */
	snprintf(path, sizeof(path), "PATH=/no/where::sub");
	assert_int_equal(mor_program_resolve(&command, &argv, &failure), MORTISE_EEXEC);
	assert_non_null(strstr(failure.text, "/sub/tool: not executable (mode 0644): chmod +x it"));
	put_text("sub/tool", 0755, "#!/bin/sh\n");
	check_argv(&command, LIST("sub/tool"));
	put_text("plain", 0755, "#!/bin/sh\n");
	command.argv = LIST("plain");
	check_argv(&command, LIST("./plain"));
	snprintf(path, sizeof(path), "PATH=/no/where");
	assert_int_equal(mor_program_resolve(&command, &argv, &failure), MORTISE_ENOTFOUND);
	assert_string_equal(failure.text,
			    "plain: not in PATH; to run the one in the working directory write ./plain");
	command.argv = LIST("no-such-thing");
	assert_int_equal(mor_program_resolve(&command, &argv, &failure), MORTISE_ENOTFOUND);
	assert_string_equal(failure.text, "no-such-thing: not found in PATH");
	command.argv = LIST("tool x.py");
	assert_int_equal(mor_program_resolve(&command, &argv, &failure), MORTISE_ENOTFOUND);
	assert_string_equal(failure.text, "tool x.py: not found in PATH; write a list: [\"tool\", \"x.py\"]");
	assert_null(argv);
}

static void test_python_by_name(void **state)
{
	const char *env[] = { "PATH=/no/where", NULL };
	struct mor_command command = { .argv = LIST("python", "x.py"), .env = env };

	(void)state;
	check_argv(&command, LIST("/usr/bin/python3", "x.py"));
}

static void test_env(void **state)
{
	const char *env[] = { "PATH=/usr/bin:/bin", NULL };
	struct mor_command command = { .argv = LIST("/usr/bin/env", "sh", "-c", "x"), .env = env };

	(void)state;
	check_argv(&command, LIST("/usr/bin/sh", "-c", "x"));
	command.argv = LIST("env", "sh");
	check_argv(&command, LIST("/usr/bin/sh"));
	/* It does more here, or is something else. */
	command.argv = LIST("/usr/bin/env", "-i", "sh");
	check_argv(&command, LIST("/usr/bin/env", "-i", "sh"));
	command.argv = LIST("/usr/bin/env", "A=b", "sh");
	check_argv(&command, LIST("/usr/bin/env", "A=b", "sh"));
	command.argv = LIST("env");
	check_argv(&command, LIST("/usr/bin/env"));
}

static void test_default_path(void **state)
{
	const char *env[] = { "A=b", NULL };
	struct mor_command command = { .argv = LIST("sh", "-c", "exit 0"), .env = env };

	(void)state;
	check_argv(&command, LIST("/usr/bin/sh", "-c", "exit 0"));
}

static void test_working_directory(void **state)
{
	struct mor_command command = { .argv = LIST("/bin/sh"), .cwd = "/no/such/place" };

	(void)state;
	check_refused(&command, MORTISE_ENOTFOUND, "/no/such/place",
		      "working directory: No such file or directory");
	command.cwd = "/etc/passwd";
	check_refused(&command, MORTISE_EEXEC, "/etc/passwd", "working directory: Not a directory");
}

static void test_nothing_named(void **state)
{
	struct mor_command command = { .argv = (const char *const[]){ NULL } };
	struct mor_exec_failure failure;
	char **argv = NULL;

	(void)state;
	assert_int_equal(mor_program_resolve(&command, &argv, NULL), MORTISE_ENOTFOUND);
	command.argv = LIST("");
	assert_int_equal(mor_program_resolve(&command, &argv, &failure), MORTISE_ENOTFOUND);
	assert_string_equal(failure.text, "command: no program is named");
}

static void test_long_name(void **state)
{
	static char name[PATH_MAX + 10];
	struct mor_command command = { .argv = (const char *const[]){ name, NULL } };
	struct mor_exec_failure failure;
	char **argv = NULL;

	(void)state;
	memset(name, 'x', PATH_MAX + 5);
	name[0] = '/';
	assert_int_equal(mor_program_resolve(&command, &argv, &failure), MORTISE_ENOTFOUND);
	assert_true(strlen(failure.text) < 200);
	assert_memory_equal(failure.text, "...xxx", 6);
	assert_non_null(strstr(failure.text, "xxx: name is too long"));
}

static void test_too_many_arguments(void **state)
{
	static char big[1 << 20];
	struct mor_command command = { .argv = (const char *const[]){ "/bin/sh", big, NULL } };

	(void)state;
	memset(big, 'a', sizeof(big) - 1);
	check_refused(&command, MORTISE_EEXEC, "/bin/sh", "its arguments and environment are too long");
}

/* Whatever the file is: it is not what was lacking. */
static void test_a_lack_is_not_the_files(void **state)
{
	static const int lacks[] = { EAGAIN, EMFILE, ENFILE, ENOMEM };
	const struct mor_command here = { 0 };
	struct mor_exec_failure failure;

	(void)state;
	for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks); i++) {
		assert_int_equal(mor_exec_diagnose(&here, "/bin/true", lacks[i], &failure), MORTISE_ESYSTEM);
		assert_int_equal(failure.os_errno, lacks[i]);
		assert_non_null(strstr(failure.text, "/bin/true: cannot start a process: "));
	}
}

#define IN_DIR(fn) cmocka_unit_test_setup_teardown(fn, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_DIR(test_absent),
		IN_DIR(test_directory),
		IN_DIR(test_absent_with_arguments),
		IN_DIR(test_not_executable),
		IN_DIR(test_no_shebang),
		IN_DIR(test_carriage_return),
		IN_DIR(test_missing_interpreter),
		IN_DIR(test_other_machine),
		IN_DIR(test_missing_loader),
		IN_DIR(test_python_file),
		IN_DIR(test_python_of_its_own),
		IN_DIR(test_node_file),
		IN_DIR(test_search_path),
		MOR_TEST(test_python_by_name),
		IN_DIR(test_damaged_elf),
		IN_DIR(test_diagnoses),
		IN_DIR(test_long_name_below_a_directory),
		IN_DIR(test_first_lines),
		IN_DIR(test_source_not_readable),
		MOR_TEST(test_default_path),
		MOR_TEST(test_env),
		MOR_TEST(test_working_directory),
		MOR_TEST(test_nothing_named),
		MOR_TEST(test_long_name),
		MOR_TEST(test_too_many_arguments),
		MOR_TEST(test_a_lack_is_not_the_files),
	};

	return mor_run_group("program/resolve", tests);
}
