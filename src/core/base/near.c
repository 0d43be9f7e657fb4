/* SPDX-License-Identifier: Apache-2.0 */
#include "base/near.h"

#include <ctype.h>

#include "base/text.h"

#define WORD_MAX_LEN 40 /* so that one row of the table below fits on the stack */

static size_t least_of(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Upper or lower case does not count as a mistake. */
static bool same(char a, char b)
{
	return a == b || (isalpha((unsigned char)a) && (a ^ b) == 0x20);
}

/* Edit distance with two rows. A longer word is never a typing mistake of a known word. */
static size_t distance(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);
	size_t row[WORD_MAX_LEN + 1];

	if (la > WORD_MAX_LEN || lb > WORD_MAX_LEN)
		return SIZE_MAX;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t above = row[j];

			row[j] = least_of(above + 1, row[j - 1] + 1, diagonal + !same(a[i - 1], b[j - 1]));
			diagonal = above;
		}
	}
	return row[lb];
}

/* Nobody can have meant one that steers, and the text would carry it to a terminal. */
void mor_nearest_offer(struct mor_nearest *nearest, const char *candidate)
{
	size_t d = distance(nearest->word, candidate);

	if ((nearest->best && d >= nearest->distance) || mor_text_steers(mor_slice_of(candidate)))
		return;
	nearest->best = candidate;
	nearest->distance = d;
}

/* At most one wrong letter in three: "cal" is near to call, but "frobnicate" is near to nothing. */
const char *mor_nearest_best(const struct mor_nearest *nearest)
{
	size_t allowed = (strlen(nearest->word) + 2) / 3;

	return nearest->best && nearest->distance <= allowed ? nearest->best : NULL;
}
