/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any changes in any order, and all is as it was: random sequences over a few names, so that they meet often. A
 * seed that fails is printed; MORTISE_SEED runs it alone.
 */
#include "stage.h"
#include "tier.h"

static const char *const names[] = { "a", "b", "d", "d/c", "d/e", "l", "n", "n/x", "n/y", "d/n" };
#define NAMES (sizeof(names) / sizeof(*names))
enum { STEPS = 40 };

static unsigned state_of_dice;

static unsigned dice(unsigned sides)
{
	state_of_dice = state_of_dice * 1664525u + 1013904223u;
	return (state_of_dice >> 8) % sides;
}

static const char *any(void)
{
	return names[dice(NAMES)];
}

/* The broker's names are canonical: no link on the way. */
static bool has_parent(const char *name)
{
	char parent[PATH_MAX];
	struct stat st;

	snprintf(parent, sizeof(parent), "%s", at(name));
	*strrchr(parent, '/') = 0;
	return lstat(parent, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool look(const char *name, struct stat *st)
{
	return has_parent(name) && lstat(at(name), st) == 0;
}

/* ---- each does what the broker would, if the file system lets it ---- */

static void write_some(const char *name)
{
	struct stat st;
	char text[40];

	if (!has_parent(name) || (look(name, &st) && !S_ISREG(st.st_mode)))
		return;
	snprintf(text, sizeof(text), "text %u", dice(1000));
	plugin_writes(name, text);
}

static void remove_some(const char *name)
{
	struct stat st;

	if (look(name, &st))
		(void)plugin_removes(name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
}

static void move_some(const char *from, const char *to, unsigned flags)
{
	struct stat st;

	if (look(from, &st) && has_parent(to))
		(void)plugin_moves(from, to, flags);
}

static void make_some(const char *name)
{
	const char *source = any();
	struct stat st;
	int made = -1;

	if (!has_parent(name) || look(name, &st))
		return;
	if (dice(2))
		made = mkdir(at(name), 0755);
	else if (dice(2))
		made = symlink("somewhere", at(name));
	else if (look(source, &st) && S_ISREG(st.st_mode))
		plugin_links(source, name);
	if (made == 0)
		plugin_made(name);
}

static void dress_some(const char *name)
{
	struct stat st;

	if (look(name, &st) && !S_ISLNK(st.st_mode))
		plugin_chmods(name, S_ISDIR(st.st_mode) ? 0700 + dice(64) : 0600 + dice(64));
}

static void step(void)
{
	switch (dice(8)) {
	case 0:
	case 1:
		write_some(any());
		break;
	case 2:
		remove_some(any());
		break;
	case 3:
	case 4:
		move_some(any(), any(), 0);
		break;
	case 5:
		move_some(any(), any(), dice(2) ? RENAME_EXCHANGE : RENAME_NOREPLACE);
		break;
	case 6:
		make_some(any());
		break;
	default:
		dress_some(any());
	}
}

static void run(unsigned seed)
{
	state_of_dice = seed;
	begin();
	for (int i = 0; i < STEPS; i++)
		step();
	print_message("# seed %u\n", seed); /* the last one is it, if it fails */
	finish("");
	drop_store();
}

static void any_order(void **state)
{
	const char *given = getenv("MORTISE_SEED");
	unsigned seed = given ? (unsigned)strtoul(given, NULL, 10) : 1;
	unsigned last = given ? seed : tier_rounds(100, 600);

	(void)state;
	for (; seed <= last; seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { STAGED(any_order) };

	return mor_run_group("undo/random", tests);
}
