/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's judgement over machines that we do not have. */
#include "leak.h"

#include <errno.h>
#include <string.h>

#include "host/doctor.h"

/* One where all is well. */
static struct mor_doctor_facts healthy(void)
{
	return (struct mor_doctor_facts){
		.kernel = "6.12.1",
		.kernel_major = 6,
		.kernel_minor = 12,
		.landlock = 6,
		.seccomp = { .killable = true, .add_fd_send = true, .sync_wake = true },
		.pipe_max = 1 << 20,
		.pipe_pages_soft = 16384,
		.userns_clone = -1,
		.userns_max = 1000,
		.userns_apparmor = -1,
		.files_soft = 1024,
		.files_hard = 4096,
		.python = "/usr/bin/python3 (Python 3.11)",
		.node = "/usr/bin/node (v20)",
		.helper = "/x/mortise-jail",
	};
}

static enum mor_doctor_finding judge(const struct mor_doctor_facts *facts, const char *name, char found[160],
				     const char **remedy)
{
	for (const struct mor_doctor_check *check = mor_doctor_checks; check->name; check++) {
		if (strcmp(check->name, name) != 0)
			continue;
		*remedy = check->remedy;
		return check->judge(facts, found, remedy);
	}
	fail_msg("no check %s", name);
	return MOR_FOUND_MISSING;
}

static void expect(const struct mor_doctor_facts *facts, const char *name, enum mor_doctor_finding want,
		   const char *found_part, const char *remedy_part)
{
	char found[160] = "";
	const char *remedy = NULL;

	assert_int_equal(judge(facts, name, found, &remedy), want);
	if (!strstr(found, found_part))
		fail_msg("%s: found \"%s\", not \"%s\"", name, found, found_part);
	if (remedy_part && (!remedy || !strstr(remedy, remedy_part)))
		fail_msg("%s: remedy \"%s\", not \"%s\"", name, remedy ? remedy : "", remedy_part);
}

static void test_healthy(void **state)
{
	struct mor_doctor_facts f = healthy();

	(void)state;
	for (const struct mor_doctor_check *check = mor_doctor_checks; check->name; check++) {
		char found[160] = "";
		const char *remedy = check->remedy;

		assert_int_equal(check->judge(&f, found, &remedy), MOR_FOUND_OK);
		assert_true(found[0] && check->promise && check->without && check->title);
	}
}

static void test_old_kernels(void **state)
{
	struct mor_doctor_facts f = healthy();

	(void)state;
	f.kernel_major = 5;
	expect(&f, "kernel", MOR_FOUND_LIMITED, "Linux", "6.1");
	f.landlock = 2;
	expect(&f, "landlock", MOR_FOUND_LIMITED, "ABI 2", "6.12");
	f.landlock = 1;
	expect(&f, "landlock", MOR_FOUND_MISSING, "ABI 1", NULL);
	f.landlock = 0;
	f.landlock_errno = EOPNOTSUPP;
	expect(&f, "landlock", MOR_FOUND_MISSING, "switched off", "lsm=landlock");
	f.landlock_errno = ENOSYS;
	expect(&f, "landlock", MOR_FOUND_MISSING, "not implemented", "CONFIG_SECURITY_LANDLOCK");
	f.seccomp.sync_wake = false;
	expect(&f, "seccomp", MOR_FOUND_LIMITED, "without fast wake-up", "6.6");
	f.seccomp.add_fd_send = false;
	expect(&f, "seccomp", MOR_FOUND_MISSING, "no descriptors", NULL);
	f.seccomp.filter = EBUSY;
	expect(&f, "seccomp", MOR_FOUND_MISSING, "refused", "already listens");
}

static void test_namespaces(void **state)
{
	struct mor_doctor_facts f = healthy();

	(void)state;
	f.ns = (struct mor_probe_namespaces){ EPERM, EPERM, EPERM, EPERM, EPERM, EPERM, EPERM };
	expect(&f, "userns", MOR_FOUND_MISSING, "refused", "container");
	f.userns_apparmor = 1;
	expect(&f, "pidns", MOR_FOUND_MISSING, "refused", "apparmor_restrict_unprivileged_userns=0");
	f.userns_max = 0;
	expect(&f, "netns", MOR_FOUND_MISSING, "refused", "user.max_user_namespaces");
	f.userns_clone = 0;
	expect(&f, "mountns", MOR_FOUND_MISSING, "refused", "unprivileged_userns_clone=1");
	/* Ubuntu: the namespace can be made, but nothing can be done in it. */
	f = healthy();
	f.userns_apparmor = 1;
	f.ns.minimal_root = EACCES;
	expect(&f, "userns", MOR_FOUND_OK, "works", NULL);
	expect(&f, "mountns", MOR_FOUND_MISSING, "refused", "AppArmor profile");
}

static void test_rest(void **state)
{
	struct mor_doctor_facts f = healthy();

	(void)state;
	f.python[0] = '\0';
	expect(&f, "python", MOR_FOUND_MISSING, "not found", "apt install");
	f.files_soft = 256;
	expect(&f, "files", MOR_FOUND_LIMITED, "about 51 plugins", "ulimit");
	f.pipe_max = 65536;
	expect(&f, "pipes", MOR_FOUND_LIMITED, "64 KiB", "pipe-max-size");
	f.helper_error = (mortise_error){ .code = MORTISE_EJAIL,
					  .text = "mortise-jail and the library are of different versions" };
	expect(&f, "helper", MOR_FOUND_MISSING, "different versions", "install");
	f.groups = (struct mor_cgroups){ .mounted = MOR_CGROUP_PIDS | MOR_CGROUP_MEMORY,
					 .places = { { 2, MOR_CGROUP_PIDS, "/" } },
					 .count = 1 };
	expect(&f, "cgroup", MOR_FOUND_OK,
	       "threads (pids): version 2; memory: not writable for this user; cpu: not there", NULL);
}

/* A program that hangs, one that says nothing, one that is not there. */
static void test_version(void **state)
{
	char out[40];

	(void)state;
	assert_true(mor_doctor_version("/usr/bin/python3", out, sizeof(out)));
	assert_int_equal(strncmp(out, "Python 3", 8), 0);
	assert_false(mor_doctor_version("/bin/false", out, sizeof(out)) && !*out);
	assert_false(mor_doctor_version("/no/such/program", out, sizeof(out)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_healthy), MOR_TEST(test_old_kernels), MOR_TEST(test_namespaces),
		MOR_TEST(test_rest),    MOR_TEST(test_version),
	};

	return mor_run_group("host/doctor", tests);
}
