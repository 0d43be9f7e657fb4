/* SPDX-License-Identifier: Apache-2.0 */
/* kythe-clang: a Kythe analyzer for C, on libclang. */
#include "index.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- arguments: of the compiler's, those that change what the source means ---- */

struct flag {
	const char *name;
	enum { ALONE, WITH_VALUE, JOINED, EITHER } form; /* EITHER: "-I dir" and "-Idir" */
};

/* clang-format off */
static const struct flag kept[] = {
	{ "-I", EITHER },         { "-D", EITHER },          { "-U", EITHER },         { "-isystem", EITHER },
	{ "-iquote", EITHER },    { "-idirafter", EITHER },  { "-include", WITH_VALUE }, { "-imacros",
	WITH_VALUE },
	{ "-isysroot", WITH_VALUE }, { "--sysroot=", JOINED }, { "-std=", JOINED },    { "-x", EITHER },
	{ "-nostdinc", ALONE },   { "-ansi", ALONE },        { "-m32", ALONE },        { "-m64", ALONE },
	{ "-pthread", ALONE },    { "-fshort-enums", ALONE }, { "-funsigned-char", ALONE }, { "-fsigned-char",
	ALONE },
	{ "-fms-extensions", ALONE }, { "-fopenmp", ALONE }, { "-fgnu89-inline", ALONE }, { "-ffreestanding",
	ALONE },
	{ "-O", JOINED },         { "--target=", JOINED },   { "-target", WITH_VALUE }, { "-resource-dir",
	WITH_VALUE },
};
/* clang-format on */

/* Warnings are the build's business; errors are ours. Headers that were generated show their metadata to Kythe
 * alone. And clang need not search the whole PATH for CUDA and ROCm, which no C needs: each name that it does
 * not find would be dropped again with the view. */
static const char *const added[] = { "-Wno-everything", "-DKYTHE_IS_RUNNING=1", "--cuda-path=/nonexistent",
				     "--rocm-path=/nonexistent" };

#define EXTRA (sizeof(added) / sizeof(*added) + 3)

/* Clang asks for GCC's directories by the names of three dozen vendors. Only what C++ has there
 * matters to us. */
static bool wants_gcc(const tenon_unit *unit, const char *source)
{
	const char *dot = strrchr(source, '.');

	for (size_t i = 1; i < unit->argument_count; i++)
		if (strncmp(unit->arguments[i], "-x", 2) == 0 ||
		    strncmp(unit->arguments[i], "--gcc-toolchain", 15) == 0)
			return true;
	return !dot || strcmp(dot, ".c") != 0;
}

/* How many arguments from args[0] on are kept; 0: none. */
static size_t keeps(const char *const *args)
{
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
		size_t len = strlen(kept[i].name);
		bool whole = strcmp(args[0], kept[i].name) == 0;

		if (strncmp(args[0], kept[i].name, len) != 0)
			continue;
		if (whole && (kept[i].form == WITH_VALUE || kept[i].form == EITHER))
			return args[1] ? 2 : 0;
		if (whole || kept[i].form == JOINED || kept[i].form == EITHER)
			return 1;
	}
	return 0;
}

/* stddef.h and its like come with the compiler, and those of the record are another compiler's. Debian's
 * libclang looks for its own below /usr/include, which is a record's to fill and closed in a jail; they lie in
 * /usr/lib as well. NULL: not here. */
static const char *own_headers(void)
{
	/* "14.0.6" until 15, "19" since 16 */
	static const char *const digits[] = { "0123456789.", "0123456789" };
	static char dir[96];
	CXString version = clang_getClangVersion();
	const char *number = strstr(clang_getCString(version), "version ");
	const char *found = NULL;

	for (size_t i = 0; number && !found && i < sizeof(digits) / sizeof(*digits); i++) {
		char header[sizeof(dir) + 32];

		snprintf(dir, sizeof(dir), LLVM_AT "/lib/clang/%.*s", (int)strspn(number + 8, digits[i]),
			 number + 8);
		snprintf(header, sizeof(header), "%s/include/stddef.h", dir);
		if (access(header, R_OK) == 0)
			found = dir;
	}
	clang_disposeString(version);
	return found;
}

