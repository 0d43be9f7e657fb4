/* SPDX-License-Identifier: Apache-2.0 */
/* The undo store, without a jail: the test does what the broker does, and then undoes. */
#include "stage.h"

#include <sys/file.h>
#include <sys/mman.h>

/* ---- all as it was ---- */

static void contents(void **state)
{
	struct mor_undo_result result;
	int fd;

	(void)state;
	begin();
	plugin_writes("a", "x");
	plugin_writes("a", "a longer text than it was");
	fd = plugin_opens("b", O_RDWR);
	assert_int_equal(pwrite(fd, "S", 1, 0), 1);
	assert_int_equal(ftruncate(fd, 1), 0);
	close(fd);
	plugin_writes("new", "n");
	result = finish("");
	assert_int_equal(result.changed, 2);
	assert_int_equal(result.created, 1);
	assert_int_equal(result.removed + result.left, 0);
}

static void names(void **state)
{
	(void)state;
	begin();
	assert_int_equal(plugin_removes("b", 0), 0);
	assert_int_equal(plugin_removes("l", 0), 0);
	assert_int_equal(symlink("elsewhere", at("l")), 0);
	plugin_made("l");
	assert_int_equal(plugin_moves("d", "e", 0), 0);
	plugin_writes("e/c", "changed after the move");
	plugin_makes_directory("d");
	plugin_writes("d/c", "another one by the old name");
	assert_int_equal(plugin_moves("e/c", "d/c", 0), 0);
	assert_int_equal(plugin_removes("e", AT_REMOVEDIR), 0);
	assert_int_equal(plugin_moves("a", "d", RENAME_EXCHANGE), 0);
	finish("");
}

/* Editors and scaffolders: a new file in the place of the old one. */
static void replaced(void **state)
{
	struct mor_undo_result result;

	(void)state;
	begin();
	for (int i = 0; i < 3; i++) {
		plugin_writes("a.tmp", "new");
		assert_int_equal(plugin_moves("a.tmp", "a", 0), 0);
	}
	plugin_makes_directory("tmp");
	assert_int_equal(plugin_moves("tmp", "d", RENAME_EXCHANGE), 0);
	assert_int_equal(plugin_moves("d", "gone", 0), 0);
	assert_int_equal(plugin_removes("gone", AT_REMOVEDIR), 0);
	plugin_writes("b", "written, then replaced");
	plugin_writes("b.tmp", "new");
	assert_int_equal(plugin_moves("b.tmp", "b", 0), 0);
	result = finish("");
	assert_int_equal(result.changed, 2); /* what came and went is not counted */
	assert_int_equal(result.created, 1);
	assert_int_equal(result.removed, 1);
	assert_int_equal(result.left, 0);
}

static void second_names(void **state)
{
	struct mor_undo_result result;

	(void)state;
	begin();
	plugin_links("a", "a2");
	plugin_writes("a2", "through the second name");
	assert_int_equal(plugin_removes("a", 0), 0);
	plugin_writes("tmp", "t");
	plugin_links("tmp", "made");
	assert_int_equal(plugin_removes("tmp", 0), 0);
	result = finish("");
	assert_int_equal(result.created, 2);
	assert_int_equal(result.removed, 1);
}

/* One that it had before is not known by name: it stays changed, and that is said. */
static void unknown_second_name(void **state)
{
	(void)state;
	assert_int_equal(link(at("a"), at("a2")), 0);
	begin();
	plugin_writes("a", "changed");
	assert_int_equal(plugin_removes("a", 0), 0);
	finish("a|a second name of it, in another place, keeps what was written|first\n");
	assert_string_equal(get(at("a")), "first");
	assert_string_equal(get(at("a2")), "changed");
}

