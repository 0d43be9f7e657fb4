/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rule file. Kythe uses RE2 patterns; we use PCRE2, which can do more and is slow for some patterns. So
 * we first check a pattern against RE2's grammar where the two differ, and matching has a limit of steps.
 */
#include <errno.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "kythe/archive/vnames.h"

#define FILE_LIMIT     ((size_t)16 << 20)
#define PATTERN_LIMIT  8192
#define RULES_LIMIT    100000
#define MATCH_STEPS    1000000
#define MATCH_DEPTH    10000
#define MATCH_HEAP_KIB 4096

/* What a rule sets; a text with @groups@. */
enum { CORPUS, ROOT, PATH, SIGNATURE, TEXTS };
static const char *const text_names[TEXTS] = { "corpus", "root", "path", "signature" };

struct rule {
	pcre2_code *code;
	char *text[TEXTS];
};

struct mor_vname_rules {
	char *name;
	struct rule *rules;
	size_t count;
	pcre2_general_context *general;
	pcre2_match_context *limits;
};

static void *pcre_alloc(size_t size, void *data)
{
	(void)data;
	return mor_alloc(size);
}

static void pcre_free(void *memory, void *data)
{
	(void)data;
	mor_free(memory);
}

/* ---- what RE2 does not have ---- */

/* After "(?": RE2 has "P<name>", "<name>", ":" and flags, and nothing else. */
static const char *group_fault(const char *p)
{
	size_t flags = strspn(p, "imsU-");

	if (*p == '=' || *p == '!' || (*p == '<' && (p[1] == '=' || p[1] == '!')))
		return "look-around is not allowed";
	if (p[0] == 'P' && p[1] == '=')
		return "back-references are not allowed";
	if (*p == ':' || *p == '<' || (p[0] == 'P' && p[1] == '<') ||
	    (flags && strchr(":)", p[flags]) && p[flags]))
		return NULL;
	return "this kind of group is not allowed";
}

static const char *escape_fault(char c)
{
	if ((c >= '1' && c <= '9') || c == 'g' || c == 'k')
		return "back-references are not allowed";
	if (c == '\0')
		return "it ends with a backslash";
	/* Letters with the same meaning in both. Apart from them RE2 allows only punctuation. */
	if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && !strchr("aftnrxdDsSwWbBAzpPQE", c))
		return "this escape is not allowed";
	return NULL;
}

/* Goes to the last character of [...]; a "]" that comes first belongs to the set. */
static const char *skip_class(const char *p, const char **fault)
{
	p += p[1] == '^' ? 2 : 1;
	if (*p == ']')
		p++;
	for (; *p && *p != ']'; p++) {
		if (*p == '\\' && (*fault = escape_fault(p[1])))
			return p;
		if (*p == '\\')
			p++;
		else if (p[0] == '[' && p[1] == ':' && strstr(p, ":]"))
			p = strstr(p, ":]") + 1;
	}
	if (!*p)
		*fault = "[ without ]";
	return p;
}

static const char *skip_escape(const char *p, const char **fault)
{
	const char *end;

	if ((*fault = escape_fault(p[1])) || p[1] != 'Q')
		return p + 1;
	end = strstr(p, "\\E");
	return end ? end + 1 : p + strlen(p) - 1;
}

/* The reason why RE2 would refuse a pattern, and the place; NULL: no reason found before compiling it. */
static const char *pattern_fault(const char *pattern, size_t *ret_at)
{
	const char *fault = NULL, *p;

	for (p = pattern; *p && !fault; p++) {
		*ret_at = (size_t)(p - pattern);
		if (*p == '\\')
			p = skip_escape(p, &fault);
		else if (*p == '[')
			p = skip_class(p, &fault);
		else if (p[0] == '(' && p[1] == '*')
			fault = "verbs are not allowed";
		else if (p[0] == '(' && p[1] == '?')
			fault = group_fault(p + 2);
		else if (strchr("*+?}", *p) && p[1] == '+')
			fault = "possessive repetition is not allowed";
	}
	return fault;
}

/* ---- loading ---- */

struct loading {
	struct mor_vname_rules *rules;
	size_t number; /* number of the rule, from 1 */
	mortise_error *err;
};

