/* SPDX-License-Identifier: Apache-2.0 */
/* What every confined program may read, what `network` and `spawn` add to it. Why these lists:
 * docs/design/0003-jail.md, "What may be read". */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "jail/paths.h"

#define R  MOR_MAY_READ
#define RW (MOR_MAY_READ | MOR_MAY_WRITE)
#define RX (MOR_MAY_READ | MOR_MAY_EXECUTE)

struct default_place {
	const char *path;
	uint8_t access;
};

/* clang-format off */
static const struct default_place always[] = {
	{ "/lib", R }, { "/lib64", R }, { "/lib32", R }, { "/usr/lib", R }, { "/usr/lib64", R },
	{ "/usr/lib32", R },
	{ "/usr/libexec", R }, { "/usr/local/lib", R },
	{ "/usr/share/zoneinfo", R }, { "/usr/share/locale", R }, { "/usr/share/i18n", R },
	{ "/usr/share/terminfo", R },
	{ "/usr/share/nodejs", R }, { "/usr/share/python3", R }, { "/usr/share/icu", R },
	{ "/usr/share/ca-certificates", R }, { "/usr/share/javascript", R },
	{ "/etc/ld.so.cache", R }, { "/etc/ld.so.conf", R }, { "/etc/ld.so.conf.d", R },
	{ "/etc/localtime", R },
	{ "/etc/timezone", R }, { "/etc/locale.alias", R }, { "/etc/mime.types", R }, { "/etc/os-release", R },
	{ "/etc/debian_version", R }, { "/etc/inputrc", R }, { "/etc/nsswitch.conf", R },
	{ "/etc/alternatives", R },
	{ "/etc/ssl/openssl.cnf", R }, { "/etc/python3", R }, { "/etc/python3.9", R }, { "/etc/python3.10", R },
	{ "/etc/python3.11", R }, { "/etc/python3.12", R }, { "/etc/python3.13", R }, { "/etc/python3.14", R },
	{ "/dev/random", R }, { "/dev/urandom", R }, { "/dev/null", RW }, { "/dev/zero", RW },
	{ "/dev/full", RW },
	{ "/proc/meminfo", R }, { "/proc/cpuinfo", R }, { "/proc/stat", R }, { "/proc/uptime", R },
	{ "/proc/loadavg", R }, { "/proc/version", R }, { "/proc/filesystems", R }, { "/proc/cgroups", R },
	{ "/proc/vmstat", R },
	{ "/proc/sys/vm/overcommit_memory", R }, { "/proc/sys/kernel/osrelease", R },
	{ "/proc/sys/kernel/cap_last_cap", R }, { "/proc/sys/kernel/random/boot_id", R },
	{ "/sys/devices/system/cpu", R }, { "/sys/devices/system/node", R },
	{ "/sys/kernel/mm/transparent_hugepage", R },
	{ NULL, 0 },
};
static const struct default_place with_network[] = {
	{ "/etc/resolv.conf", R }, { "/etc/hosts", R }, { "/run/systemd/resolve", R },
	{ NULL, 0 },
};
/* Also with a list of places, where names are in a /etc/hosts of our own. */
static const struct default_place with_connections[] = {
	{ "/etc/host.conf", R }, { "/etc/gai.conf", R }, { "/etc/services", R }, { "/etc/protocols", R },
	{ "/etc/ssl/certs", R }, { "/etc/ca-certificates", R },
	{ NULL, 0 },
};
/* Programs and what comes with them. The rule of /usr/share takes the place of those above that lie in it.
 * sbin is left out: its programs are for administrators; texts for people are too. Of /etc only what packages
 * put there, and where no password is kept. */
static const struct default_place with_spawn[] = {
	{ "/usr/bin", RX }, { "/bin", RX }, { "/usr/local/bin", RX },
	{ "/usr/lib", RX }, { "/usr/lib64", RX }, { "/usr/lib32", RX }, { "/lib", RX }, { "/lib64", RX },
	{ "/lib32", RX }, { "/usr/libexec", RX }, { "/usr/local/lib", RX }, { "/usr/local/libexec", RX },
	{ "/usr/include", R }, { "/usr/share", R },
	{ "/usr/share/doc", 0 }, { "/usr/share/common-licenses", 0 },
	{ "/usr/local/include", R }, { "/usr/local/share", R },
	{ "/etc/magic", R }, { "/etc/magic.mime", R }, { "/etc/manpath.config", R },
	{ "/etc/groff", R }, { "/etc/fonts", R }, { "/etc/terminfo", R },
	{ "/etc/lsb-release", R },
	{ "/etc/java-8-openjdk", R }, { "/etc/java-11-openjdk", R },
	{ "/etc/java-17-openjdk", R }, { "/etc/java-21-openjdk", R }, { "/etc/java-25-openjdk", R },
	{ NULL, 0 },
};
/* clang-format on */
static const char *const loaders[] = {
	"/lib64/ld-linux-x86-64.so.2",
	"/lib/ld-linux-aarch64.so.1",
	"/lib/ld-musl-x86_64.so.1",
	"/lib/ld-musl-aarch64.so.1",
};

