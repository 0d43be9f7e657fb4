/* SPDX-License-Identifier: Apache-2.0 */
/* Views where there are mounts, and where the kernel refuses them. */
#include "view.h"

#include <dirent.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* "/var" has a mount inside, which no overlay would show and the kernel refuses to cover. */
static void submounts(void **state)
{
	struct rig rig;

	(void)state;
	put("mnt", "from_mount", "mounted"); /* below it a tmpfs is mounted */
	put("stage", path_of("%s/mnt/x.h", top + 1), "into the mount");
	put("stage", path_of("%s/beside/x.h", top + 1), "beside");
	open_here(&rig);
	view(&rig, "stage");
	expect(&rig, "read", path_of("%s/mnt/x.h", top), "into the mount");
	expect(&rig, "read", path_of("%s/beside/x.h", top), "beside");
	expect(&rig, "read", path_of("%s/mnt/from_mount", top), confined() ? "errno ENOENT" : "mounted");
	view(&rig, NULL);
	if (!confined())
		expect(&rig, "list", path_of("%s/mnt", top), "from_mount");
	rig_close(&rig);
}

/* What the host mounts after the start can be a stage; the plugin itself does not see the mount. */
static void a_stage_that_is_mounted_later(void **state)
{
	struct rig rig;

	(void)state;
	assert_int_equal(mkdir(path_of("%s/late", top), 0755), 0);
	open_here(&rig);
	assert_int_equal(mount("tmpfs", path_of("%s/late", top), "tmpfs", 0, "size=1m"), 0);
	put("late", "usr/include/mor_view/x.h", "late");
	view(&rig, "late");
	expect(&rig, "read", "/usr/include/mor_view/x.h", "late");
	if (!confined())
		expect(&rig, "list", path_of("%s/late", top), "");
	view(&rig, NULL);
	rig_close(&rig);
	assert_int_equal(umount2(path_of("%s/late", top), 0), 0); /* nobody holds it */
}

static bool is_empty(const char *path)
{
	struct dirent **names = NULL;
	int count = scandir(path, &names, NULL, NULL);

	for (int i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return count == 2;
}

/* Once it is shown no more, the file system of the stage goes with the host's own mount of it, though the
 * plugin lives on. The stage lies below a directory that it touches, and beside it one that it does not. */
static void a_stage_is_let_go(void **state)
{
	static const char *const dirs[] = { "/srv", "/media", "/mnt", "/opt" };
	struct inotify_event event = { 0 };
	struct pollfd watch = { .fd = inotify_init1(IN_CLOEXEC), .events = POLLIN };
	const char *dir = NULL;
	struct rig rig;

	(void)state;
	for (size_t i = 0; !dir && i < sizeof(dirs) / sizeof(*dirs); i++)
		dir = is_empty(dirs[i]) ? dirs[i] : NULL;
	if (!dir)
		leak_skip("/srv, /media, /mnt and /opt are all in use");
	open_here(&rig);
	assert_int_equal(mount("tmpfs", dir, "tmpfs", 0, "size=1m"), 0);
	assert_int_equal(mkdir(path_of("%s/stage", dir), 0755), 0);
	assert_int_equal(mkdir(path_of("%s/stage/usr", dir), 0755), 0);
	assert_int_equal(mkdir(path_of("%s/stage/usr/mor_view", dir), 0755), 0);
	assert_int_equal(mkdir(path_of("%s/stage%s", dir, dir), 0755), 0);
	assert_int_equal(mkdir(path_of("%s/stage%s/inside", dir, dir), 0755), 0);
	for (int i = 0; i < 3; i++) {
		view(&rig, path_of("%s/stage", dir));
		expect(&rig, "list", dir, "inside");
		expect(&rig, "list", "/usr/mor_view", "");
	}
	view(&rig, NULL);
	assert_true(inotify_add_watch(watch.fd, dir, IN_OPEN) >= 0);
	assert_int_equal(umount2(dir, 0), 0);
	assert_int_equal(poll(&watch, 1, GUARD_S * 1000), 1);
	assert_int_equal(read(watch.fd, &event, sizeof(event)), sizeof(event));
	assert_int_equal(event.mask & IN_UNMOUNT, IN_UNMOUNT);
	close(watch.fd);
	rig_close(&rig);
}

/* Nothing is started, and the text says what to look at. */
static void refused_namespaces(void **state)
{
	mortise_error err;
	struct rig rig;
	struct got got;

	(void)state;
	open_eye(&rig, SET("sandbox.view=true", path_of("sandbox.level=%s", level)));
	start(&rig, &got, "ping", NULL, NO_TIMER_MS);
	until_done(&got);
	assert_int_equal(got.status, MORTISE_EJAIL);
	assert_contains(got.error.text, "eye: ");
	assert_contains(got.error.text, "its jail could not be set up: the kernel refuses");
	assert_contains(got.error.text, "user.max_mnt_namespaces");
	got_clear(&got);
	assert_int_equal(mortise_plugin_set_view(rig.plugin, NULL, NULL, NULL, &err), MORTISE_ECLOSED);
	rig_close(&rig);
}

static const struct CMUnitTest mounts_tests[] = { API_TEST(submounts), API_TEST(a_stage_that_is_mounted_later),
						  API_TEST(a_stage_is_let_go) },
			       refused_tests[] = { API_TEST(refused_namespaces) };

int run_in(const char *world)
{
	if (strcmp(world, "refused") == 0)
		return mor_run_group("api/view-worlds", refused_tests);
	assert_int_equal(mkdir(path_of("%s/mnt", top), 0755), 0);
	if (mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL) < 0 ||
	    mount("tmpfs", path_of("%s/mnt", top), "tmpfs", 0, "size=1m") < 0)
		return 1;
	return mor_run_group("api/view-worlds", mounts_tests);
}
