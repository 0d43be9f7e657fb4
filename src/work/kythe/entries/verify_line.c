/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lines of a source that hold goals: by their beginning, or by a regular expression. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kythe/entries/verify_inside.h"

#define MATCH_STEPS 1000000 /* for one line */

struct line_pattern {
	pcre2_code *code;
	pcre2_match_data *match;
	pcre2_match_context *limits;
};

static struct mor_slice after_prefix(const char *prefix, const char *line, const char *end)
{
	size_t len = strlen(prefix);

	if ((size_t)(end - line) < len || memcmp(line, prefix, len) != 0)
		return (struct mor_slice){ 0 };
	return (struct mor_slice){ line + len, (size_t)(end - line) - len };
}

static struct mor_slice by_pattern(const struct line_pattern *pattern, const char *line, const char *end)
{
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(pattern->match);

	/* A group that did not take part in the match has no place. */
	if (pcre2_match(pattern->code, (PCRE2_SPTR)line, (PCRE2_SIZE)(end - line), 0, 0, pattern->match,
			pattern->limits) < 2 ||
	    ends[2] == PCRE2_UNSET)
		return (struct mor_slice){ 0 };
	return (struct mor_slice){ line + ends[2], ends[3] - ends[2] };
}

struct mor_slice mor_goal_line(const struct mor_verifier *v, const char *line, const char *end)
{
	struct mor_slice goals;

	if (v->pattern)
		return by_pattern(v->pattern, line, end);
	while (line < end && (*line == ' ' || *line == '\t'))
		line++;
	if (v->opt.prefix)
		return after_prefix(v->opt.prefix, line, end);
	goals = after_prefix("//-", line, end);
	/* for places where // does not work: a documentation comment */
	return goals.ptr ? goals : after_prefix("///-", line, end);
}

int mor_line_pattern_new(const char *regex, struct line_pattern **ret, mortise_error *err)
{
	struct line_pattern *pattern = mor_zalloc(sizeof(*pattern));
	PCRE2_SIZE at = 0;
	uint32_t groups = 0;
	char why[128] = "";
	int code = 0;

	if (!pattern)
		return MORTISE_ENOMEM;
	pattern->code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED,
				      PCRE2_ANCHORED | PCRE2_ENDANCHORED, &code, &at, NULL);
	if (!pattern->code) {
		pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof(why));
		mor_line_pattern_free(pattern);
		return mor_fail(err, MORTISE_EINVAL, "the regular expression \"%s\", at byte %zu: %s", regex,
				(size_t)at, why);
	}
	pcre2_pattern_info(pattern->code, PCRE2_INFO_CAPTURECOUNT, &groups);
	pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
	pattern->limits = pcre2_match_context_create(NULL);
	if (groups != 1 || !pattern->match || !pattern->limits) {
		mor_line_pattern_free(pattern);
		return groups == 1 ?
			       MORTISE_ENOMEM :
			       mor_fail(err, MORTISE_EINVAL,
					"the regular expression \"%s\" has %u groups: the goals must be its "
					"one group",
					regex, (unsigned)groups);
	}
	pcre2_set_match_limit(pattern->limits, MATCH_STEPS);
	*ret = pattern;
	return 0;
}

struct line_pattern *mor_line_pattern_free(struct line_pattern *pattern)
{
	if (!pattern)
		return NULL;
	pcre2_code_free(pattern->code);
	pcre2_match_data_free(pattern->match);
	pcre2_match_context_free(pattern->limits);
	return mor_free(pattern);
}