static bool lies_inside(const struct default_place *place, const char *path)
{
	size_t len = strlen(place->path);

	return mor_path_is_within(path, place->path, len) && path[len];
}

/* Fewer rules: at t1 each one is a mount. */
static bool is_spared(const struct default_place *place, bool spawn)
{
	for (const struct default_place *more = with_spawn; spawn && more->path; more++)
		if (lies_inside(more, place->path))
			return true;
	return false;
}

static int add_places(struct mor_paths *paths, const struct default_place *place, bool spawn,
		      enum mor_path_origin origin)
{
	int status = 0;

	for (; status == 0 && place->path; place++)
		if (!is_spared(place, spawn))
			status = mor_paths_add(paths, place->path, place->access, origin);
	return status;
}

/* ---- toolchains ---- */

static int add_toolchain(struct mor_paths *paths, const char *parent, const char *name,
			 enum mor_path_origin origin)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/%s/bin", parent, name);
	struct stat st;

	if (name[0] == '.' || len < 4 || (size_t)len >= sizeof(path) || stat(path, &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return 0;
	path[len - 4] = 0;
	return mor_paths_add(paths, path, RX, origin);
}

/* What is installed beside the system's own, each in a directory with a bin in it: /opt/gcc-14,
 * /usr/local/go. */
static int add_toolchains(struct mor_paths *paths, const char *parent, enum mor_path_origin origin)
{
	char batch[2048] __attribute__((aligned(8)));
	int dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = 0;
	long got;

	if (dir < 0)
		return 0;
	while (status == 0 && (got = syscall(SYS_getdents64, dir, batch, sizeof(batch))) > 0) {
		for (long at = 0; status == 0 && at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(batch + at);

			at += entry->d_reclen;
			status = add_toolchain(paths, parent, entry->d_name, origin);
		}
	}
	close(dir);
	return status;
}

static int add_programs(struct mor_paths *paths, enum mor_path_origin origin)
{
	int status = add_places(paths, with_spawn, false, origin);

	for (size_t i = 0; status == 0 && i < sizeof(loaders) / sizeof(*loaders); i++)
		status = mor_paths_add(paths, loaders[i], RX, MOR_PATH_LOADER);
	if (status == 0)
		status = add_toolchains(paths, "/opt", origin);
	return status == 0 ? add_toolchains(paths, "/usr/local", origin) : status;
}

int mor_paths_add_defaults(struct mor_paths *paths, bool network, bool spawn)
{
	int status = add_places(paths, always, spawn, MOR_PATH_DEFAULT);

	paths->network = network;
	if (status == 0 && network)
		status = add_places(paths, with_network, false, MOR_PATH_DEFAULT);
	if (status == 0 && network)
		status = add_places(paths, with_connections, false, MOR_PATH_DEFAULT);
	if (status == 0 && (spawn || paths->learning))
		status = add_programs(paths, spawn ? MOR_PATH_DEFAULT : MOR_PATH_SPAWN);
	return status;
}

/* ---- what is refused quietly ---- */

static const char *const quiet_below[] = {
	"/sys/fs/cgroup",
	"/proc/net",
	"/proc/sys",
	"/proc/self",
	"/etc/resolv.conf",
	"/etc/ssl/certs",
	"/etc/selinux",
	"/run/nscd",
	"/run/systemd",
	"/sys/kernel/mm",
	/* settings of the whole machine: programs run without them, and some hold a token */
	"/etc/dpkg",
	"/etc/gdb",
	"/etc/gitconfig",
	"/etc/perl",
	"/etc/vim",
	"/etc/wgetrc",
	"/etc/profile",
	"/etc/profile.d",
	"/etc/bash.bashrc",
	"/etc/zsh",
	"/etc/fish",
	"/etc/environment",
	"/etc/pip.conf",
};
/* Node and npm search for these in every parent directory up to the root, and where they are installed. */
#define QUIET_NAMES "package.json|npmrc|.npmrc|node_modules|pyvenv.cfg|pybuilddir.txt"

/* A program that is watched finds what it looks for by habit, so that one that needs it is granted it. */
bool mor_paths_is_quiet(const struct mor_paths *paths, const char *name)
{
	for (size_t i = 0; i < sizeof(quiet_below) / sizeof(*quiet_below); i++)
		if (mor_path_is_within(name, quiet_below[i], strlen(quiet_below[i])))
			return true;
	return !paths->learning && mor_text_in(mor_slice_of(mor_base_name(name)), QUIET_NAMES);
}

/* ---- the network's ---- */

int mor_paths_add_hosts(struct mor_paths *paths, const char *text)
{
	int status = mor_paths_make_up(paths, "/etc/hosts", R, text);

	return status < 0 ? status : add_places(paths, with_connections, false, MOR_PATH_DEFAULT);
}

static bool is_same(const char *name, const char *other)
{
	struct stat a, b;

	return stat(name, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool is_among(const struct default_place *place, const char *name)
{
	for (; place->path; place++)
		if (mor_path_is_within(name, place->path, strlen(place->path)) || is_same(name, place->path))
			return true;
	return false;
}

/* The true name of /etc/hosts and similar files may differ. */
bool mor_paths_serves_network(const char *name)
{
	return is_among(with_network, name) || is_among(with_connections, name);
}
