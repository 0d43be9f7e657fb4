/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody has used for long leaves the store. Only names that the store itself gives, at their one depth,
 * are looked at, and no link is followed: whatever else lies there is not ours to remove. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "depot/inside.h"

#define DAY 86400

struct sweep {
	const struct mor_depot_keep *keep;
	struct mor_depot_swept *swept;
	time_t before;
	const char *fan; /* the first two digits of all names here; NULL: these are the names of new/ */
	mortise_error *err;
};

static int compare_digests(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool is_kept(const struct mor_depot_keep *keep, const char *digest)
{
	return keep && keep->count &&
	       bsearch(digest, keep->digests, keep->count, MOR_DIGEST_SIZE, compare_digests);
}

/* By the time of its last use: what is used again is touched (depot.c). */
static int sweep_name(const struct sweep *x, int at, const char *name)
{
	struct stat st;

	if (x->fan ? !mor_digest_valid(name) || strncmp(name, x->fan, 2) != 0 || is_kept(x->keep, name) :
		     !mor_depot_hex_name(name, MOR_DEPOT_TEMPORARY))
		return 0;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtime >= x->before)
		return 0;
	if (S_ISDIR(st.st_mode) && !x->fan)
		unlinkat(at, name, AT_REMOVEDIR);
	else if (S_ISREG(st.st_mode) && unlinkat(at, name, 0) == 0) {
		x->swept->files++;
		x->swept->bytes += (uint64_t)st.st_size;
	}
	return 0;
}

typedef int sweep_fn(const struct sweep *x, int at, const char *name);

static int each_name(const struct sweep *x, int at, const char *name, sweep_fn *fn)
{
	DIR *dir = mor_depot_list(at, name);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
			       0 :
			       mor_fail_errno(x->err, MORTISE_ESYSTEM, errno, "the store's %s", name);
	while (r == 0 && (entry = readdir(dir)))
		r = fn(x, dirfd(dir), entry->d_name);
	closedir(dir);
	return r;
}

static int sweep_fan(const struct sweep *x, int at, const char *name)
{
	struct sweep inner = *x;

	inner.fan = name;
	return mor_depot_hex_name(name, 2) ? each_name(&inner, at, name, sweep_name) : 0;
}

int mor_depot_sweep(struct mor_depot *depot, unsigned days, struct mor_depot_keep *keep,
		    struct mor_depot_swept *ret, mortise_error *err)
{
	static const enum mor_depot_kind order[] = { MOR_DEPOT_KEY, MOR_DEPOT_SEGMENT, MOR_DEPOT_SPEC,
						     MOR_DEPOT_KZIP, MOR_DEPOT_FILE };
	int top = open(depot->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	struct sweep x = { .keep = keep, .swept = ret, .before = time(NULL) - (time_t)days * DAY, .err = err };

	*ret = (struct mor_depot_swept){ 0 };
	if (top < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, errno, "%s", depot->path);
	if (keep && keep->count)
		qsort(keep->digests, keep->count, MOR_DIGEST_SIZE, compare_digests);
	for (size_t i = 0; r == 0 && i < sizeof(order) / sizeof(*order); i++)
		r = each_name(&x, top, mor_depot_folders[order[i]], sweep_fan);
	x.before = time(NULL) - DAY; /* a writer may be at work */
	r = r ? r : each_name(&x, top, "new", sweep_name);
	mor_fd_close(&top);
	return r;
}
