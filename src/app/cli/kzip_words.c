/* SPDX-License-Identifier: Apache-2.0 */
/* The words of mortise kzip: its options, and its entry. */
#include <stddef.h>

#include "cli/inside.h"

#define FIELD(name) offsetof(struct kzip_args, name)
static const struct mor_option kzip_options[] = {
	{ "output", 'o', "FILE", "create, merge: the archive to write; -: stdout", MOR_OPT_TEXT, FIELD(output),
	  NULL },
	{ "compile-commands", 0, "FILE", "create: a unit for every command in this compile_commands.json",
	  MOR_OPT_TEXT, FIELD(compile_commands), NULL },
	{ "source", 0, "FILE", "create: a source file; may be repeated", MOR_OPT_LIST, FIELD(sources), NULL },
	{ "input", 0, "FILE", "create: another file that it needs; may be repeated", MOR_OPT_LIST,
	  FIELD(inputs), NULL },
	{ "language", 0, "LANGUAGE", "create: language of the unit; default: by the source's name",
	  MOR_OPT_TEXT, FIELD(language), NULL },
	{ "corpus", 0, "CORPUS", "create: corpus of the unit and its files", MOR_OPT_TEXT, FIELD(corpus),
	  NULL },
	{ "vnames", 0, "FILE", "create: rules that name files (vnames.json)", MOR_OPT_TEXT, FIELD(vnames),
	  NULL },
	{ "encoding", 0, "ENCODING", "create, merge: json, proto (default) or all", MOR_OPT_TEXT,
	  FIELD(encoding), "json|proto|all|JSON|PROTO|ALL" },
	{ "jobs", 'j', "N", "create: compilers to ask at a time; default: one per processor", MOR_OPT_UINT,
	  FIELD(jobs), NULL },
	{ "verify", 0, NULL, "info: read every file and check its digest", MOR_OPT_FLAG, FIELD(verify), NULL },
	{ "unit", 0, "DIGEST", "cat: this unit, or a PATH of this unit", MOR_OPT_TEXT, FIELD(unit), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", kzip_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

const struct mor_cli_command mor_cli_command_kzip = {
	.row = MOR_CLI_ROW(kzip),
	.usage = "kzip create -o OUT.kzip --compile-commands FILE [OPTION…]\n"
		 "kzip create -o OUT.kzip [OPTION…] -- COMPILER ARG…\n"
		 "kzip create -o OUT.kzip --source FILE… [--input FILE…] [OPTION…] [-- COMPILER ARG…]\n"
		 "kzip info FILE.kzip [--verify]\n"
		 "kzip cat FILE.kzip DIGEST|PATH\n"
		 "kzip cat FILE.kzip --unit DIGEST [PATH]\n"
		 "kzip merge -o OUT.kzip FILE.kzip…",
	.words = "create|info|cat|merge",
	.description =
		"A kzip holds compilations for Kythe: each with its command and every file that it reads. "
		"create asks the\n"
		"compiler for these files (-M), with system headers; with --source it takes the named files "
		"and\n"
		"runs nothing. The archive depends only on its content: the same files give the same bytes.\n"
		"A command that cannot be recorded is reported on stderr, and the others go on; the exit code "
		"is then 1.",
	.examples = "mortise kzip create -o project.kzip --corpus example.org/project --compile-commands "
		    "build/compile_commands.json\n"
		    "mortise kzip create -o a.kzip -- cc -Iinclude -c src/a.c\n"
		    "mortise kzip create -o m.kzip --language go --source main.go --input fmt.a -- compile "
		    "main.go\n"
		    "mortise kzip info project.kzip\n"
		    "mortise kzip cat project.kzip src/a.c\n"
		    "mortise kzip merge -o all.kzip a.kzip b.kzip",
	.options = groups,
	MOR_CLI_ARGS(kzip_args),
};
