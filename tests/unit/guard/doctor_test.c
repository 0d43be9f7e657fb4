/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's judgement over machines that we do not have. */
#include "leak.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "guard/doctor.h"

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
	f.ns = (struct mor_probe_namespaces){ EPERM, EPERM, EPERM, EPERM, EPERM, EPERM, EPERM, EPERM };
	expect(&f, "userns", MOR_FOUND_MISSING, "refused", "seccomp profile");
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

#define FOR_DOCKER \
	"--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt " \
	"systempaths=unconfined"
#define FOR_PODMAN "--security-opt seccomp=unconfined --security-opt unmask=ALL"

/* What is refused where, and the place that is named for it. */
static void test_places(void **state)
{
	static const struct {
		const char *container;
		int user, root, proc, uts, apparmor;
		const char *place;
	} rows[] = {
		{ "", 0, 0, 0, 0, -1, "" },
		{ "docker", 0, 0, 0, 0, -1, "in a Docker container" },
		{ "docker", EPERM, EPERM, EPERM, EPERM, 1,
		  "in a Docker container: user namespaces are refused; t1 needs " FOR_DOCKER },
		{ "docker", 0, EACCES, EACCES, 0, -1,
		  "in a Docker container: user namespaces give no rights; t1 needs " FOR_DOCKER },
		{ "podman", 0, 0, EPERM, 0, -1,
		  "in a Podman container: /proc is masked; t1 needs " FOR_PODMAN },
		{ "podman", 0, 0, 0, EPERM, -1,
		  "in a Podman container: a namespace cannot have a host name; t1 needs " FOR_PODMAN },
		{ "kubernetes", 0, 0, EPERM, 0, -1,
		  "in a pod of Kubernetes: /proc is masked; t1 needs securityContext: {seccompProfile: {type: "
		  "Unconfined}, appArmorProfile: {type: Unconfined}, procMount: Unmasked}, and hostUsers: "
		  "false" },
		{ "lxc", EPERM, EPERM, EPERM, EPERM, -1,
		  "in a container: user namespaces are refused; t1 needs a seccomp profile that allows clone "
		  "with CLONE_NEW*, unshare and mount, and an unmasked /proc" },
		{ "", 0, EPERM, EPERM, 0, 1,
		  "user namespaces give no rights; t1 needs sysctl "
		  "kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile with \"userns,\" for "
		  "mortise-jail" },
	};
	struct mor_doctor_facts unknown = healthy();
	char place[MOR_DOCTOR_PLACE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct mor_doctor_facts f = healthy();

		f.ns.user = rows[i].user;
		f.ns.minimal_root = rows[i].root;
		f.ns.proc = rows[i].proc;
		f.ns.uts = rows[i].uts;
		f.userns_apparmor = rows[i].apparmor;
		snprintf(f.container, sizeof(f.container), "%s", rows[i].container);
		mor_doctor_place(&f, !rows[i].user && !rows[i].root && !rows[i].proc && !rows[i].uts, place);
		assert_string_equal(place, rows[i].place);
	}
	snprintf(unknown.container, sizeof(unknown.container), "podman");
	mor_doctor_place(&unknown, false, place);
	assert_string_equal(place,
			    "in a Podman container: something that t1 needs is refused; t1 needs " FOR_PODMAN);
}

static void test_descriptors(void **state)
{
	struct mor_doctor_facts f = healthy();

	(void)state;
	f.getfd = EPERM;
	expect(&f, "getfd", MOR_FOUND_LIMITED, "refused: Operation not permitted", "a seccomp profile");
	snprintf(f.container, sizeof(f.container), "docker");
	expect(&f, "getfd", MOR_FOUND_LIMITED, "refused", "docker run --cap-add=SYS_PTRACE");
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
		MOR_TEST(test_places),  MOR_TEST(test_descriptors), MOR_TEST(test_rest),
		MOR_TEST(test_version),
	};

	return mor_run_group("guard/doctor", tests);
}
