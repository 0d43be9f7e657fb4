/* SPDX-License-Identifier: Apache-2.0 */
/* The two files of the store, and what noting and undoing share. See undo.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "undo/undo.h"

#define HEAD_MAX    (2u * PATH_MAX)
#define JOURNAL_MAX ((off_t)1 << 30) /* far more than MOR_UNDO_ENTRIES need */
#define COPY_PIECE  ((uint64_t)8 << 20)

/* ---- files ---- */

static int64_t ns_of(const struct statx_timestamp *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

int mor_undo_look(int dir, const char *name, struct mor_undo_look *ret)
{
	struct statx st;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH), STATX_BASIC_STATS | STATX_BTIME,
		  &st) < 0)
		return -errno;
	*ret = (struct mor_undo_look){
		.id = { ((uint64_t)st.stx_dev_major << 32) | st.stx_dev_minor, st.stx_ino,
			st.stx_mask & STATX_BTIME ? ns_of(&st.stx_btime) : 0 },
		.mode = st.stx_mode,
		.uid = st.stx_uid,
		.gid = st.stx_gid,
		.links = st.stx_nlink,
		.bytes = st.stx_size,
		.atime_ns = ns_of(&st.stx_atime),
		.mtime_ns = ns_of(&st.stx_mtime),
	};
	return 0;
}

bool mor_undo_same(const struct mor_undo_id *a, const struct mor_undo_id *b)
{
	return a->inode == b->inode && a->device == b->device && a->born_ns == b->born_ns;
}

/* Used if the kernel cannot copy between the two file systems. */
static int copy_by_hand(int from, uint64_t from_at, int to, uint64_t to_at, uint64_t bytes)
{
	char block[16 * 1024];

	while (bytes) {
		size_t part = bytes < sizeof(block) ? (size_t)bytes : sizeof(block), done = 0;
		ssize_t got = pread(from, block, part, (off_t)from_at);

		if (got < 0)
			return -errno;
		if (got == 0) /* it was shortened meanwhile: the missing part is zeros */
			return 0;
		while (done < (size_t)got) {
			ssize_t put = pwrite(to, block + done, (size_t)got - done, (off_t)(to_at + done));

			if (put < 0)
				return -errno;
			done += (size_t)put;
		}
		from_at += done, to_at += done, bytes -= done;
	}
	return 0;
}

int mor_undo_copy(int from, uint64_t from_at, int to, uint64_t to_at, uint64_t bytes,
		  mor_undo_wanted_fn *wanted, void *arg)
{
	int status = 0;

	while (bytes && status == 0) {
		off_t in = (off_t)from_at, out = (off_t)to_at;
		uint64_t part = bytes < COPY_PIECE ? bytes : COPY_PIECE;
		ssize_t done = copy_file_range(from, &in, to, &out, (size_t)part, 0);

		/* some kernel file systems say 0 for every file */
		if (done == 0 ||
		    (done < 0 && (errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)))
			status = copy_by_hand(from, from_at, to, to_at, part);
		else if (done < 0)
			status = -errno;
		else
			part = (uint64_t)done;
		from_at += part, to_at += part, bytes -= part;
		if (bytes && wanted && !wanted(arg))
			status = -EINTR;
	}
	return status;
}

/* ---- entries ---- */

const char *mor_undo_other(const struct mor_undo_entry *entry)
{
	return entry->texts + strlen(entry->texts) + 1;
}

/* FNV-1a: finds half-written and old blocks after a power cut; it is no protection against attackers. */
uint32_t mor_undo_check(const struct mor_undo_entry *entry)
{
	const unsigned char *bytes = (const unsigned char *)entry;
	uint32_t hash = 2166136261u;

	for (uint32_t i = 0; i < entry->size; i++) {
		bool own = i >= offsetof(struct mor_undo_entry, check) &&
			   i < offsetof(struct mor_undo_entry, mode);

		hash = (hash ^ (own ? 0 : bytes[i])) * 16777619u;
	}
	return hash;
}

