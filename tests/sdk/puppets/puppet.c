/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the part in the file $PUPPET_PART with the C SDK (tests/sdk/README.md has the format). */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tenon/analyzer.h>
#include <tenon/tenon.h>

enum { LINES = 4096, SCRIPTS = 256, ROWS = 64, FIELDS = 16 };

/* One "on KIND NAME" with the lines below it; used up in order, the last one again and again. */
struct script {
	char *kind, *name;
	char **acts; /* NULL-terminated */
	int used;
};

static char *lines[LINES];
static struct script scripts[SCRIPTS];
static size_t script_count;
static tenon_plugin plugin = { .name = "puppet", .version = "1.0.0" };
static tenon_method methods[ROWS];
static tenon_command commands[ROWS], hooks[ROWS];
static tenon_field fields[ROWS][FIELDS];
static tenon_analysis analyses[ROWS];
static size_t field_tables;

/* Cuts the first word off and returns the rest. */
static char *rest_of(char *text)
{
	char *blank = strchr(text, ' ');

	if (!blank)
		return text + strlen(text);
	*blank = '\0';
	return blank + 1;
}

/* ---- JSON: the texts of a part have the escapes that Python writes ---- */

static char *put_utf8(char *to, unsigned code)
{
	if (code >= 0x80)
		*to++ = (char)(0xc0 | code >> 6); /* only control characters are escaped: below 0x800 */
	*to++ = (char)(code >= 0x80 ? 0x80 | (code & 0x3f) : code);
	return to;
}

/* A JSON string as a text; *ret_end: what follows it. */
static char *decode(const char *json, const char **ret_end)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	char *text = malloc(strlen(json) + 1), *at = text;
	unsigned code;

	for (json++; *json != '"'; json++) {
		const char *special;

		if (*json != '\\') {
			*at++ = *json;
		} else if (*++json == 'u') {
			sscanf(json + 1, "%4x", &code);
			at = put_utf8(at, code);
			json += 4;
		} else {
			special = strchr(from, *json);
			*at++ = special ? to[special - from] : *json;
		}
	}
	*at = '\0';
	if (ret_end)
		*ret_end = json + 1;
	return text;
}

/* A member of a flat object, as JSON text; NULL: none. */
static char *member(const char *object, const char *key)
{
	char wanted[80];
	const char *at, *end;

	snprintf(wanted, sizeof(wanted), "\"%s\":", key);
	at = strstr(object, wanted);
	if (!at)
		return NULL;
	at += strlen(wanted);
	if (*at == '"')
		return decode(at, NULL);
	end = at + (*at == '[' ? strcspn(at, "]") + 1 : strcspn(at, ",}"));
	return strndup(at, (size_t)(end - at));
}

/* ---- acts ---- */