/* The list points into the unit; returns how many. It has room for EXTRA more than the unit has. */
static int choose_arguments(const tenon_unit *unit, const char *headers, const char *source, const char **ret)
{
	int count = 0;

	if (!wants_gcc(unit, source))
		ret[count++] = "--gcc-toolchain=/nonexistent";
	if (headers) { /* first: the record's word is the last */
		ret[count++] = "-resource-dir";
		ret[count++] = headers;
	}
	for (size_t i = 1; i < unit->argument_count;) {
		size_t take = keeps(unit->arguments + i);

		for (size_t k = 0; k < take; k++)
			ret[count++] = unit->arguments[i + k];
		i += take ? take : 1;
	}
	for (size_t i = 0; i < sizeof(added) / sizeof(*added); i++)
		ret[count++] = added[i];
	return count;
}

/* ---- diagnostics ---- */

static void report(tenon_analyzer *a, CXDiagnostic diagnostic)
{
	CXString text = clang_getDiagnosticSpelling(diagnostic), name = { 0 };
	CXFile file = NULL;
	unsigned line = 0, column = 0;

	clang_getFileLocation(clang_getDiagnosticLocation(diagnostic), &file, &line, &column, NULL);
	if (file)
		name = clang_getFileName(file);
	tenon_diagnose(a, file ? clang_getCString(name) : NULL, line, column, "%s", clang_getCString(text));
	if (file)
		clang_disposeString(name);
	clang_disposeString(text);
}

static void report_all(tenon_analyzer *a, CXTranslationUnit tu)
{
	unsigned count = clang_getNumDiagnostics(tu);

	for (unsigned i = 0; i < count; i++) {
		CXDiagnostic diagnostic = clang_getDiagnostic(tu, i);

		if (clang_getDiagnosticSeverity(diagnostic) >= CXDiagnostic_Error)
			report(a, diagnostic);
		clang_disposeDiagnostic(diagnostic);
	}
}

/* ---- languages ---- */

/* Of sources that are not C, by -x or by their name. */
static const struct {
	const char *mark, *language;
	/* clang-format off */
} others[] = {
	{ "c++", "C++" }, { "objective-c", "Objective-C" }, { "cuda", "CUDA" }, { "hip", "HIP" }, { "cl",
	"OpenCL" },
	{ ".cc", "C++" }, { ".cp", "C++" }, { ".cxx", "C++" }, { ".cpp", "C++" }, { ".CPP", "C++" }, { ".c++",
	"C++" }, { ".C", "C++" },
	{ ".hh", "C++" }, { ".hpp", "C++" }, { ".hxx", "C++" }, { ".h++", "C++" }, { ".H", "C++" }, { ".ii",
	"C++" },
	{ ".m", "Objective-C" }, { ".mi", "Objective-C" }, { ".mm", "Objective-C++" }, { ".M",
	"Objective-C++" },
	{ ".cu", "CUDA" }, { ".cl", "OpenCL" },
};
/* clang-format on */

/* -x LANGUAGE or -xLANGUAGE, the last one; NULL: it goes by the name. */
static const char *forced_language(const tenon_unit *unit)
{
	const char *found = NULL;

	for (size_t i = 1; i < unit->argument_count; i++)
		if (strcmp(unit->arguments[i], "-x") == 0 && i + 1 < unit->argument_count)
			found = unit->arguments[i + 1];
		else if (strncmp(unit->arguments[i], "-x", 2) == 0 && unit->arguments[i][2])
			found = unit->arguments[i] + 2;
	return found && strcmp(found, "none") != 0 ? found : NULL;
}

/* g++ takes a .c file for C++. */
static bool is_cxx_compiler(const tenon_unit *unit)
{
	const char *name = unit->argument_count ? unit->arguments[0] : "", *slash = strrchr(name, '/');

	return strstr(slash ? slash : name, "++") != NULL;
}

