/* SPDX-License-Identifier: Apache-2.0 */
/* Surface of the kernel that no plugin needs. What would harm the machine is called with arguments that cannot
 * take effect; the row then counts as an escape when the kernel judged the arguments (REACHES). */
#include "attempt.h"

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/time.h>
#include <time.h>

#define CALL(name, how, ...) \
	static struct result name(const struct stage *s) \
	{ \
		(void)s; \
		return got(how, syscall(__VA_ARGS__)); \
	}
#define REACH(name, how, ...) \
	static struct result name(const struct stage *s) \
	{ \
		(void)s; \
		return reached(how, syscall(__VA_ARGS__)); \
	}

static struct result k_bpf(const struct stage *s)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
	};

	(void)s;
	return got("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static struct result k_perf(const struct stage *s)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
	};

	(void)s;
	return got("perf_event_open", syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static struct result k_fanotify(const struct stage *s)
{
	(void)s;
	return got("fanotify_init", syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY));
}

static struct result k_reqkey(const struct stage *s)
{
	long id = syscall(SYS_request_key, "user", "mortise-no-such-key", NULL, KEY_SPEC_USER_KEYRING);

	(void)s; /* ENOKEY: it looked */
	return id >= 0 || errno == ENOKEY ? yes("request_key") : no("request_key");
}

static struct result k_seccomp_listener(const struct stage *s)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, allow };

	(void)s;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return got("NEW_LISTENER",
		   syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

static struct result k_dumpable(const struct stage *s)
{
	(void)s;
	return got("dumpable", prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}
/* To outlive its guardian. */
static struct result k_pdeathsig(const struct stage *s)
{
	(void)s;
	return got("no signal at its parent's death", prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
}
static struct result k_ptracer(const struct stage *s)
{
	(void)s;
	return reached("ptracer", prctl(PR_SET_PTRACER, -1, 0, 0, 0));
}

/* On standard input, which is no terminal here: ENOTTY says that no filter stood in the way. */
static struct result k_tiocsti(const struct stage *s)
{
	(void)s;
	return reached("TIOCSTI", ioctl(0, TIOCSTI, "x"));
}
REACH(k_tiocsti_hi, "TIOCSTI with high bits", SYS_ioctl, 0, 0x100000000UL | TIOCSTI, "x")
static struct result k_tioclinux(const struct stage *s)
{
	(void)s;
	return reached("TIOCLINUX", ioctl(0, TIOCLINUX, "\x02"));
}

static struct result k_setuid0(const struct stage *s)
{
	uid_t other = getuid() ? 0 : 1; /* to stay who one is changes nothing */

	(void)s;
	return got("setresuid", syscall(SYS_setresuid, other, other, other));
}
static struct result k_setgroups(const struct stage *s)
{
	(void)s;
	return got("setgroups", syscall(SYS_setgroups, 0, NULL));
}

static struct result k_capset(const struct stage *s)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 1u << CAP_SYS_ADMIN, 1u << CAP_SYS_ADMIN, 0 } };

	(void)s;
	return got("capset", syscall(SYS_capset, &head, data));
}

/* No attempt of ours raises them; they just must not be there. */
static struct result k_caps_kept(const struct stage *s)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	(void)s;
	if (syscall(SYS_capget, &head, data) < 0)
		return no("capget");
	errno = 0;
	return data[0].effective | data[0].permitted | data[1].effective | data[1].permitted ?
		       yes("capabilities left") :
		       no("no capability left");
}

static struct result k_nnp(const struct stage *s)
{
	(void)s;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? no("no_new_privs is set") :
							     yes("no_new_privs is not set");
}

static struct result k_syslog(const struct stage *s)
{
	char buf[256];

	(void)s;
	return got("syslog", klogctl(3, buf, sizeof(buf)));
}

static struct result k_personality(const struct stage *s)
{
	(void)s;
	return got("personality", personality(ADDR_NO_RANDOMIZE));
}

static struct result k_listmount(const struct stage *s)
{
	struct {
		uint32_t size, spare;
		uint64_t mnt_id, param, ns;
	} request = { .size = 24, .mnt_id = ~0ULL };
	uint64_t ids[16];

	(void)s;
	return got("listmount", syscall(458, &request, ids, 16, 0));
}

static struct result k_clock(const struct stage *s)
{
	const struct timespec wrong = { .tv_nsec = 2000000000L };

	(void)s;
	return reached("clock_settime", syscall(SYS_clock_settime, CLOCK_REALTIME, &wrong));
}

