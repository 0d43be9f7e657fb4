/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and loads libmortise-grpc.so. See addon.h. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "addon/addon.h"
#include "addon/stamp.h"
#include "base/error.h"
#include "program/helper.h"

#define QUOTE(name)   #name
#define NAME_OF(name) QUOTE(name)
#define SPEAKS        "this plugin speaks gRPC, and " MOR_ADDON_FILE

/* Hosts on several threads may get here together. Nothing is unloaded: its code may be on a stack. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct mor_addon *loaded;

static int check_addon(const struct mor_addon *addon, const char *path, mortise_error *err)
{
	if (!addon)
		return mor_fail(err, MORTISE_ETRANSPORT, SPEAKS " at %s is not Mortise's: install it again",
				path);
	if (strcmp(addon->stamp, MOR_ADDON_STAMP) != 0)
		return mor_fail(err, MORTISE_ETRANSPORT,
				SPEAKS " at %s is of another build of Mortise: install both together", path);
	return 0;
}

static int open_addon(const struct mor_addon **ret, mortise_error *err)
{
	char path[PATH_MAX], fault[MOR_PROGRAM_FAULT] = "";
	const struct mor_addon *addon;
	void *handle;
	int r;

	mor_program_find(MOR_ADDON_FILE, path, fault);
	if (fault[0])
		return mor_fail(err, MORTISE_ETRANSPORT, SPEAKS " is not loaded: %s", fault);
	if (access(path, F_OK) < 0)
		return mor_fail(err, MORTISE_ETRANSPORT,
				SPEAKS " is not installed: there is no %s. Build Mortise where libnghttp2 is "
				       "(-Dgrpc=enabled), and install it again",
				path);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return mor_fail(err, MORTISE_ETRANSPORT, SPEAKS " cannot be loaded: %s", dlerror());
	addon = dlsym(handle, NAME_OF(MOR_ADDON_SYMBOL));
	if ((r = check_addon(addon, path, err)) < 0)
		dlclose(handle);
	else
		*ret = addon;
	return r;
}

int mor_addon_load(const struct mor_addon **ret, mortise_error *err)
{
	int r = 0;

	pthread_mutex_lock(&lock);
	if (!loaded)
		r = open_addon(&loaded, err);
	*ret = loaded;
	pthread_mutex_unlock(&lock);
	return r;
}
