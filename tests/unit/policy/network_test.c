/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/alloc.h"
#include "base/error.h"
#include "leak.h"
#include "policy/network.h"
#include "policy/plan.h"
#include "policy/policy.h"

static struct mor_net_place place_of(const char *text)
{
	struct mor_net_word word;

	assert_true(mor_net_parse(mor_slice_of(text), &word));
	assert_int_not_equal(word.host, MOR_NET_NAME);
	return word.place;
}

/* ---- words ---- */

/* clang-format off */
static const struct {
	const char *text;
	enum mor_net_host host;
	unsigned port;
} good_words[] = {
	{ "api.example.com:443", MOR_NET_NAME, 443 }, { "localhost:1", MOR_NET_NAME, 1 },
	{ "a-b_c.d:65535", MOR_NET_NAME, 65535 }, { "3com.example:80", MOR_NET_NAME, 80 },
	{ "127.0.0.1:8080", MOR_NET_ADDRESS, 8080 }, { "[::1]:8080", MOR_NET_ADDRESS, 8080 },
	{ "[::ffff:1.2.3.4]:5", MOR_NET_ADDRESS, 5 }, { "[fe80::1]:22", MOR_NET_ADDRESS, 22 },
	{ "*:443", MOR_NET_ANY, 443 },
};
static const char *const bad_words[] = {
	"", ":", "a", "a:", ":80", "a:0", "a:65536", "a:-1", "a:http", "a:80 ", "a b:80", "*:*", "*.x:443",
	"::1:80", "[::1]", "[::1]:", "[::1:80", "[]:80", "[1.2.3.4]:80", "1.2.3:80", "1.2.3.256:80",
	"0x7f.1:80", "2130706433:80", "010.0.0.1:80", "a..b:80", ".a:80", "a.:80", "http://a:80", "a/b:80",
	"a,b:80", "\xc3\xa4.de:80", "[fe80::1%eth0]:80", "127.0.0.1:08080x",
};
/* clang-format on */

static void test_words(void **state)
{
	struct mor_net_word word;

	(void)state;
	for (size_t i = 0; i < sizeof(good_words) / sizeof(*good_words); i++) {
		assert_true(mor_net_parse(mor_slice_of(good_words[i].text), &word));
		assert_int_equal(word.host, good_words[i].host);
		assert_int_equal(word.place.port, good_words[i].port);
		assert_int_equal(word.place.any, good_words[i].host == MOR_NET_ANY);
	}
	for (size_t i = 0; i < sizeof(bad_words) / sizeof(*bad_words); i++)
		if (mor_net_parse(mor_slice_of(bad_words[i]), &word))
			fail_msg("\"%s\" is no place", bad_words[i]);
}

static void test_text(void **state)
{
	static const char *const same[] = { "127.0.0.1:8080", "[::1]:80", "[2001:db8::7]:443", "*:443" };
	char text[MOR_NET_TEXT];

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		struct mor_net_place place = place_of(same[i]);

		assert_string_equal(mor_net_text(&place, text), same[i]);
	}
	/* one form of each */
	assert_string_equal(mor_net_text(&(struct mor_net_place){ .address = { [10] = 0xff,
									       [11] = 0xff,
									       1,
									       2,
									       3,
									       4 },
								  .port = 5 },
					 text),
			    "1.2.3.4:5");
}

/* ---- what "*" does not mean ---- */

/* clang-format off */
static const char *const public_ones[] = {
	"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
	"126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
	"192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
	"[2000::1]", "[2606:4700:4700::1111]", "[2a00::1]", "[3ffe::1]", "[2001:200::1]",
	"[2001:4860::8888]",
	/* forms of public ones */
	"[::ffff:8.8.8.8]", "[64:ff9b::8.8.8.8]", "[2002:808:808::1]", "[2a00::5efe:8.8.8.8]",
	"[2a00::200:5efe:808:808]",
};
static const char *const others[] = {
	"0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200",
	"100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.0.1", "169.254.169.254", "172.16.0.0",
	"172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255",
	"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255",
	"240.0.0.1", "255.255.255.255", "[::]", "[::1]", "[::2]", "[::127.0.0.1]", "[::8.8.8.8]",
	"[fe80::1]", "[febf::1]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[100::1]",
	"[2001::1]", "[2001:10::1]", "[2001:1ff::1]", "[2001:db8::1]", "[3fff::1]", "[4000::1]",
	"[5f00::1]", "[1fff::1]",
	/* forms of those */
	"[::ffff:127.0.0.1]", "[::ffff:10.1.2.3]", "[::ffff:169.254.169.254]", "[::ffff:0.0.0.0]",
	"[64:ff9b::127.0.0.1]", "[64:ff9b::10.0.0.1]", "[64:ff9b::169.254.169.254]", "[64:ff9b:1::8.8.8.8]",
	"[2002:7f00:1::1]", "[2002:a00:1::1]", "[2002:a9fe:a9fe::1]", "[2002:c0a8:101::1]",
	"[2a00::5efe:10.0.0.1]", "[2a00::200:5efe:127.0.0.1]", "[::ffff:0:127.0.0.1]",
};
/* clang-format on */