static int refuse_rule(const struct loading *load, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse_rule(const struct loading *load, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&text, format, args);
	mor_buf_byte(&text, '\0');
	va_end(args);
	return mor_fail(load->err, MORTISE_EINPUT, "%s: rule %zu: %s", load->rules->name, load->number,
			mor_buf_failed(&text) ? mortise_status_text(MORTISE_ENOMEM) : text.data);
}

static int refuse_pattern(const struct loading *load, const char *pattern, const char *why, size_t at)
{
	char shown[120];

	return refuse_rule(load, "\"%s\": %s at character %zu",
			   mor_excerpt(mor_slice_of(pattern), shown, sizeof(shown)), why, at + 1);
}

static int compile(const struct loading *load, const char *pattern, pcre2_code **ret)
{
	pcre2_compile_context *context;
	PCRE2_UCHAR why[200];
	PCRE2_SIZE where = 0;
	size_t at = 0;
	int code = 0;
	const char *fault = pattern_fault(pattern, &at);

	if (fault)
		return refuse_pattern(load, pattern, fault, at);
	context = pcre2_compile_context_create(load->rules->general);
	if (!context)
		return mor_fail_memory(load->err);
	pcre2_set_max_pattern_length(context, PATTERN_LIMIT);
	/* The whole path must match: both ends are anchored, for all alternatives. */
	*ret = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
			     PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOLLAR_ENDONLY | PCRE2_UTF |
				     PCRE2_NEVER_BACKSLASH_C,
			     &code, &where, context);
	pcre2_compile_context_free(context);
	if (*ret)
		return 0;
	pcre2_get_error_message(code, why, sizeof(why));
	return refuse_pattern(load, pattern, (const char *)why, where);
}

/* "@word@" at p: the word, else absent. */
static struct mor_slice group_at(const char *p)
{
	size_t len = 0;

	if (*p != '@')
		return (struct mor_slice){ 0 };
	while ((p[1 + len] >= '0' && p[1 + len] <= '9') || (p[1 + len] >= 'a' && p[1 + len] <= 'z') ||
	       (p[1 + len] >= 'A' && p[1 + len] <= 'Z') || p[1 + len] == '_')
		len++;
	return len && p[1 + len] == '@' ? (struct mor_slice){ p + 1, len } : (struct mor_slice){ 0 };
}

/* 0: there is no such group. */
static uint32_t group_number(const pcre2_code *code, struct mor_slice word)
{
	char name[64];
	uint32_t number = 0, count = 0;
	int found;

	pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &count);
	if (mor_parse_u32(word, &number))
		return number <= count ? number : 0;
	if (word.len >= sizeof(name))
		return 0;
	memcpy(name, word.ptr, word.len);
	name[word.len] = '\0';
	found = pcre2_substring_number_from_name(code, (PCRE2_SPTR)name);
	return found > 0 ? (uint32_t)found : 0;
}

static int check_template(const struct loading *load, const struct rule *rule, int which)
{
	char shown[80];

	for (const char *p = rule->text[which]; *p; p++) {
		struct mor_slice word = group_at(p);

		if (!word.ptr)
			continue;
		if (!group_number(rule->code, word))
			return refuse_rule(load, "@%s@ in \"%s\" is no group of the pattern",
					   mor_excerpt(word, shown, sizeof(shown)), text_names[which]);
		p += word.len + 1;
	}
	return 0;
}

static int load_text(const struct loading *load, struct rule *rule, struct mor_slice name,
		     const struct mor_value *value)
{
	struct mor_slice text = mor_json_string(value);
	char shown[80];
	int which = 0;

	mor_excerpt(name, shown, sizeof(shown));
	while (which < TEXTS && !mor_slice_is(name, text_names[which]))
		which++;
	/* Rules cannot set a language. */
	if (which == TEXTS && mor_slice_is(name, "language"))
		return 0;
	if (which == TEXTS)
		return refuse_rule(load, "\"vname\" has no member \"%s\": use corpus, root, path or signature",
				   shown);
	if (!text.ptr)
		return refuse_rule(load, "\"%s\" must be a string", shown);
	if (text.len && memchr(text.ptr, '\0', text.len))
		return refuse_rule(load, "\"%s\" holds a NUL character", shown);
	mor_free(rule->text[which]);
	rule->text[which] = mor_strndup(text.ptr, text.len);
	return rule->text[which] ? check_template(load, rule, which) : mor_fail_memory(load->err);
}

