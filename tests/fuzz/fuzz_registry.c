/* SPDX-License-Identifier: Apache-2.0 */
/* One input as an index, as a lock, and as a range of versions. What is taken has names that can be used, is
 * sorted, and stays in its directory; what is refused says why. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "lockfile/lockfile.h"
#include "registry/registry.h"

static void check_index(struct mor_slice text)
{
	MOR_CLEAN(mor_registry) struct mor_registry registry = MOR_REGISTRY_INIT;
	static const struct mor_semver_range any = { .count = 0 };
	mortise_error err = { 0 };
	int r = mor_registry_parse(text, &registry, &err);

	CHECK(r == 0 || (r == MORTISE_EINPUT && err.text[0]));
	for (size_t i = 0; r == 0 && i < registry.count; i++) {
		const struct mor_registry_entry *entry = &registry.items[i], *next = entry + 1;

		CHECK(mor_store_is_name(entry->name) && mor_semver_valid(entry->version));
		CHECK(!strchr(entry->file, '/') && entry->file[0] != '.' && entry->file[0]);
		CHECK(strlen(entry->sha256) == 64 && strlen(entry->digest) == 64);
		CHECK(i + 1 == registry.count || strcmp(entry->name, next->name) < 0 ||
		      mor_store_compare_versions(entry->version, next->version) > 0);
		(void)mor_registry_newest(&registry, entry->name, &any);
	}
}

static void check_lock(struct mor_slice text)
{
	MOR_CLEAN(mor_lockfile) struct mor_lockfile lock = { 0 };
	mortise_error err = { 0 };
	int r = mor_lockfile_parse(text, &lock, &err);

	CHECK(r == 0 || (r == MORTISE_EINPUT && err.text[0]));
	for (size_t i = 0; r == 0 && i < lock.count; i++) {
		CHECK(mor_store_is_name(lock.items[i].name));
		CHECK(mor_lockfile_get(&lock, lock.items[i].name) == &lock.items[i]);
		CHECK(!strchr(lock.items[i].version, '/'));
	}
}

static void check_range(const char *text)
{
	struct mor_semver_range range;
	mortise_error err = { 0 };
	int r = mor_semver_range_parse(text, &range, &err);

	CHECK(r == 0 || (r == MORTISE_EINVAL && err.text[0]));
	if (r < 0)
		return;
	(void)mor_semver_range_fits(&range, "1.2.3");
	(void)mor_semver_range_fits(&range, "1.2.3-rc.1");
	if (mor_semver_valid(text))
		CHECK(mor_semver_range_fits(&range, text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mor_slice input = { (const char *)data, size };
	MOR_CLEAN_TEXT char *text = mor_strndup(input.ptr ? input.ptr : "", size);

	check_index(input);
	check_lock(input);
	CHECK(text);
	check_range(text);
	return 0;
}