int mor_undo_store_add(const struct mor_undo_store *store, uint64_t *end, const struct mor_undo_entry *entry,
		       const char *path, const char *other)
{
	static union { /* there is one guardian in a process */
		struct mor_undo_entry entry;
		char bytes[sizeof(struct mor_undo_entry) + 3 * PATH_MAX];
	} out;
	size_t first = strlen(path) + 1, texts = first + strlen(other) + 1,
	       size = (sizeof(out.entry) + texts + 7) & ~(size_t)7;
	ssize_t put;

	if (size > sizeof(out))
		return -ENAMETOOLONG;
	memset(out.bytes + size - 8, 0, 8);
	out.entry = *entry;
	memcpy(out.entry.texts, path, first);
	memcpy(out.entry.texts + first, other, texts - first);
	out.entry.size = (uint32_t)size;
	out.entry.check = mor_undo_check(&out.entry);
	put = pwrite(store->journal, &out, size, (off_t)*end);
	if (put != (ssize_t)size)
		return put < 0 ? -errno : -ENOSPC;
	*end += size;
	return 0;
}

static bool two_texts(const char *texts, size_t size)
{
	const char *end = memchr(texts, 0, size);

	return end && memchr(end + 1, 0, size - (size_t)(end + 1 - texts));
}

static const struct mor_undo_entry *entry_at(const char *bytes, size_t at, size_t size)
{
	const struct mor_undo_entry *entry = (const void *)(bytes + at);

	if (size - at < sizeof(*entry) || entry->size < sizeof(*entry) || entry->size % 8 ||
	    entry->size > size - at)
		return NULL;
	if (entry->kind < MOR_UNDO_MADE || entry->kind > MOR_UNDO_TOLD || entry->check != mor_undo_check(entry))
		return NULL;
	return two_texts(entry->texts, entry->size - sizeof(*entry)) ? entry : NULL;
}

/* ---- identities to numbers ---- */

static size_t slot_of(const struct mor_undo_map *map, const struct mor_undo_id *id)
{
	uint64_t hash = (id->inode ^ (id->device << 7) ^ (uint64_t)id->born_ns) * 0x9e3779b97f4a7c15ULL;
	size_t at = (size_t)(hash >> 20) % map->room;

	while (map->slots[at].value && !mor_undo_same(&map->slots[at].id, id))
		at = (at + 1) % map->room;
	return at;
}

static int map_grow(struct mor_undo_map *map)
{
	struct mor_undo_map larger = { .count = map->count, .room = map->room ? map->room * 2 : 64 };

	if (map->room && map->count * 2 < map->room)
		return 0;
	larger.slots = mor_zalloc(larger.room * sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->room; i++)
		if (map->slots[i].value)
			larger.slots[slot_of(&larger, &map->slots[i].id)] = map->slots[i];
	mor_free(map->slots);
	*map = larger;
	return 0;
}

int mor_undo_map_put(struct mor_undo_map *map, const struct mor_undo_id *id, uint32_t value)
{
	int status = map_grow(map);
	size_t at;

	if (status < 0)
		return status;
	at = slot_of(map, id);
	map->count += !map->slots[at].value;
	map->slots[at] = (struct mor_undo_slot){ *id, value + 1 };
	return 0;
}

uint32_t mor_undo_map_get(const struct mor_undo_map *map, const struct mor_undo_id *id)
{
	return map->room ? map->slots[slot_of(map, id)].value - 1 : UINT32_MAX;
}

void mor_undo_map_fini(struct mor_undo_map *map)
{
	mor_free(map->slots);
	*map = (struct mor_undo_map){ 0 };
}

/* ---- the store ---- */

static struct mor_undo_head *new_head(const char *root, const char *name)
{
	size_t texts = strlen(root) + strlen(name) + 2,
	       size = (sizeof(struct mor_undo_head) + texts + 7) & ~(size_t)7;
	struct mor_undo_head *head = mor_zalloc(size);

	if (!head)
		return NULL;
	head->magic = MOR_UNDO_MAGIC;
	head->version = MOR_UNDO_VERSION;
	head->size = (uint32_t)size;
	head->made_s = (int64_t)time(NULL);
	memcpy(head->texts, root, strlen(root) + 1);
	memcpy(head->texts + strlen(root) + 1, name, strlen(name) + 1);
	return head;
}

static void point(struct mor_undo_store *store)
{
	store->root = store->head->texts;
	store->name = store->root + strlen(store->root) + 1;
}

