/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon.h: write a plugin, a program that answers a host on its stdin and stdout.
 *
 * How to use it, in three steps:
 *   1. Write one function per command or method. It reads its parameters with tenon_str() and friends and ends
 *      with `return tenon_reply(...)`, or `return tenon_fail(...)` when it cannot do what was asked.
 *   2. List them in a table that ends with a zeroed row.
 *   3. main() is `return tenon_run(&(tenon_plugin){ .name = "greeter", .commands = commands });`
 *
 *	static int greet(tenon_call *call)
 *	{
 *		return tenon_reply_text(call, "Hello, %s!", tenon_str(call, "name", "world"));
 *	}
 *	static const tenon_field greet_fields[] = {
 *		{ "name", TENON_FIELD_STRING, "Who is greeted", .fallback = "world" },
 *		{ 0 },
 *	};
 *	static const tenon_command commands[] = {
 *		{ "greet", greet, "Greets someone by name", .fields = greet_fields },
 *		{ 0 },
 *	};
 *
 * The library speaks the host's dialect: framing, greeting, health, pings, errors, shutdown. Examples of every
 * dialect are in examples/plugins/c.
 *
 * Rules that hold for every function:
 *   - Your functions are called one at a time, in the order in which the host asked, on the thread that called
 *     tenon_run(). Only while a conversation waits in tenon_ask() others are called on a thread of the library;
 *     even then never two at once.
 *   - While one of them runs, the library answers pings and health checks by itself.
 *   - What an accessor returns belongs to the call and is freed when the function returns. Arguments are
 *     borrowed during the call.
 *   - Text given to the library may hold any bytes: quoting is done here, and what is not UTF-8 goes
 *     out as U+FFFD. Text taken from it is UTF-8.
 *   - int results are 0, or negative if nothing was done.
 */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_API
#endif

/* JSON-RPC's own error codes. -32000 to -32099 belong to the protocol above it; all others are free.
 * TENON_EFAILED is what the dialect uses for a failure that has no code of its own: -1 in gassist, -32000 for
 * an extraction in yams, 1 in sunscreen, else TENON_EINTERNAL. */
enum {
	TENON_EFAILED = 0,
	TENON_EPARSE = -32700,
	TENON_EREQUEST = -32600,
	TENON_EMETHOD = -32601,
	TENON_EPARAMS = -32602,
	TENON_EINTERNAL = -32603
};

typedef struct tenon_call tenon_call;   /* one running request or notification */
typedef struct tenon_value tenon_value; /* one JSON value of its parameters; NULL means missing */

/* ---- What a plugin declares ---- */

/* Answers with one of the functions under "Answering". If it leaves a request unanswered, or returns non-zero
 * before it has answered, the library answers that it failed. */
typedef int tenon_method_fn(tenon_call *call);

/* A method by its name on the wire, in every dialect. Its parameters are not checked. It comes before a method
 * of the same name that the library has; but while a function runs, "ping" and "plugin.health" are the
 * library's. */
typedef struct tenon_method {
	const char *name; /* compared exactly; NULL ends the table */
	tenon_method_fn *fn;
	const char *doc;
} tenon_method;

enum tenon_field_type {
	TENON_FIELD_STRING,
	TENON_FIELD_INTEGER,
	TENON_FIELD_NUMBER,
	TENON_FIELD_BOOLEAN,
	TENON_FIELD_ARRAY,
	TENON_FIELD_OBJECT,
	TENON_FIELD_ANY
};

/* A parameter of a command. A wrong or missing one is answered with TENON_EPARAMS and a text that names it,
 * and the command is not called. */
typedef struct tenon_field {
	const char *name; /* NULL ends the table */
	enum tenon_field_type type;
	const char *doc;
	const char *fallback; /* used where it is missing: a text as it is, other types as JSON */
	const char *choices;  /* "celsius|fahrenheit": one of these texts */
	int required;
} tenon_field;

/* What people or an assistant call by name: a function in gassist, a command in sunscreen ("indexer" or
 * "scaffold:indexer"), "/roll 2 6" in ayiou, a method in plain and yams. */
typedef struct tenon_command {
	const char *name; /* NULL ends the table */
	tenon_method_fn *fn;
	const char *doc;
	const tenon_field *fields; /* ends with a zeroed row; NULL: takes anything */
	const char *aliases;       /* ayiou: other names, with blanks between them */
} tenon_command;

struct tenon_analysis; /* tenon/analyzer.h */