/* NULL: it is C, as far as can be told. */
static const char *foreign_language(const tenon_unit *unit, const char *source)
{
	const char *forced = forced_language(unit), *dot = strrchr(source, '.');

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		bool by_name = others[i].mark[0] == '.';

		if (forced ? !by_name && strncmp(forced, others[i].mark, strlen(others[i].mark)) == 0 :
			     by_name && dot && strcmp(dot, others[i].mark) == 0)
			return others[i].language;
	}
	return !forced && is_cxx_compiler(unit) ? "C++" : NULL;
}

/* ---- units ---- */

static int index_source(tenon_analyzer *a, const tenon_unit *unit, CXIndex clang, const char *headers,
			const char *source)
{
	const char **arguments = calloc(unit->argument_count + EXTRA, sizeof(*arguments));
	struct index ix = { .analyzer = a, .unit = unit };
	enum CXErrorCode code;
	int count;

	if (!arguments)
		return -1;
	count = choose_arguments(unit, headers, source, arguments);
	code = clang_parseTranslationUnit2(clang, source, arguments, count, NULL, 0,
					   CXTranslationUnit_DetailedPreprocessingRecord |
						   CXTranslationUnit_KeepGoing,
					   &ix.tu);
	free(arguments);
	if (code != CXError_Success) {
		/* A source that cannot even be read is the record's fault, not ours: say so, the
		 * analysis is complete. */
		tenon_diagnose(a, source, 0, 0, "libclang cannot parse it (error %d)", (int)code);
		return 0;
	}
	report_all(a, ix.tu);
	walk_unit(&ix);
	clang_disposeTranslationUnit(ix.tu);
	index_fini(&ix);
	return 0;
}

static int analyze(tenon_analyzer *a, const tenon_unit *unit, void *arg)
{
	CXIndex clang = clang_createIndex(0, 0);
	const char *headers = arg;
	int r = 0;

	/* Half of the truth would look like all of it: a unit in another language fails, and says why. */
	for (size_t i = 0; i < unit->input_count; i++) {
		const char *language = foreign_language(unit, unit->inputs[i]);

		if (!language)
			continue;
		fprintf(stderr, "kythe-clang: %s is %s: only C is indexed\n", unit->inputs[i], language);
		clang_disposeIndex(clang);
		return -1;
	}
	for (size_t i = 0; r == 0 && i < unit->input_count; i++)
		r = index_source(a, unit, clang, headers, unit->inputs[i]);
	clang_disposeIndex(clang);
	return r;
}

/* ---- the process ---- */

static void *work(void *result)
{
	static const tenon_analysis analyses[] = {
		{ "/kythe/index/c", analyze },
		{ "/kythe/index/c++", analyze },
		{ 0 },
	};

	*(int *)result = tenon_run(&(tenon_plugin){
		.name = "kythe-clang",
		.version = KYTHE_CLANG_VERSION,
		.description = "Indexes C for Kythe, with libclang",
		.analyses = analyses,
		.arg = (void *)own_headers(),
	});
	return NULL;
}

/* Both clang and we recurse into expressions: a sum of 100,000 terms, as generators write them, needs more than
 * the usual 8 MiB. Address space alone: what is not used is not there. */
static int work_on_big_stack(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int result = 1;

	setenv("LIBCLANG_NOTHREADS", "1", 1); /* else it parses on a small stack of its own */
	pthread_attr_init(&attr);
	for (size_t size = (size_t)2 << 30; size > (size_t)8 << 20; size /= 2) {
		if (pthread_attr_setstacksize(&attr, size) != 0 ||
		    pthread_create(&thread, &attr, work, &result) != 0)
			continue;
		pthread_attr_destroy(&attr);
		pthread_join(thread, NULL);
		return result;
	}
	pthread_attr_destroy(&attr);
	work(&result);
	return result;
}

int main(void)
{
	return work_on_big_stack();
}