static void test_public(void **state)
{
	char text[80];

	(void)state;
	for (size_t i = 0; i < sizeof(public_ones) / sizeof(*public_ones); i++) {
		snprintf(text, sizeof(text), "%s:443", public_ones[i]);
		if (!mor_net_is_public(place_of(text).address))
			fail_msg("%s is public", public_ones[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		snprintf(text, sizeof(text), "%s:443", others[i]);
		if (mor_net_is_public(place_of(text).address))
			fail_msg("%s is not public", others[i]);
	}
}

static void test_allows(void **state)
{
	const struct mor_net_place list[] = { place_of("127.0.0.1:8080"), place_of("*:443"),
					      place_of("[2001:db8::1]:80"), place_of("10.0.0.1:22") };
	static const struct {
		const char *to;
		bool allowed;
	} rows[] = {
		{ "127.0.0.1:8080", true },       { "[::ffff:127.0.0.1]:8080", true },
		{ "127.0.0.1:8081", false },      { "127.0.0.1:443", false },
		{ "127.0.0.2:8080", false },      { "0.0.0.0:8080", false },
		{ "[::]:8080", false },           { "[::1]:8080", false },
		{ "8.8.8.8:443", true },          { "8.8.8.8:80", false },
		{ "10.0.0.1:443", false },        { "10.0.0.1:22", true },
		{ "[2001:db8::1]:80", true },     { "[2001:db8::2]:80", false },
		{ "[2001:db8::1]:443", false },   { "[2606:4700::1]:443", true },
		{ "169.254.169.254:443", false }, { "[64:ff9b::7f00:1]:443", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mor_net_place to = place_of(rows[i].to);

		if (mor_net_allows(list, sizeof(list) / sizeof(*list), &to) != rows[i].allowed)
			fail_msg("%s", rows[i].to);
	}
	assert_false(mor_net_allows(NULL, 0, &list[0]));
}

static void test_twin(void **state)
{
	const struct mor_net_place list[] = { place_of("127.0.0.1:80"), place_of("[::1]:81"),
					      place_of("*:82") };
	static const struct {
		const char *to;
		bool twin;
	} rows[] = {
		{ "[::1]:80", true },      { "127.0.0.1:81", true }, { "127.0.0.1:80", false },
		{ "[::1]:82", false },     { "[::1]:83", false },    { "[::2]:80", false },
		{ "127.0.0.2:81", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mor_net_place to = place_of(rows[i].to);

		if (mor_net_allows_twin(list, sizeof(list) / sizeof(*list), &to) != rows[i].twin)
			fail_msg("%s", rows[i].to);
	}
}

/* ---- socket addresses ---- */

static void test_socket_addresses(void **state)
{
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(80) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(81), .sin6_scope_id = 2 };
	struct sockaddr_un path = { .sun_family = AF_UNIX };
	struct mor_net_place place;
	char text[MOR_NET_TEXT];

	(void)state;
	inet_pton(AF_INET, "192.0.2.1", &four.sin_addr);
	inet_pton(AF_INET6, "fe80::1", &six.sin6_addr);
	assert_true(mor_net_place(&four, sizeof(four), &place));
	assert_string_equal(mor_net_text(&place, text), "192.0.2.1:80");
	assert_true(mor_net_place(&six, sizeof(six), &place));
	assert_string_equal(mor_net_text(&place, text), "[fe80::1]:81");
	assert_true(mor_net_place(&six, 24, &place)); /* the kernel takes it without the scope, too */
	assert_false(mor_net_place(&six, 23, &place));
	assert_false(mor_net_place(&four, sizeof(four) - 1, &place));
	assert_false(mor_net_place(&four, 1, &place));
	assert_false(mor_net_place(&path, sizeof(path), &place));
}

/* ---- as a policy ---- */

static void test_policy(void **state)
{
	struct mor_policy p = MOR_POLICY_INIT;
	mortise_error err;

	(void)state;
	assert_int_equal(mor_policy_set(&p, "network", "127.0.0.1:80, [::1]:81", &err), 0);
	assert_int_equal(mor_policy_set(&p, "network", "*:443", &err), 0);
	assert_string_equal(p.network.to[1], "[::1]:81");
	assert_string_equal(p.network.to[2], "*:443");
	assert_null(p.network.to[3]);
	assert_int_equal(mor_policy_set(&p, "network", "elsewhere", &err), MORTISE_EMANIFEST);
	assert_string_equal(err.text, "network is \"elsewhere\": it must be " MOR_NET_WANTED);
	assert_int_equal(mor_policy_set(&p, "network", "a:1,", &err), MORTISE_EMANIFEST);
	assert_int_equal(mor_policy_set(&p, "network", "true", &err), 0);
	assert_true(p.network.all && !p.network.to);
	assert_int_equal(mor_policy_set(&p, "network", "127.0.0.1:80", &err), 0);
	assert_true(!p.network.all && p.network.to);
	assert_int_equal(mor_policy_set(&p, "network", NULL, &err), 0);
	assert_true(!p.network.all && !p.network.to);
	mor_policy_fini(&p);
}

static void looked_up(const char *list, const char *places, const char *hosts)
{
	struct mor_policy p = { .level = MOR_LEVEL_AUTO };
	MOR_CLEAN(mor_buf) struct mor_buf got = MOR_BUF_INIT;
	mortise_error err;
	char text[MOR_NET_TEXT];

	assert_int_equal(mor_policy_set(&p, "network", list, &err), 0);
	assert_int_equal(mor_policy_look_up(&p, &err), 0);
	for (size_t i = 0; i < p.network.count; i++)
		mor_buf_printf(&got, "%s ", mor_net_text(&p.network.places[i], text));
	mor_buf_byte(&got, '\0');
	assert_string_equal(got.data, places);
	assert_string_equal(p.network.hosts, hosts);
	assert_int_equal(mor_policy_look_up(&p, &err), 0); /* once */
	mor_policy_fini(&p);
}

static void said(const char *list, const char *line, const char *json)
{
	struct mor_policy p = { .level = MOR_LEVEL_T0 };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	mortise_error err;

	assert_int_equal(mor_policy_set(&p, "network", list, &err), 0);
	assert_int_equal(mor_policy_json(&p, &text), 0);
	mor_buf_byte(&text, '\0');
	assert_non_null(strstr(text.data, line));
	assert_non_null(strstr(text.data, json));
	mor_policy_fini(&p);
}

static void test_words_for_people(void **state)
{
	(void)state;
	said("true", "may use the network: any host, also this machine's own services and the cloud's metadata",
	     "\"network\":true");
	said("false", "\"may not use the network\"", "\"network\":false");
	said("*:443,127.0.0.1:80", "may connect (TCP only, no name service) to: *:443, 127.0.0.1:80\"",
	     "\"network\":[\"*:443\",\"127.0.0.1:80\"]");
}

/* What the library writes, mortise-jail reads; half a place is damage. */
static void test_plan(void **state)
{
	static const char *const argv[] = { "/bin/true", NULL }, *const env[] = { NULL };
	const struct mor_plan_command command = { .argv = argv, .env = env, .host = 42 };
	struct mor_policy p = { .level = MOR_LEVEL_T0 };
	MOR_CLEAN(mor_buf) struct mor_buf buf = MOR_BUF_INIT, half = MOR_BUF_INIT;
	struct mor_plan plan;
	mortise_error err;

	(void)state;
	assert_int_equal(mor_policy_set(&p, "network", "127.0.0.1:80,*:443", &err), 0);
	assert_int_equal(mor_policy_look_up(&p, &err), 0);
	assert_int_equal(mor_plan_make(&buf, &command, &p), 0);
	assert_int_equal(mor_plan_read(buf.data, buf.len, &plan), MOR_PLAN_OK);
	assert_int_equal(plan.level.flags & (MOR_JAIL_NETWORK | MOR_JAIL_PLACES), MOR_JAIL_PLACES);
	assert_int_equal(plan.place_count, 2);
	assert_memory_equal(plan.places, p.network.places, 2 * sizeof(*plan.places));
	assert_string_equal(plan.hosts, "127.0.0.1\tlocalhost\n");
	mor_plan_fini(&plan);
	assert_int_equal(mor_plan_begin(&half), 0);
	assert_int_equal(mor_plan_add(&half, MOR_OP_NETWORK, p.network.places, sizeof(*p.network.places) - 1),
			 0);
	assert_int_equal(mor_plan_read(half.data, half.len, &plan), MOR_PLAN_DAMAGED);
	mor_plan_fini(&plan);
	mor_policy_fini(&p);
}

/* Names that need no name service: "localhost" and whatever is a number. */
static void test_look_up(void **state)
{
	struct mor_policy p = { .level = MOR_LEVEL_AUTO };
	mortise_error err;

	(void)state;
	looked_up("127.0.0.1:80,127.0.0.1:81", "127.0.0.1:80 127.0.0.1:81 ", "127.0.0.1\tlocalhost\n");
	looked_up("[::1]:80", "[::1]:80 ", "::1\tlocalhost\n");
	looked_up("*:443", "*:443 ", "");
	assert_int_equal(mor_policy_set(&p, "network", "no-such-name.invalid:80", &err), 0);
	assert_int_equal(mor_policy_look_up(&p, &err), MORTISE_EJAIL);
	assert_non_null(strstr(err.text, "network: no-such-name.invalid: "));
	mor_policy_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_words),  MOR_TEST(test_text),    MOR_TEST(test_public),
		MOR_TEST(test_allows), MOR_TEST(test_twin),    MOR_TEST(test_socket_addresses),
		MOR_TEST(test_policy), MOR_TEST(test_look_up), MOR_TEST(test_words_for_people),
		MOR_TEST(test_plan),
	};

	return mor_run_group("policy/network", tests);
}