CALL(k_userfaultfd, "userfaultfd", SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY)
CALL(k_keyctl, "keyctl", SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING, 1)
CALL(k_addkey, "add_key", SYS_add_key, "user", "mortise-attempt", "x", 1, KEY_SPEC_PROCESS_KEYRING)
CALL(k_io_setup, "io_setup", SYS_io_setup, 1, &(unsigned long){ 0 })
CALL(k_memfd_secret, "memfd_secret", 447, 0)
CALL(k_uring, "io_uring_setup", 425, 1, &(char[256]){ 0 })
CALL(k_robust, "get_robust_list", SYS_get_robust_list, s->host, &(void *){ NULL }, &(size_t){ 0 })
REACH(k_reboot, "reboot with a wrong magic", SYS_reboot, 0, 0, 0, NULL)
REACH(k_kexec, "kexec_load with wrong flags", SYS_kexec_load, 0, 0, NULL, ~0UL)
REACH(k_module, "init_module of nothing", SYS_init_module, NULL, 0, NULL)
REACH(k_delmodule, "delete_module of none", SYS_delete_module, "mortise-no-such-module", O_NONBLOCK)
REACH(k_swapon, "swapon of nothing", SYS_swapon, "/nonexistent/mortise", 0)
REACH(k_acct, "acct of nothing", SYS_acct, "/nonexistent/mortise")
REACH(k_quotactl, "quotactl of nothing", SYS_quotactl, 0x80000700, "/nonexistent/mortise", 0, NULL)
REACH(k_hostname, "sethostname of length -1", SYS_sethostname, "x", -1)
REACH(k_unknown, "a number that no kernel has", 0x3ff0)
#ifdef __x86_64__
REACH(k_iopl, "iopl", SYS_iopl, 4)
REACH(k_ioperm, "ioperm", SYS_ioperm, 0, 0, 0)
REACH(k_ldt, "modify_ldt", SYS_modify_ldt, 0, &(char[16]){ 0 }, 16)
CALL(k_x32, "x32 getpid", 0x40000000 + 39)
static struct result k_int80(const struct stage *s)
{
	long pid = int80(20, 0, 0, 0);

	(void)s;
	if (pid < 0)
		errno = (int)-pid;
	return got("int 0x80 getpid", pid);
}
#endif

#define K "kernel"
const struct attempt kernel_attempts[] = {
	{ "k_bpf", K, 69, 'D', 0, 0, 0, k_bpf },
	{ "k_perf", K, 69, 'D', 0, 0, 0, k_perf },
	{ "k_userfaultfd", K, 69, 'D', 0, 0, 0, k_userfaultfd },
	{ "k_fanotify", K, 69, 'D', 0, 0, 0, k_fanotify },
	{ "k_keyctl", K, 70, 'D', 0, 0, 0, k_keyctl },
	{ "k_reqkey", K, 70, 'D', 0, 0, 0, k_reqkey },
	{ "k_addkey", K, 70, 'D', 0, 0, 0, k_addkey },
	{ "k_dumpable", K, 71, 'B', 0, 0, 0, k_dumpable },
	{ "k_pdeathsig", K, 0, 'B', 0, 0, 0, k_pdeathsig },
	{ "k_ptracer", K, 0, 'B', 0, 0, REACHES, k_ptracer },
	{ "k_seccomp_listener", K, 72, 'B', 0, 0, 0, k_seccomp_listener },
	{ "k_tiocsti", K, 73, 'D', 0, 0, REACHES, k_tiocsti },
	{ "k_tiocsti_hi", K, 73, 'D', 0, 0, REACHES, k_tiocsti_hi },
	{ "k_tioclinux", K, 73, 'D', 0, 0, REACHES, k_tioclinux },
	{ "k_setuid0", K, 74, 'E', 0, 0, 0, k_setuid0 },
	{ "k_setgroups", K, 74, 'E', 0, 0, 0, k_setgroups },
	{ "k_capset", K, 74, 'E', 0, 0, 0, k_capset },
	{ "k_caps_kept", K, 74, 'B', 0, 0, 0, k_caps_kept },
	{ "k_nnp", K, 74, 'B', 0, 0, 0, k_nnp },
	{ "k_syslog", K, 75, 'D', 0, 0, 0, k_syslog },
	{ "k_personality", K, 75, 'B', 0, 0, 0, k_personality },
	{ "k_listmount", K, 75, 'B', 0, 0, 0, k_listmount },
	{ "k_clock", K, 75, 'D', 0, 0, REACHES, k_clock },
	{ "k_io_setup", K, 0, 'B', 0, 0, 0, k_io_setup },
	{ "k_memfd_secret", K, 0, 'B', 0, 0, 0, k_memfd_secret },
	{ "k_uring", K, 24, 'B', 0, 0, 0, k_uring },
	{ "k_robust", K, 0, 'B', 0, 0, 0, k_robust },
	{ "k_reboot", K, 75, 'D', 0, 0, REACHES, k_reboot },
	{ "k_kexec", K, 75, 'D', 0, 0, REACHES, k_kexec },
	{ "k_module", K, 75, 'D', 0, 0, REACHES, k_module },
	{ "k_delmodule", K, 75, 'D', 0, 0, REACHES, k_delmodule },
	{ "k_swapon", K, 75, 'D', 0, 0, REACHES, k_swapon },
	{ "k_acct", K, 75, 'D', 0, 0, REACHES, k_acct },
	{ "k_quotactl", K, 75, 'D', 0, 0, REACHES, k_quotactl },
	{ "k_hostname", K, 75, 'D', 0, 0, REACHES, k_hostname },
	{ "k_unknown", K, 0, 'B', 0, 0, REACHES, k_unknown },
#ifdef __x86_64__
	{ "k_iopl", K, 75, 'D', 0, 0, REACHES, k_iopl },
	{ "k_ioperm", K, 75, 'D', 0, 0, REACHES, k_ioperm },
	{ "k_ldt", K, 75, 'D', 0, 0, REACHES, k_ldt },
	{ "k_x32", K, 25, 'D', 0, 0, 0, k_x32 },
	{ "k_int80", K, 25, 'D', 0, 0, 0, k_int80 },
#endif
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