static int open_files(struct mor_undo_store *store, int flags)
{
	store->journal = openat(store->dir, MOR_UNDO_JOURNAL, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	store->copies = openat(store->dir, MOR_UNDO_COPIES, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	return store->journal < 0 || store->copies < 0 ? -errno : 0;
}

int mor_undo_store_make(struct mor_undo_store *store, const char *dir, const char *root, const char *name)
{
	struct mor_undo_look look = { 0 };
	int status;

	*store = (struct mor_undo_store)MOR_UNDO_STORE_INIT;
	if (strlen(root) >= PATH_MAX || strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	store->head = new_head(root, name);
	if (!store->head)
		return -ENOMEM;
	status = mor_undo_look(AT_FDCWD, root, &look);
	if (status == 0 && !S_ISDIR(look.mode))
		status = -ENOTDIR;
	store->dir = status < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (status == 0)
		status = store->dir < 0 ? -errno : open_files(store, O_CREAT | O_EXCL);
	if (status < 0)
		return status;
	store->head->device = look.id.device;
	store->head->inode = look.id.inode;
	point(store);
	/* The lock comes first: a store with a head but without a lock was left behind. */
	if (flock(store->journal, LOCK_SH | LOCK_NB) < 0)
		return -errno;
	return pwrite(store->journal, store->head, store->head->size, 0) == (ssize_t)store->head->size ?
		       0 :
		       -ENOSPC;
}

static int read_head(struct mor_undo_store *store)
{
	struct mor_undo_head head;

	if (pread(store->journal, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    head.magic != MOR_UNDO_MAGIC || head.version != MOR_UNDO_VERSION || head.size < sizeof(head) ||
	    head.size > HEAD_MAX || head.size % 8)
		return -EPROTO;
	store->head = mor_alloc(head.size);
	if (!store->head)
		return -ENOMEM;
	if (pread(store->journal, store->head, head.size, 0) != (ssize_t)head.size ||
	    !two_texts(store->head->texts, head.size - sizeof(head)))
		return -EPROTO;
	point(store);
	return 0;
}

int mor_undo_store_open(struct mor_undo_store *store, const char *dir, int lock)
{
	int status;

	*store = (struct mor_undo_store)MOR_UNDO_STORE_INIT;
	store->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	status = store->dir < 0 ? -errno : open_files(store, 0);
	if (status == 0 && flock(store->journal, lock | LOCK_NB) < 0)
		status = -errno;
	return status < 0 ? status : read_head(store);
}

void mor_undo_store_fini(struct mor_undo_store *store)
{
	mor_fd_close(&store->journal);
	mor_fd_close(&store->copies);
	mor_fd_close(&store->dir);
	mor_free(store->head);
	*store = (struct mor_undo_store)MOR_UNDO_STORE_INIT;
}

/* ---- reading ---- */

static int read_bytes(const struct mor_undo_store *store, char **ret, size_t *ret_size)
{
	struct stat st;
	size_t at = 0;
	char *bytes;

	if (fstat(store->journal, &st) < 0)
		return -errno;
	if (st.st_size < (off_t)store->head->size || st.st_size > JOURNAL_MAX)
		return -EPROTO;
	bytes = mor_alloc((size_t)st.st_size);
	while (bytes && at < (size_t)st.st_size) {
		ssize_t got = pread(store->journal, bytes + at, (size_t)st.st_size - at, (off_t)at);

		if (got <= 0)
			break;
		at += (size_t)got;
	}
	*ret = bytes;
	*ret_size = at;
	return bytes ? 0 : -ENOMEM;
}

int mor_undo_store_read(const struct mor_undo_store *store, struct mor_undo_list *ret)
{
	const struct mor_undo_entry *entry;
	size_t size = 0, room = 0, at = store->head->size;
	int status;

	*ret = (struct mor_undo_list){ 0 };
	status = read_bytes(store, &ret->bytes, &size);
	for (; status == 0 && at < size && (entry = entry_at(ret->bytes, at, size)); at += entry->size) {
		status = mor_grow(&ret->entry, ret->count, &room, sizeof(*ret->entry)) < 0 ? -ENOMEM : 0;
		if (status == 0)
			ret->entry[ret->count++] = entry;
	}
	if (status < 0)
		mor_undo_list_fini(ret);
	return status;
}

void mor_undo_list_fini(struct mor_undo_list *list)
{
	mor_free(list->entry);
	mor_free(list->bytes);
	*list = (struct mor_undo_list){ 0 };
}