typedef struct tenon_plugin {
	const char *name; /* messages on stderr begin with it */
	const char *version, *description;
	const tenon_method *methods;
	void *arg; /* yours: tenon_plugin_of(call)->arg                                 */
	/* a longer message is refused with TENON_EREQUEST; 0: 256 MiB, gassist 10 MiB */
	size_t max_message_bytes;
	const char *author;
	/* "yams", "ayiou", "gassist", "sunscreen", "sunscreen-json", "kythe", "plain". NULL: what the host says
	 * in MORTISE_DIALECT, the only one that fits what is declared, or what the first bytes look like. */
	const char *dialect;
	const tenon_command *commands;
	const tenon_command *hooks; /* sunscreen: what happened is tenon_context(call) */
	/* yams: text of a file, tenon_source() or tenon_source_path() */
	tenon_method_fn *extract;
	const char *formats, *extensions; /* what it takes: "text/plain text/csv", ".txt .csv" */
	const char *interfaces;           /* yams: further ones, with blanks between them */
	/* ayiou: gets the messages that are no command, and for which `matches` is NULL or returns non-zero */
	tenon_method_fn *handler, *matches;
	const struct tenon_analysis *analyses; /* kythe */
	uint32_t max_analyses; /* end after this many, so that a fresh process takes over; 0: never */
	/* Before the first call, at the dialect's init where it has one: tenon_config(call) is the
	 * configuration. What it fails with is the answer to init. An object that it answers is yams'
	 * "config_applied". */
	tenon_method_fn *on_start;
	/* Once for each start: at shutdown, at the end of stdin, at SIGTERM. */
	void (*on_stop)(const struct tenon_plugin *plugin);
} tenon_plugin;

/* Serves until stdin ends, shutdown is asked for or SIGTERM comes; then returns 0. 1 if stdin cannot be read.
 *
 * First it moves the wire to private descriptors: fd 1 becomes stderr and fd 0 /dev/null. So an accidental
 * printf() or a child process cannot disturb the stream. Both stay that way afterwards. Ids are sent back
 * unchanged, notifications are never answered, a batch is answered by one array.
 *
 * If the program was started as `PROGRAM --manifest [DIALECT]`, it prints the plugin's manifest instead;
 * with `--help` it says what it is. Other options are the program's own.
 *
 * At shutdown and SIGTERM a running call is told (tenon_cancelled) and has 2 seconds to end; then the process
 * ends without on_stop. Unless the program has a handler for it, SIGTERM interrupts system calls (EINTR). */
TENON_API int tenon_run(const tenon_plugin *plugin);

/* ---- The call ---- */

TENON_API const tenon_plugin *tenon_plugin_of(const tenon_call *call);
/* 1 if nobody waits for an answer. Then answering is harmless and sends nothing. */
TENON_API int tenon_is_note(const tenon_call *call);

/* The name of the command, hook or method. */
TENON_API const char *tenon_name(const tenon_call *call);
TENON_API const char *tenon_dialect(const tenon_call *call);
/* The request's id, as JSON text; NULL: a notification. */
TENON_API const char *tenon_id(tenon_call *call);

/* ---- While it runs ---- */

/* The next piece of the answer. gassist and plain send it at once; elsewhere the pieces stand in front of the
 * answer's text. `format` as in printf(), here and below. */