static int load_texts(const struct loading *load, struct rule *rule, const struct mor_value *vname)
{
	struct mor_json_iter it = mor_json_iter(vname);
	int r = 0;

	if (mor_json_type(vname) != MOR_JSON_OBJECT)
		return refuse_rule(load, "\"vname\" must be an object");
	while (r == 0 && mor_json_next(&it))
		r = load_text(load, rule, it.name, it.value);
	for (int i = 0; r == 0 && i < TEXTS; i++)
		if (!rule->text[i] && !(rule->text[i] = mor_strdup("")))
			r = mor_fail_memory(load->err);
	return r;
}

static int load_rule(const struct loading *load, struct rule *rule, const struct mor_value *value)
{
	const struct mor_value *pattern = mor_json_get(value, "pattern"), *vname = mor_json_get(value, "vname");
	struct mor_json_iter it = mor_json_iter(value);
	struct mor_slice text = mor_json_string(pattern);
	char shown[80];
	int r;

	if (mor_json_type(value) != MOR_JSON_OBJECT)
		return refuse_rule(load, "it must be an object with \"pattern\" and \"vname\"");
	while (mor_json_next(&it))
		if (!mor_text_in(it.name, "pattern|vname|v_name"))
			return refuse_rule(load, "it has no member \"%s\": use pattern and vname",
					   mor_excerpt(it.name, shown, sizeof(shown)));
	if (!text.ptr || text.len == 0)
		return refuse_rule(load, "\"pattern\" is missing or empty");
	if (memchr(text.ptr, '\0', text.len))
		return refuse_rule(load, "\"pattern\" holds a NUL character");
	r = compile(load, text.ptr, &rule->code);
	return r < 0 ? r : load_texts(load, rule, vname ? vname : mor_json_get(value, "v_name"));
}

static int load_rules(struct loading *load, const struct mor_value *root)
{
	struct mor_vname_rules *rules = load->rules;
	struct mor_json_iter it = mor_json_iter(root);
	int r = 0;

	if (mor_json_type(root) != MOR_JSON_ARRAY)
		return mor_fail(load->err, MORTISE_EINPUT, "%s: it must be an array of rules", rules->name);
	if (mor_json_size(root) > RULES_LIMIT)
		return mor_fail(load->err, MORTISE_EINPUT, "%s: more than %d rules", rules->name, RULES_LIMIT);
	rules->rules = mor_zalloc(mor_json_size(root) * sizeof(*rules->rules));
	rules->general = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
	rules->limits = rules->general ? pcre2_match_context_create(rules->general) : NULL;
	if (!rules->rules || !rules->limits)
		return mor_fail_memory(load->err);
	pcre2_set_match_limit(rules->limits, MATCH_STEPS);
	pcre2_set_depth_limit(rules->limits, MATCH_DEPTH);
	pcre2_set_heap_limit(rules->limits, MATCH_HEAP_KIB);
	while (r == 0 && mor_json_next(&it)) {
		load->number++;
		r = load_rule(load, &rules->rules[rules->count++], it.value);
	}
	return r;
}

struct mor_vname_rules *mor_vname_rules_free(struct mor_vname_rules *rules)
{
	if (!rules)
		return NULL;
	for (size_t i = 0; i < rules->count; i++) {
		pcre2_code_free(rules->rules[i].code);
		for (int t = 0; t < TEXTS; t++)
			mor_free(rules->rules[i].text[t]);
	}
	mor_free(rules->rules);
	pcre2_match_context_free(rules->limits);
	pcre2_general_context_free(rules->general);
	mor_free(rules->name);
	return mor_free(rules);
}