/* What lies between two changes of a mode needs the one in between. Not only for root, who may do anything. */
static void modes(void **state)
{
	(void)state;
	assert_int_equal(chmod(at("d"), 0555), 0);
	begin();
	plugin_chmods("d", 0755);
	plugin_writes("d/new", "n");
	assert_int_equal(plugin_removes("d/c", 0), 0);
	plugin_chmods("d", 0555);
	plugin_writes("a", "changed");
	plugin_chmods("a", 0400);
	plugin_makes_directory("closed");
	plugin_writes("closed/in", "i");
	plugin_chmods("closed", 0);
	finish("");
}

/* A change that was noted and then refused by the file system leaves no trace. */
static void taken_back(void **state)
{
	struct mor_undo_mark mark;
	struct mor_undo_list list;

	(void)state;
	begin();
	mark = mor_undo_mark(&undo);
	assert_int_equal(mor_undo_before_remove(&undo, at("d"), AT_FDCWD, at("d")), 0);
	assert_int_equal(rmdir(at("d")), -1);
	mor_undo_take_back(&undo, mark);
	assert_int_equal(mor_undo_store_read(&host, &list), 0);
	assert_int_equal(list.count, 0);
	mor_undo_list_fini(&list);
	/* If it could not be taken back it is found not to have come to pass. */
	assert_int_equal(mor_undo_before_remove(&undo, at("b"), AT_FDCWD, at("b")), 0);
	finish("");
}

/* Two guardians, one after the other: the first's changes are the second's beginning. */
static void restarted(void **state)
{
	char store[256];

	(void)state;
	begin();
	plugin_writes("a", "by the first");
	plugin_writes("new", "by the first");
	assert_int_equal(mor_undo_end(&undo), 0);
	mor_undo_fini(&undo);
	snprintf(store, sizeof(store), "%s/store", top);
	assert_int_equal(mor_undo_begin(&undo, store), 0);
	plugin_writes("a", "by the second");
	plugin_writes("new", "by the second");
	assert_int_equal(plugin_removes("b", 0), 0);
	finish("");
}

/* ---- what others did ---- */

static void others_in_place(void **state)
{
	int fd;

	(void)state;
	begin();
	plugin_writes("a", "the plugin's");
	put(at("a"), "somebody's");
	fd = plugin_opens("b", O_WRONLY); /* still open while somebody writes */
	put(at("b"), "somebody's, too");
	mor_undo_hear(&undo);
	close(fd);
	plugin_writes("new", "the plugin's");
	put(at("new"), "somebody's");
	plugin_writes("d/c", "the plugin's alone");
	finish("a|somebody else has changed it since|first\nb|somebody else has changed it since|second\n"
	       "new|somebody else has changed it since|\n");
	assert_string_equal(get(at("a")), "somebody's");
	assert_string_equal(get(at("b")), "somebody's, too");
	assert_string_equal(get(at("new")), "somebody's");
	assert_string_equal(get(at("d/c")), "third");
}

static void others_after_the_end(void **state)
{
	struct mor_undo_result result;

	(void)state;
	begin();
	plugin_writes("a", "the plugin's");
	plugin_chmods("b", 0600);
	assert_int_equal(mor_undo_end(&undo), 0);
	put(at("a"), "somebody's");
	assert_int_equal(chmod(at("b"), 0640), 0);
	result = play();
	assert_int_equal(result.left, 2);
	assert_string_equal(get(at("a")), "somebody's");
	close_all();
}

static void others_by_name(void **state)
{
	(void)state;
	begin();
	plugin_writes("a", "the plugin's");
	put(at("a.new"), "an editor's");
	assert_int_equal(rename(at("a.new"), at("a")), 0);
	assert_int_equal(plugin_removes("b", 0), 0);
	put(at("b"), "another b");
	plugin_makes_directory("dir");
	plugin_writes("dir/mine", "m");
	put(at("dir/theirs"), "t");
	assert_int_equal(plugin_moves("d", "e", 0), 0);
	assert_int_equal(mkdir(at("d"), 0755), 0);
	finish("a|another file has this name now|first\nb|another file has this name now|second\n"
	       "d|another file has this name now|\ndir|something else is in it|\n");
	assert_string_equal(get(at("a")), "an editor's");
	assert_string_equal(get(at("b")), "another b");
	assert_string_equal(get(at("dir/theirs")), "t");
	assert_null(get(at("dir/mine")));
	assert_string_equal(get(at("e/c")), "third");
}

