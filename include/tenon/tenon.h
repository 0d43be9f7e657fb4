/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tenon.h: write a plugin, a program that answers JSON-RPC 2.0 on its stdin and stdout.
 *
 * How to use it, in three steps:
 *   1. Write one function per method. It reads its parameters with tenon_str() and friends and ends
 *      with `return tenon_reply(...)`, or `return tenon_fail(...)` when it cannot do what was asked.
 *   2. List them in a table that ends with a zeroed row.
 *   3. main() is `return tenon_run(&(tenon_plugin){ .name = "greeter", .methods = methods });`
 *
 *	static int greet(tenon_call *call)
 *	{
 *		const char *name = tenon_str(call, "name", "world");
 *
 *		if (*name == '\0')
 *			return tenon_fail(call, TENON_EPARAMS, "name must not be empty");
 *		return tenon_reply(call, TENON("greeting", "hello"), TENON("to", name));
 *	}
 *
 * Rules that hold for every function:
 *   - Calls come one at a time, on the thread that called tenon_run(), in the order they were sent.
 *   - What an accessor returns belongs to the call and is freed when the method returns. Arguments are
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

/* JSON-RPC's own error codes. -32000 to -32099 belong to the protocol above it; all others are free. */
enum {
	TENON_EPARSE = -32700,
	TENON_EREQUEST = -32600,
	TENON_EMETHOD = -32601,
	TENON_EPARAMS = -32602,
	TENON_EINTERNAL = -32603
};

typedef struct tenon_call tenon_call;   /* one running request or notification */
typedef struct tenon_value tenon_value; /* one JSON value of its parameters; NULL means missing */

/* Answers with one of the functions under "Answering". If a method leaves a request unanswered, or returns
 * non-zero before it has answered, the library answers TENON_EINTERNAL. */
typedef int tenon_method_fn(tenon_call *call);

typedef struct tenon_method {
	const char *name; /* compared exactly; NULL ends the table */
	tenon_method_fn *fn;
	const char *doc;
} tenon_method;

typedef struct tenon_plugin {
	const char *name; /* messages on stderr begin with it */
	const char *version, *description;
	const tenon_method *methods;
	void *arg;                /* yours: tenon_plugin_of(call)->arg                                 */
	size_t max_message_bytes; /* a longer message is refused with TENON_EREQUEST; 0: 256 MiB       */
} tenon_plugin;

/* Serves until stdin ends, then returns 0; 1 if reading or writing fails. One message per line.
 *
 * First it moves the wire to private descriptors: fd 1 becomes stderr and fd 0 /dev/null. So an accidental
 * printf() or a child process cannot disturb the stream. Both stay that way afterwards. Ids are sent back
 * unchanged, notifications are never answered, a batch is answered by one array. */
TENON_API int tenon_run(const tenon_plugin *plugin);

/* ---- The call ---- */

TENON_API const tenon_plugin *tenon_plugin_of(const tenon_call *call);
/* 1 if nobody waits for an answer. Then answering is harmless and sends nothing. */
TENON_API int tenon_is_note(const tenon_call *call);

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

/* An object, an array, or missing. */
TENON_API const tenon_value *tenon_params(const tenon_call *call);
/* As they were sent: JSON text without a NUL at its end. NULL if there are none. */
TENON_API const char *tenon_params_json(const tenon_call *call, size_t *ret_len);
/* Member of an object, NULL if there is none. `object` may be NULL, as in every function below. */
TENON_API const tenon_value *tenon_get(const tenon_value *object, const char *key);
/* By JSON pointer: "/files/0/path". */
TENON_API const tenon_value *tenon_at(const tenon_value *value, const char *pointer);
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

/* ---- Answering: exactly once. A second answer is refused (negative) and changes nothing. ---- */

/* `json` is one JSON text; anything else is refused, and the answer becomes TENON_EINTERNAL. */
TENON_API int tenon_reply_json(tenon_call *call, const char *json, size_t len);
TENON_API int tenon_reply_null(tenon_call *call);
TENON_API int tenon_fail(tenon_call *call, int64_t code, const char *message);
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
