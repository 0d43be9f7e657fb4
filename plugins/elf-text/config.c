/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of plugin.init. Each is one row: reading, checking and telling what was applied follow. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "plugin.h"

struct setting {
	const char *name;
	size_t offset;
	int64_t usual, least, most; /* `most` keeps a slip of the pen from asking for all memory */
};

static const struct setting settings[] = {
	{ "max_functions", offsetof(struct config, max_functions), 100, 0, 1000000 },
	{ "disassemble_functions", offsetof(struct config, disassemble_functions), 20, 0, 1000000 },
	{ "max_instructions", offsetof(struct config, max_instructions), 1000, 1, 1000000 },
	{ "min_string_length", offsetof(struct config, min_string_length), 5, 1, 1024 },
	{ "max_strings", offsetof(struct config, max_strings), 2000, 0, 1000000 },
	{ "max_content_bytes", offsetof(struct config, max_content_bytes), 4 << 20, 4096, 64 << 20 },
	{ "max_file_bytes", offsetof(struct config, max_file_bytes), 256 << 20, 64, 1024 << 20 },
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

#define TIMEOUT_USUAL 30.0
#define TIMEOUT_MOST  86400.0

/* Every setting but the time limit is an int64_t, so that one row type does. */
static int64_t *field_of(struct config *config, const struct setting *setting)
{
	return (int64_t *)(void *)((char *)config + setting->offset);
}

/* The specification wraps the settings in "config", real hosts send them bare, ours sends both. */
static const tenon_value *find(tenon_call *call, const char *name)
{
	const tenon_value *params = tenon_params(call);
	const tenon_value *value = tenon_get(tenon_get(params, "config"), name);

	if (tenon_type_of(value) <= TENON_NULL)
		value = tenon_get(params, name);
	return tenon_type_of(value) <= TENON_NULL ? NULL : value;
}

static int bad_setting(tenon_call *call, const char *name, const char *text)
{
	tenon_object(call, NULL);
	tenon_put_str(call, "reason", "InvalidConfig");
	tenon_put_str(call, "config_key", name);
	tenon_end(call);
	tenon_fail_built(call, TENON_EPARAMS, text);
	return -1;
}

/* INT64_MIN stands for "no whole number": it is below every `least`. */
static int read_setting(tenon_call *call, const struct setting *setting, struct config *config)
{
	const tenon_value *value = find(call, setting->name);
	int64_t number = value ? tenon_as_int(value, INT64_MIN) : setting->usual;
	char text[128];

	if (number < setting->least || number > setting->most) {
		snprintf(text, sizeof(text), "%s: must be a whole number from %lld to %lld", setting->name,
			 (long long)setting->least, (long long)setting->most);
		return bad_setting(call, setting->name, text);
	}
	*field_of(config, setting) = number;
	return 0;
}

static int read_timeout(tenon_call *call, struct config *config)
{
	const tenon_value *value = find(call, "timeout_sec");
	double seconds = value ? tenon_as_double(value, -1) : TIMEOUT_USUAL;

	if (!isfinite(seconds) || seconds <= 0 || seconds > TIMEOUT_MOST)
		return bad_setting(call, "timeout_sec",
				   "timeout_sec: must be a number of seconds, more than 0, at most 86400");
	config->timeout_sec = seconds;
	return 0;
}

/* All or nothing: a bad setting leaves the ones in force untouched. */
int config_read(tenon_call *call, struct config *ret)
{
	enum tenon_type wrapped = tenon_type_of(tenon_get(tenon_params(call), "config"));
	struct config config;
	int r;

	if (wrapped > TENON_NULL && wrapped != TENON_OBJECT)
		return bad_setting(call, "config", "config: must be an object");
	for (size_t i = 0; i < SETTINGS; i++) {
		r = read_setting(call, &settings[i], &config);
		if (r < 0)
			return r;
	}
	r = read_timeout(call, &config);
	if (r < 0)
		return r;
	*ret = config;
	return 0;
}

void config_put(tenon_call *call, const char *key, const struct config *config)
{
	struct config copy = *config;

	tenon_object(call, key);
	for (size_t i = 0; i < SETTINGS; i++)
		tenon_put_int(call, settings[i].name, *field_of(&copy, &settings[i]));
	/* 30, not 30.0: the specification says int. */
	if (copy.timeout_sec == floor(copy.timeout_sec))
		tenon_put_int(call, "timeout_sec", (int64_t)copy.timeout_sec);
	else
		tenon_put_double(call, "timeout_sec", copy.timeout_sec);
	tenon_end(call);
}