static void wait_gate(const char *name)
{
	char path[64], byte;
	int fd;

	snprintf(path, sizeof(path), "gate.%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, &byte, 1) < 0)
		perror(path);
	close(fd);
}

static int answer(tenon_call *call, const char *json)
{
	char *text;
	int r;

	if (json[0] != '"')
		return tenon_reply_json(call, json, strlen(json));
	text = decode(json, NULL);
	r = tenon_reply_text(call, "%s", text);
	free(text);
	return r;
}

static int fail(tenon_call *call, char *words)
{
	char *more = rest_of(words), *message;
	const char *data;
	int r;

	message = decode(more, &data);
	data += strspn(data, " ");
	r = tenon_fail_data(call, atoll(words), message, *data ? data : NULL);
	free(message);
	return r;
}

/* 1: the call is over, with *result. */
static int act(tenon_call *call, char *word, char *rest, int *result)
{
	char *text = NULL;

	if (strcmp(word, "return") == 0 || strcmp(word, "fail") == 0) {
		*result = word[0] == 'r' ? answer(call, rest) : fail(call, rest);
		return 1;
	}
	if (strcmp(word, "echo") == 0) {
		size_t len = 0;
		const char *json = tenon_params_json(call, &len);

		*result = json ? tenon_reply_json(call, json, len) : tenon_reply_null(call);
		return 1;
	}
	if (strcmp(word, "gate") == 0 || strcmp(word, "hold") == 0) {
		wait_gate(*rest ? rest : word);
		return 0;
	}
	if (strcmp(word, "log") == 0) {
		char *said = rest_of(rest);

		text = decode(said, NULL);
		tenon_log(call, rest, "%s", text);
	} else if (strcmp(word, "progress") == 0) {
		text = decode(rest_of(rest), NULL);
		tenon_progress(call, strtod(rest, NULL), "%s", text);
	} else {
		text = decode(rest, NULL);
		if (strcmp(word, "stream") == 0)
			tenon_stream(call, "%s", text);
		else if (strcmp(word, "print") == 0)
			puts(text);
		else if (strcmp(word, "ask") == 0 && !tenon_ask(call, "%s", text))
			*result = -1;
		else if (strcmp(word, "raise") == 0)
			*result = tenon_fail(call, TENON_EFAILED, text);
	}
	free(text);
	return *result != 1;
}

/* ---- scripts ---- */

static int is_named(const char *name, const char *wanted)
{
	const char *colon = strchr(wanted, ':');

	return strcmp(name, wanted) == 0 || (colon && strcmp(colon + 1, name) == 0);
}

static char **next_script(const char *kind, const char *name)
{
	static char *nothing[] = { NULL };
	struct script *last = NULL;

	for (size_t i = 0; i < script_count; i++) {
		struct script *one = &scripts[i];

		if (strcmp(one->kind, kind) != 0 || !is_named(name, one->name))
			continue;
		last = one;
		if (!one->used)
			break;
	}
	if (last)
		last->used = 1;
	return last ? last->acts : nothing;
}

static int perform(tenon_call *call, const char *kind, const char *name)
{
	char **acts = next_script(kind, name);

	for (; *acts; acts++) {
		char *word = strdup(*acts), *rest = rest_of(word);
		int result = 1, over = act(call, word, rest, &result);

		free(word);
		if (over)
			return result;
	}
	return tenon_reply_null(call);
}

static int do_method(tenon_call *call)
{
	return perform(call, "method", tenon_name(call));
}

static int do_command(tenon_call *call)
{
	return perform(call, "command", tenon_name(call));
}

static int do_hook(tenon_call *call)
{
	return perform(call, "hook", tenon_name(call));
}

static int do_extract(tenon_call *call)
{
	return perform(call, "extract", "");
}

static int do_handler(tenon_call *call)
{
	return perform(call, "handler", "");
}

static int do_start(tenon_call *call)
{
	return perform(call, "start", "");
}

static int do_matches(tenon_call *call)
{
	char **acts = next_script("matches", "");

	(void)call;
	return !*acts || strcmp(*acts, "return false") != 0;
}

static int do_analyze(tenon_analyzer *analyzer, const tenon_unit *unit, void *arg)
{
	char **acts = next_script("analysis", analyses[0].type);

	(void)unit;
	(void)arg;
	for (; *acts; acts++) {
		char *word = strdup(*acts), *rest = rest_of(word);
		tenon_vname name;

		if (strcmp(word, "gate") == 0 || strcmp(word, "hold") == 0) {
			wait_gate(*rest ? rest : word);
		} else if (strcmp(word, "vname") == 0) {
			char *signature = member(rest, "signature"), *path = member(rest, "path");

			tenon_vname_of(analyzer, path ? path : "", signature ? signature : "", &name);
		}
		free(word);
	}
	return 0;
}

/* ---- the part ---- */

static enum tenon_field_type type_of(const char *name)
{
	static const char *const names[] = { "string", "integer", "number", "boolean", "array", "object" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return (enum tenon_field_type)i;
	return TENON_FIELD_ANY;
}

/* ["a","b"] as "a|b" */
static char *choices_of(char *list)
{
	char *to = list;

	if (!list)
		return NULL;
	for (const char *c = list; *c; c++)
		if (*c == ',')
			*to++ = '|';
		else if (!strchr("[]\" ", *c))
			*to++ = *c;
	*to = '\0';
	return list;
}

static tenon_field *fields_of(char **below)
{
	tenon_field *table = fields[field_tables];
	size_t count = 0;

	for (; *below && (*below)[0] == ' '; below++) {
		const char *json = *below + strspn(*below, " ");

		if (strncmp(json, "field ", 6) != 0)
			continue;
		table[count++] = (tenon_field){ .name = member(json, "name"),
						.type = type_of(member(json, "type")),
						.doc = member(json, "description"),
						.fallback = member(json, "default"),
						.choices = choices_of(member(json, "enum")),
						.required = !strstr(json, "\"default\":") };
	}
	field_tables += count > 0;
	return count ? table : NULL;
}

static char *line_below(char **below, const char *word)
{
	size_t len = strlen(word);

	for (; *below && (*below)[0] == ' '; below++) {
		char *text = *below + strspn(*below, " ");

		if (strncmp(text, word, len) == 0 && text[len] == ' ')
			return text + len + 1;
	}
	return NULL;
}

static void declare(char *kind, char *name, char **below)
{
	tenon_command row = { name, do_command, line_below(below, "about"), fields_of(below),
			      line_below(below, "alias") };
	static size_t method_count, command_count, hook_count, analysis_count;

	if (strcmp(kind, "method") == 0) {
		methods[method_count++] = (tenon_method){ name, do_method, row.doc };
	} else if (strcmp(kind, "command") == 0) {
		commands[command_count++] = row;
	} else if (strcmp(kind, "hook") == 0) {
		row.fn = do_hook;
		hooks[hook_count++] = row;
	} else if (strcmp(kind, "extract") == 0) {
		plugin.extract = do_extract;
	} else if (strcmp(kind, "handler") == 0) {
		plugin.handler = do_handler;
		plugin.matches = do_matches;
	} else if (strcmp(kind, "analysis") == 0) {
		analyses[analysis_count++] = (tenon_analysis){ name, do_analyze };
	}
}

static void add_script(char *kind, char *name, char **below)
{
	struct script *one = &scripts[script_count++];
	size_t count = 0;

	*one = (struct script){ kind, name, calloc(LINES, sizeof(char *)), 0 };
	for (; *below && (*below)[0] == ' '; below++)
		one->acts[count++] = *below + strspn(*below, " ");
	if (strcmp(kind, "start") == 0)
		plugin.on_start = do_start;
}

static void take_fact(const char *word, char *rest)
{
	const struct {
		const char *word;
		const char **place;
	} facts[] = {
		{ "name", &plugin.name },
		{ "version", &plugin.version },
		{ "description", &plugin.description },
		{ "author", &plugin.author },
		{ "dialect", &plugin.dialect },
		{ "formats", &plugin.formats },
		{ "extensions", &plugin.extensions },
		{ "interfaces", &plugin.interfaces },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (strcmp(facts[i].word, word) == 0)
			*facts[i].place = rest;
}

static void read_part(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t size = 0, count = 0;
	ssize_t len;

	while (file && count + 1 < LINES && (len = getline(&lines[count], &size, file)) > 0) {
		if (lines[count][len - 1] == '\n')
			lines[count][len - 1] = '\0';
		size = 0;
		count++;
	}
	if (file)
		fclose(file);
	lines[count] = NULL;
	for (size_t i = 0; i < count; i++) {
		char *word = lines[i], *rest, *name;

		if (word[0] == ' ')
			continue;
		rest = rest_of(word);
		if (strcmp(word, "declare") == 0 || strcmp(word, "on") == 0) {
			name = rest_of(rest);
			(word[0] == 'd' ? declare : add_script)(rest, name, &lines[i + 1]);
		} else {
			take_fact(word, rest);
		}
	}
}

int main(void)
{
	read_part(getenv("PUPPET_PART"));
	plugin.methods = methods[0].name ? methods : NULL;
	plugin.commands = commands[0].name ? commands : NULL;
	plugin.hooks = hooks[0].name ? hooks : NULL;
	plugin.analyses = analyses[0].type ? analyses : NULL;
	return tenon_run(&plugin);
}