/* A mapping lives longer than its descriptor, and is the plugin's all the same. */
static void mapped(void **state)
{
	char *memory;
	int fd;

	(void)state;
	begin();
	fd = plugin_opens("a", O_RDWR);
	memory = mmap(NULL, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	close(fd);
	memory[0] = 'X';
	munmap(memory, 5);
	finish("");
}

/* Somebody who only reads changes nothing. */
static void readers(void **state)
{
	(void)state;
	begin();
	plugin_writes("a", "the plugin's");
	for (int i = 0; i < 50; i++)
		assert_non_null(get(at("a")));
	plugin_writes("a", "the plugin's once more");
	finish("");
}

/* ---- those who mean harm ---- */

/* Links on the way lead nowhere, and what is outside stays. */
static void links_on_the_way(void **state)
{
	char outside[256], file[320];

	(void)state;
	snprintf(outside, sizeof(outside), "%s/outside", top);
	snprintf(file, sizeof(file), "%s/c", outside);
	assert_int_equal(mkdir(outside, 0755), 0);
	put(file, "kept");
	begin();
	plugin_writes("d/c", "changed");
	plugin_writes("d/new", "n");
	assert_int_equal(plugin_removes("d/new", 0), 0);
	assert_int_equal(mor_undo_end(&undo), 0);
	assert_int_equal(rename(at("d"), at("away")), 0);
	assert_int_equal(symlink(outside, at("d")), 0);
	assert_int_equal(play().left, 1);
	assert_string_equal(get(file), "kept");
	assert_non_null(strstr(left, "d/c|"));
	close_all();
	/* Nor does a workspace that has become a link. */
	snprintf(file, sizeof(file), "%s/store/files/d/c", top);
	assert_string_equal(get(file), "third");
}

static void moved_workspace(void **state)
{
	struct mor_undo_player player = { 0 };
	struct mor_undo_result result;
	char other[256];

	(void)state;
	snprintf(other, sizeof(other), "%s/other", top);
	begin();
	plugin_writes("new", "n");
	assert_int_equal(mor_undo_end(&undo), 0);
	assert_int_equal(rename(at(""), other), 0);
	assert_int_equal(mor_undo_play(&host, &player, &result), -ENOENT);
	assert_int_equal(symlink(other, at("")), 0);
	assert_int_equal(mor_undo_play(&host, &player, &result), -ELOOP);
	assert_int_equal(unlink(at("")), 0);
	assert_int_equal(mkdir(at(""), 0755), 0);
	assert_int_equal(mor_undo_play(&host, &player, &result), -ESTALE);
	close_all();
}

/* ---- limits ---- */

static unsigned refusals;
static void on_refused(void *arg, const char *path, int error)
{
	(void)arg;
	assert_string_equal(path, "huge");
	assert_int_equal(error, EDQUOT);
	refusals++;
}

static void too_large(void **state)
{
	struct mor_undo_player player = { .on_refused = on_refused };
	struct mor_undo_result result;
	int fd = open(at("huge"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)MOR_UNDO_BYTES + 1), 0);
	begin();
	assert_int_equal(mor_undo_before_write(&undo, at("huge"), fd), -EDQUOT);
	assert_int_equal(mor_undo_before_remove(&undo, at("huge"), AT_FDCWD, at("huge")), -EDQUOT);
	close(fd);
	plugin_writes("a", "small enough");
	assert_int_equal(mor_undo_end(&undo), 0);
	refusals = 0;
	assert_int_equal(mor_undo_play(&host, &player, &result), 0);
	assert_int_equal(refusals, 1); /* told once */
	assert_string_equal(get(at("a")), "first");
	close_all();
}