int mor_vname_rules_parse(const char *name, struct mor_slice json, struct mor_vname_rules **ret,
			  mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_vname_rules) struct mor_vname_rules *rules = mor_zalloc(sizeof(*rules));
	struct loading load = { .rules = rules, .err = err };
	int r;

	if (!rules || !(rules->name = mor_strdup(name)))
		return mor_fail_memory(err);
	if ((r = mor_doc_parse(json, 0, 0, &doc, err)) < 0) {
		mor_fail_prefix(err, name);
		return r == MORTISE_EPROTO ? mor_fail(err, MORTISE_EINPUT, "%s", err ? err->text : "") : r;
	}
	r = load_rules(&load, mor_doc_root(doc));
	if (r == 0)
		*ret = mor_take(&rules);
	return r;
}

int mor_vname_rules_load(const char *path, struct mor_vname_rules **ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len = 0;
	int r = mor_fd_read_file(path, FILE_LIMIT, &text, &len);

	if (r < 0)
		return mor_fail_errno(err, r == -ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, -r, "%s", path);
	return mor_vname_rules_parse(path, (struct mor_slice){ text, len }, ret, err);
}

size_t mor_vname_rules_count(const struct mor_vname_rules *rules)
{
	return rules ? rules->count : 0;
}

/* ---- applying ---- */

static void expand_template(const struct rule *rule, const char *template, const char *path,
			    const PCRE2_SIZE *ends, uint32_t pairs, struct mor_buf *out)
{
	for (const char *p = template; *p; p++) {
		struct mor_slice word = group_at(p);
		uint32_t group;

		if (!word.ptr) {
			mor_buf_byte(out, *p);
			continue;
		}
		/* A group that did not take part in the match is "". */
		group = group_number(rule->code, word);
		if (group < pairs && ends[2 * group] != PCRE2_UNSET)
			mor_buf_append(out, path + ends[2 * group], ends[2 * group + 1] - ends[2 * group]);
		p += word.len + 1;
	}
	mor_buf_byte(out, '\0');
}

static int expand_all(const struct rule *rule, const char *path, pcre2_match_data *match,
		      struct mor_vname_own *ret)
{
	struct mor_buf texts[TEXTS] = { 0 };
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(match);
	int r = 0;

	for (int i = 0; i < TEXTS; i++) {
		expand_template(rule, rule->text[i], path, ends, pcre2_get_ovector_count(match), &texts[i]);
		r = r ? r : texts[i].status;
	}
	if (r == 0)
		r = mor_vname_own_set(ret,
				      &(struct mor_vname){ .signature = texts[SIGNATURE].data,
							   .corpus = texts[CORPUS].data,
							   .root = texts[ROOT].data,
							   .path = *texts[PATH].data ? texts[PATH].data : path,
							   .language = "" });
	for (int i = 0; i < TEXTS; i++)
		mor_buf_fini(&texts[i]);
	return r;
}

static int match_failed(const struct mor_vname_rules *rules, size_t number, int code, mortise_error *err)
{
	PCRE2_UCHAR why[200];

	if (code == PCRE2_ERROR_NOMEMORY)
		return mor_fail_memory(err);
	pcre2_get_error_message(code, why, sizeof(why));
	return mor_fail(err,
			code <= PCRE2_ERROR_UTF8_ERR1 && code >= PCRE2_ERROR_UTF8_ERR21 ? MORTISE_EINPUT :
											  MORTISE_ELIMIT,
			"%s: rule %zu: %s", rules->name, number, why);
}

static int try_rule(const struct mor_vname_rules *rules, size_t i, const char *path, struct mor_vname_own *ret,
		    mortise_error *err)
{
	const struct rule *rule = &rules->rules[i];
	pcre2_match_data *match = pcre2_match_data_create_from_pattern(rule->code, rules->general);
	int r;

	if (!match)
		return mor_fail_memory(err);
	r = pcre2_match(rule->code, (PCRE2_SPTR)path, strlen(path), 0, 0, match, rules->limits);
	if (r > 0)
		r = expand_all(rule, path, match, ret) == 0 ? 1 : mor_fail_memory(err);
	else if (r == PCRE2_ERROR_NOMATCH)
		r = 0;
	else
		r = match_failed(rules, i + 1, r, err);
	pcre2_match_data_free(match);
	return r;
}

int mor_vname_rules_apply(const struct mor_vname_rules *rules, const char *path, struct mor_vname_own *ret,
			  mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < mor_vname_rules_count(rules); i++)
		r = try_rule(rules, i, path, ret, err);
	return r;
}