TENON_API int tenon_stream(tenon_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `fraction`: 0 to 1, negative if unknown. gassist: a log of level info; plain: a notification; else stderr. */
TENON_API int tenon_progress(tenon_call *call, double fraction, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* `level`: "debug", "info", "warning", "error". gassist: to the host; else stderr. */
TENON_API int tenon_log(tenon_call *call, const char *level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* 1 if nobody wants the answer any more: stop early, and clean up. */
TENON_API int tenon_cancelled(const tenon_call *call);
/* Asks the user and waits for what they say next. gassist: the session is kept; ayiou: the next message of the
 * same user in the same place. Other calls are served meanwhile; up to 64 conversations wait, then the one that
 * waits longest gets NULL. NULL: there is no answer, because the plugin stops, the conversation was left, or
 * the dialect has none (then the call has failed with TENON_EINTERNAL). Return then; answers are ignored. */
TENON_API const char *tenon_ask(tenon_call *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- What the dialects add. NULL where the dialect does not have it. ---- */

typedef struct tenon_message { /* ayiou */
	const char *text, *message_type, *raw_message;
	int64_t user_id, group_id, self_id; /* 0: none */
} tenon_message;

TENON_API const tenon_message *tenon_message_of(const tenon_call *call);
TENON_API const char *tenon_workspace(const tenon_call *call); /* sunscreen: absolute path       */
/* yams: of init; sunscreen: the workspace's */
TENON_API const tenon_value *tenon_config(const tenon_call *call);
TENON_API const tenon_value *tenon_flags(const tenon_call *call); /* sunscreen                      */
TENON_API const tenon_value *tenon_args(const tenon_call *call);  /* sunscreen: words as sent       */
/* gassist: the conversation so far; sunscreen: of a hook */
TENON_API const tenon_value *tenon_context(const tenon_call *call);
TENON_API const char *tenon_system_info(const tenon_call *call);    /* gassist                        */
TENON_API const tenon_value *tenon_options(const tenon_call *call); /* yams: of an extraction         */
/* yams: the path of the source; NULL if its bytes were sent. */
TENON_API const char *tenon_source_path(const tenon_call *call);
/* yams: the content of the source, read from its path (a regular file) or sent; a NUL byte follows it. At most
 * `max_bytes`, 0: no limit. NULL: it cannot be read, and the call has failed with a text that says why. */
TENON_API const void *tenon_source(tenon_call *call, size_t max_bytes, size_t *ret_len);
/* sunscreen: a file that was written, relative to the workspace, for the answer's files_written. */
TENON_API void tenon_wrote(tenon_call *call, const char *path);

/* ---- Parameters by name: the fallback is returned if it is missing, null or of another type ---- */

/* 1 if it is there and not null. */
TENON_API int tenon_has(const tenon_call *call, const char *key);
/* Text with a NUL character is not a C string: it gives the fallback too. */
TENON_API const char *tenon_str(const tenon_call *call, const char *key, const char *fallback);
/* Whole numbers within int64_t. */
TENON_API int64_t tenon_int(const tenon_call *call, const char *key, int64_t fallback);
TENON_API double tenon_double(const tenon_call *call, const char *key, double fallback);
TENON_API int tenon_bool(const tenon_call *call, const char *key, int fallback);

/* ---- Parameters as values: for nesting, and to tell "missing" from "wrong" ---- */

enum tenon_type {
	TENON_MISSING,
	TENON_NULL,
	TENON_BOOL,
	TENON_NUMBER,
	TENON_STRING,
	TENON_ARRAY,
	TENON_OBJECT
};

/* Of a command: an object, checked, with its fallbacks. Of a method: an object, an array, or missing. */
TENON_API const tenon_value *tenon_params(const tenon_call *call);
/* Of the message as it was sent, also for commands. */
TENON_API const tenon_value *tenon_sent(const tenon_call *call);
/* The same: JSON text without a NUL at its end. NULL if the host sent no params. */
TENON_API const char *tenon_params_json(const tenon_call *call, size_t *ret_len);
/* Member of an object, NULL if it has no such member. `object` may be NULL, as in every function below. */
TENON_API const tenon_value *tenon_get(const tenon_value *object, const char *key);
/* By JSON pointer: "/files/0/path". */
TENON_API const tenon_value *tenon_at(const tenon_value *value, const char *pointer);
/* Element of an array; NULL behind its end. */
TENON_API const tenon_value *tenon_item(const tenon_value *array, size_t index);
TENON_API size_t tenon_size(const tenon_value *value); /* members or elements; 0 for the others */
TENON_API enum tenon_type tenon_type_of(const tenon_value *value);
TENON_API const char *tenon_as_str(const tenon_value *value, const char *fallback);
/* With NUL characters. NULL if it is not a text. */
TENON_API const char *tenon_as_text(const tenon_value *value, size_t *ret_len);
TENON_API int64_t tenon_as_int(const tenon_value *value, int64_t fallback);
TENON_API double tenon_as_double(const tenon_value *value, double fallback);
TENON_API int tenon_as_bool(const tenon_value *value, int fallback);
/* Decodes Base64 text (standard alphabet, padded). NULL if it is not Base64, or without memory. Never NULL
 * for the empty text. */
TENON_API const void *tenon_as_bytes(tenon_call *call, const tenon_value *value, size_t *ret_len);

/* ---- Answering: exactly once. A second answer is refused (negative) and changes nothing. ----
 *
 * Each dialect has its own form around it: gassist's "complete", yams' {"success", "content", "text"}, ayiou's
 * {"handled", "block", "reply", "actions"}, sunscreen's {"files_written", "summary"}. A text becomes the text
 * of that form. An object goes through: its members are the form's, and what is missing is added. */

TENON_API int tenon_reply_text(tenon_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* `json` is one JSON text; anything else is refused, and the answer becomes TENON_EINTERNAL. */
TENON_API int tenon_reply_json(tenon_call *call, const char *json, size_t len);
TENON_API int tenon_reply_null(tenon_call *call);
TENON_API int tenon_fail(tenon_call *call, int64_t code, const char *message);
TENON_API int tenon_fail_text(tenon_call *call, int64_t code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* `data_json`: one JSON text that becomes the error's `data`, or NULL for none. */
TENON_API int tenon_fail_data(tenon_call *call, int64_t code, const char *message, const char *data_json);

/* A flat object in one call: tenon_reply(call, TENON("path", path), TENON("lines", 12)). Strings, integers
 * within int64_t and floating numbers. `true` is an int in C11, so booleans have their own form. */
enum tenon_pair_kind { TENON_PAIR_STR, TENON_PAIR_INT, TENON_PAIR_DOUBLE, TENON_PAIR_BOOL };

typedef struct tenon_pair {
	const char *key;
	enum tenon_pair_kind kind;
	int64_t integer;
	double real;
	const char *text; /* NULL: null */
} tenon_pair;

static inline tenon_pair tenon_pair_str(const char *key, const char *text)
{
	tenon_pair pair = { key, TENON_PAIR_STR, 0, 0, text };
	return pair;
}

static inline tenon_pair tenon_pair_int(const char *key, int64_t integer)
{
	tenon_pair pair = { key, TENON_PAIR_INT, integer, 0, NULL };
	return pair;
}

static inline tenon_pair tenon_pair_double(const char *key, double real)
{
	tenon_pair pair = { key, TENON_PAIR_DOUBLE, 0, real, NULL };
	return pair;
}

static inline tenon_pair tenon_pair_bool(const char *key, int on)
{
	tenon_pair pair = { key, TENON_PAIR_BOOL, on, 0, NULL };
	return pair;
}

TENON_API int tenon_reply_pairs(tenon_call *call, const tenon_pair *pairs, size_t count);

#ifndef __cplusplus
#define TENON(key, value) \
	_Generic((value), \
		char *: tenon_pair_str, \
		const char *: tenon_pair_str, \
		_Bool: tenon_pair_bool, \
		float: tenon_pair_double, \
		double: tenon_pair_double, \
		default: tenon_pair_int)((key), (value))
#define TENON_ON(key, value) tenon_pair_bool((key), (value) ? 1 : 0)
#define tenon_reply(call, ...) \
	tenon_reply_pairs((call), (const tenon_pair[]){ __VA_ARGS__ }, \
			  sizeof((const tenon_pair[]){ __VA_ARGS__ }) / sizeof(tenon_pair))
#endif

/* ---- Building: for answers that are not flat, and for an error's data ----
 *
 *	tenon_object(call, NULL);
 *	tenon_put_str(call, "name", name);
 *	tenon_array(call, "tags");
 *	tenon_put_str(call, NULL, "a");
 *	tenon_end(call);
 *	tenon_end(call);
 *	return tenon_done(call);
 *
 * `key` is NULL at the top and inside arrays, and only there. Mistakes and lack of memory are
 * remembered: tenon_done() then answers TENON_EINTERNAL and returns negative. At most 64 levels. */
TENON_API void tenon_object(tenon_call *call, const char *key);
TENON_API void tenon_array(tenon_call *call, const char *key);
TENON_API void tenon_end(tenon_call *call);
TENON_API void tenon_put_str(tenon_call *call, const char *key, const char *text); /* NULL: null */
TENON_API void tenon_put_text(tenon_call *call, const char *key, const char *text, size_t len);
TENON_API void tenon_put_int(tenon_call *call, const char *key, int64_t number);
TENON_API void tenon_put_double(tenon_call *call, const char *key, double number);
TENON_API void tenon_put_bool(tenon_call *call, const char *key, int on);
TENON_API void tenon_put_null(tenon_call *call, const char *key);
/* One JSON text, as it is. */
TENON_API void tenon_put_json(tenon_call *call, const char *key, const char *json, size_t len);
/* Answers with what was built: as the result, or as the data of an error. */
TENON_API int tenon_done(tenon_call *call);
TENON_API int tenon_fail_built(tenon_call *call, int64_t code, const char *message);

#ifdef __cplusplus
}
#endif
#endif