static void too_many(void **state)
{
	(void)state;
	begin();
	for (unsigned i = 0; i < MOR_UNDO_ENTRIES; i++) {
		assert_int_equal(mor_undo_before_make(&undo, at("a")), 0);
		plugin_made("a");
	}
	assert_int_equal(mor_undo_before_make(&undo, at("b")), -EDQUOT);
	assert_int_equal(mor_undo_before_remove(&undo, at("b"), AT_FDCWD, at("b")), -EDQUOT);
	close_all();
}

static void outside_is_nobodys_business(void **state)
{
	char outside[256];
	struct mor_undo_name in = { at("a"), at("a"), AT_FDCWD }, out = { outside, outside, AT_FDCWD };

	(void)state;
	snprintf(outside, sizeof(outside), "%s/ws2", top);
	begin();
	assert_false(mor_undo_covers(&undo, outside));
	assert_false(mor_undo_covers(NULL, at("a")));
	assert_true(mor_undo_covers(&undo, at("")));
	assert_int_equal(mor_undo_before_move(&undo, &in, &out, 0), -EXDEV);
	assert_int_equal(mor_undo_before_move(&undo, &out, &in, 0), -EXDEV);
	assert_int_equal(mor_undo_before_make(&undo, outside), 0);
	finish("");
}

/* ---- killed ---- */

/* Who has the lock undoes: as long as the host lives the guardian does not. */
static void alone(void **state)
{
	struct mor_undo_list list;
	char store[256];

	(void)state;
	begin();
	plugin_writes("a", "changed");
	plugin_writes("new", "n");
	assert_int_equal(mor_undo_end(&undo), 0);
	mor_undo_alone(&undo);
	assert_string_equal(get(at("a")), "changed");
	mor_undo_store_fini(&host); /* killed */
	mor_undo_alone(&undo);
	mor_undo_fini(&undo);
	after[0] = 0;
	describe(at(""), after, sizeof(after));
	assert_string_equal(after, before);
	snprintf(store, sizeof(store), "%s/store", top);
	assert_int_equal(mor_undo_store_open(&host, store, LOCK_EX), 0);
	assert_int_equal(mor_undo_store_read(&host, &list), 0);
	assert_int_equal(list.entry[list.count - 1]->kind, MOR_UNDO_TOLD);
	assert_string_equal(mor_undo_path(list.entry[list.count - 1]), "undone: 1 file changed, 1 created");
	mor_undo_list_fini(&list);
	mor_undo_store_fini(&host);
}

/* The guardian was killed: a process that was there all the time may undo, one that comes later must not. */
static void without_an_end(void **state)
{
	struct mor_undo_player player = { .only_tell = true, .extract = true, .on_left = on_left };
	struct mor_undo_result result;

	(void)state;
	begin();
	plugin_writes("a", "changed");
	assert_int_equal(plugin_removes("b", 0), 0);
	assert_int_equal(mor_undo_play(&host, &player, &result), 0);
	assert_string_equal(
		left,
		"a|its state at the plugin's end is not known|first\nb|its state at the plugin's end is not "
		"known|second\n");
	assert_string_equal(get(at("a")), "changed");
	left[0] = 0;
	assert_int_equal(play().left, 0);
	assert_string_equal(get(at("a")), "first");
	assert_string_equal(get(at("b")), "second");
	close_all();
}

/* Cut anywhere, or with any byte changed, the journal ends there: what comes before is undone, and nothing
 * else happens. */
static void damaged(void **state)
{
	struct mor_undo_list list;
	struct stat st;
	size_t all;

	(void)state;
	begin();
	plugin_writes("a", "changed");
	plugin_writes("new", "n");
	assert_int_equal(plugin_moves("b", "c", 0), 0);
	assert_int_equal(mor_undo_end(&undo), 0);
	assert_int_equal(mor_undo_store_read(&host, &list), 0);
	all = list.count;
	mor_undo_list_fini(&list);
	assert_int_equal(fstat(host.journal, &st), 0);
	for (off_t i = (off_t)host.head->size; i < st.st_size; i += 5) {
		char byte, other;

		assert_int_equal(pread(host.journal, &byte, 1, i), 1);
		other = (char)(byte ^ 0x41);
		assert_int_equal(pwrite(host.journal, &other, 1, i), 1);
		assert_int_equal(mor_undo_store_read(&host, &list), 0);
		assert_true(list.count < all);
		mor_undo_list_fini(&list);
		assert_int_equal(pwrite(host.journal, &byte, 1, i), 1);
	}
	for (off_t size = st.st_size - 1; size > (off_t)host.head->size; size -= 7) {
		assert_int_equal(ftruncate(host.journal, size), 0);
		assert_int_equal(mor_undo_store_read(&host, &list), 0);
		assert_true(list.count < all);
		mor_undo_list_fini(&list);
	}
	close_all();
}

static void foreign_stores(void **state)
{
	char store[256], journal[320];

	(void)state;
	snprintf(store, sizeof(store), "%s/store", top);
	snprintf(journal, sizeof(journal), "%s/journal", store);
	assert_int_equal(mor_undo_store_open(&host, store, LOCK_SH), -ENOENT);
	mor_undo_store_fini(&host);
	begin();
	close_all();
	put(journal, "something else");
	assert_int_equal(mor_undo_store_open(&host, store, LOCK_SH), -EPROTO);
	mor_undo_store_fini(&host);
}

/* Each allocation fails once, and from then on: an error, no crash, no leak, and what was noted
 * can be undone. */
static void no_memory(void **state)
{
	(void)state;
	for (long n = 0; n < 40; n++) {
		struct mor_undo_player player = { 0 };
		struct mor_undo_result result;
		int handle, status;

		begin();
		handle = open(at("a"), O_PATH | O_CLOEXEC);
		mor_alloc_fail_after(n);
		status = mor_undo_before_write(&undo, at("a"), handle);
		if (status == 0)
			status = mor_undo_before_remove(&undo, at("b"), AT_FDCWD, at("b"));
		if (status == 0)
			status = mor_undo_end(&undo);
		if (status == 0)
			status = mor_undo_play(&host, &player, &result);
		mor_alloc_fail_after(-1);
		close(handle);
		assert_true(status == 0 || status == -ENOMEM);
		close_all();
		drop_store();
	}
}

static void identities(void **state)
{
	struct mor_undo_map map = { 0 };

	(void)state;
	assert_int_equal(mor_undo_map_get(&map, &(struct mor_undo_id){ 1, 2, 3 }), UINT32_MAX);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(mor_undo_map_put(&map, &(struct mor_undo_id){ i % 3, i, i % 7 }, i), 0);
	assert_int_equal(mor_undo_map_put(&map, &(struct mor_undo_id){ 0, 0, 0 }, 77), 0);
	assert_int_equal(map.count, 1000);
	assert_int_equal(mor_undo_map_get(&map, &(struct mor_undo_id){ 0, 0, 0 }), 77);
	for (uint32_t i = 1; i < 1000; i++) {
		assert_int_equal(mor_undo_map_get(&map, &(struct mor_undo_id){ i % 3, i, i % 7 }), i);
		assert_int_equal(mor_undo_map_get(&map, &(struct mor_undo_id){ i % 3, i, 8 }), UINT32_MAX);
	}
	mor_undo_map_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGED(contents),
		STAGED(names),
		STAGED(replaced),
		STAGED(second_names),
		STAGED(unknown_second_name),
		STAGED(modes),
		STAGED(taken_back),
		STAGED(restarted),
		STAGED(others_in_place),
		STAGED(others_after_the_end),
		STAGED(others_by_name),
		STAGED(mapped),
		STAGED(readers),
		STAGED(links_on_the_way),
		STAGED(moved_workspace),
		STAGED(too_large),
		STAGED(too_many),
		STAGED(outside_is_nobodys_business),
		STAGED(alone),
		STAGED(without_an_end),
		STAGED(damaged),
		STAGED(foreign_stores),
		STAGED(no_memory),
		MOR_TEST(identities),
	};

	return mor_run_group("undo/undo", tests);
}
