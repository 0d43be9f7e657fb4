/* SPDX-License-Identifier: Apache-2.0 */
#include "depot/fold.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

#define TABLE_LOG 16
#define LOOK      64  /* bytes from a newline on that are compared by their hash */
#define LEAST     128 /* a shorter run is left to zstd */
#define STRIDE    512 /* bytes that are compared at once */
#define FACTOR    0x9e3779b97f4a7c15u
#define GATHERED  ((size_t)64 << 10) /* smaller ones are gathered */

/* A newline. The tag is more of its hash: a look into the room, which is larger than the processor's cache,
 * costs more than all else that is done for a newline. */
struct line_place {
	uint32_t at, tag;
};

struct mor_folding {
	unsigned char *room;
	struct line_place *places; /* by hash */
	size_t at;                 /* where the next new byte goes */
	bool full;                 /* what is behind `at` is older */
	size_t run, from;          /* a run that may go on: its length so far; 0: none. Where it stands */
	size_t gathered;
	unsigned char gather[GATHERED];
};

/* Bytes that were added, and how far they are done. */
struct piece {
	const unsigned char *bytes;
	size_t len;
	size_t told; /* what is before was told, or is in the run */
	size_t seen; /* newlines before are known */
	const struct mor_pack_sink *sink;
	mortise_error *err;
};

/* ---- the room ---- */

/* In large pages: otherwise each run is found at the cost of new entries of the page table. */
static unsigned char *new_room(void)
{
	void *room = mmap(NULL, MOR_FOLDING_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		return NULL;
	(void)madvise(room, MOR_FOLDING_ROOM, MADV_HUGEPAGE); /* a kernel without them is slower */
	return room;
}

static void free_room(unsigned char *room)
{
	if (room)
		munmap(room, MOR_FOLDING_ROOM);
}

/* ---- folding ---- */

struct mor_folding *mor_folding_free(struct mor_folding *fold)
{
	if (fold) {
		free_room(fold->room);
		mor_free(fold->places);
	}
	mor_free(fold);
	return NULL;
}

struct mor_folding *mor_folding_new(void)
{
	struct mor_folding *fold = mor_zalloc(sizeof(*fold));

	if (!fold)
		return NULL;
	fold->room = new_room();
	fold->places = mor_alloc(sizeof(struct line_place) << TABLE_LOG);
	if (!fold->room || !fold->places)
		return mor_folding_free(fold);
	mor_folding_begin(fold);
	return fold;
}

void mor_folding_begin(struct mor_folding *fold)
{
	memset(fold->places, 0, sizeof(struct line_place) << TABLE_LOG);
	fold->at = fold->run = fold->gathered = 0;
	fold->full = false;
}

/* ---- newlines ---- */

static inline uint64_t load_word(const unsigned char *from)
{
	uint64_t word;

	memcpy(&word, from, sizeof(word));
	return word;
}

/* Of LOOK bytes. */
static inline uint64_t hash_of(const unsigned char *at)
{
	uint64_t sum = 0, other = 0;

	for (size_t i = 0; i < LOOK; i += 16) {
		sum = (sum ^ load_word(at + i)) * FACTOR;
		other = (other ^ load_word(at + i + 8)) * FACTOR;
	}
	return (sum ^ other >> 32) * FACTOR;
}

/* One of four newlines, chosen by what follows it, so that the same ones are chosen wherever
 * the text stands. */
static inline bool is_chosen(const unsigned char *at)
{
	return ((load_word(at + 8) ^ load_word(at + 24)) * FACTOR) >> 62 == 0;
}

/* Remembers a newline, which will stand in the room at `at`. True: there was one with the same
 * hash, at *ret. */
static inline bool swap_place(struct mor_folding *fold, const unsigned char *line, size_t at, size_t *ret)
{
	uint64_t hash = hash_of(line);
	struct line_place *place = &fold->places[hash >> (64 - TABLE_LOG)], old = *place;

	*place = (struct line_place){ (uint32_t)at, (uint32_t)(hash >> (32 - TABLE_LOG)) | 1 };
	*ret = old.at;
	return old.tag == place->tag;
}

/* How many bytes are the same, up to `most`. */
static size_t same_ahead(const unsigned char *a, const unsigned char *b, size_t most)
{
	size_t len = 0;

	while (most - len >= STRIDE && memcmp(a + len, b + len, STRIDE) == 0)
		len += STRIDE;
	while (most - len >= 8) {
		uint64_t differs = load_word(a + len) ^ load_word(b + len);

		if (differs)
			return len + (size_t)(__builtin_ctzll(differs) / 8);
		len += 8;
	}
	while (len < most && a[len] == b[len])
		len++;
	return len;
}

/* The same, back from where they stand. */
static size_t same_behind(const unsigned char *a, const unsigned char *b, size_t most)
{
	size_t len = 0;

	while (most - len >= 8 && load_word(a - len - 8) == load_word(b - len - 8))
		len += 8;
	while (len < most && a[-1 - (ssize_t)len] == b[-1 - (ssize_t)len])
		len++;
	return len;
}

/* ---- telling ---- */

static int tell_number(uint64_t number, const struct piece *piece)
{
	unsigned char bytes[10];
	size_t len = 0;

	while (number >= 0x80) {
		bytes[len++] = (unsigned char)(number | 0x80);
		number >>= 7;
	}
	bytes[len++] = (unsigned char)number;
	return piece->sink->put(bytes, len, piece->sink->arg, piece->err);
}

static void keep_bytes(struct mor_folding *fold, const unsigned char *bytes, size_t len)
{
	while (len > 0) {
		size_t n = len < MOR_FOLDING_ROOM - fold->at ? len : MOR_FOLDING_ROOM - fold->at;

		memcpy(fold->room + fold->at, bytes, n);
		bytes += n;
		len -= n;
		fold->at += n;
		if (fold->at == MOR_FOLDING_ROOM) {
			fold->at = 0;
			fold->full = true;
		}
	}
}

/* New bytes, up to `end`. */
static int tell_new(struct mor_folding *fold, struct piece *piece, size_t end)
{
	const unsigned char *bytes = piece->bytes + piece->told;
	size_t len = end - piece->told;
	int r = tell_number(len, piece);

	if (r == 0 && len)
		r = piece->sink->put(bytes, len, piece->sink->arg, piece->err);
	keep_bytes(fold, bytes, len);
	piece->told = end;
	return r;
}

static int tell_run(struct mor_folding *fold, const struct piece *piece)
{
	int r = tell_number(fold->run, piece);

	if (r == 0 && fold->run)
		r = tell_number(fold->from, piece);
	fold->run = 0;
	return r;
}

/* ---- runs ---- */

static size_t room_end(const struct mor_folding *fold)
{
	return fold->full ? MOR_FOLDING_ROOM : fold->at;
}

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The run goes on as far as it can. Nothing was kept since it began: the room is as its reader will see it. */
static void extend_run(struct mor_folding *fold, struct piece *piece)
{
	size_t next = fold->from + fold->run;
	size_t most = least_of(room_end(fold) - next, piece->len - piece->told);
	size_t same = same_ahead(fold->room + next, piece->bytes + piece->told, most);

	fold->run += same;
	piece->told += same;
	if (piece->seen < piece->told)
		piece->seen = piece->told;
}

/* Does a run begin around the newline at `at`, as it stands at `from`? What is before it and was not told yet
 * will be kept first: it must not be what it overwrites. */
static bool find_run(const struct mor_folding *fold, const struct piece *piece, size_t at, size_t from,
		     size_t *ret_behind)
{
	size_t news = at - piece->told, end = fold->at + news, behind, ahead;

	if (end > MOR_FOLDING_ROOM || (from >= fold->at && (!fold->full || from < end)))
		return false;
	ahead = same_ahead(fold->room + from, piece->bytes + at,
			   least_of(room_end(fold) - from, piece->len - at));
	behind = same_behind(fold->room + from, piece->bytes + at,
			     least_of(from - (from < end ? 0 : end), news));
	*ret_behind = behind;
	return ahead + behind >= LEAST;
}

/* The next newline that begins a run. 1: it has begun. */
static int begin_run(struct mor_folding *fold, struct piece *piece)
{
	while (piece->len - piece->seen >= LOOK) {
		const unsigned char *line =
			memchr(piece->bytes + piece->seen, '\n', piece->len - piece->seen - LOOK + 1);
		size_t at = line ? (size_t)(line - piece->bytes) : 0, from, behind;
		int r;

		if (!line)
			return 0;
		piece->seen = at + 1;
		if (!is_chosen(line) ||
		    !swap_place(fold, line, (fold->at + at - piece->told) % MOR_FOLDING_ROOM, &from) ||
		    !find_run(fold, piece, at, from, &behind))
			continue;
		r = tell_new(fold, piece, at - behind);
		fold->from = from - behind;
		extend_run(fold, piece);
		return r < 0 ? r : 1;
	}
	return 0;
}

/* A run that ends with the piece may go on in the next one; what is new is told. */
static int fold_piece(struct mor_folding *fold, struct piece *piece)
{
	int r = 1;

	if (fold->run)
		extend_run(fold, piece);
	while (r > 0 && piece->told < piece->len) {
		r = fold->run ? tell_run(fold, piece) : 0;
		if (r == 0)
			r = begin_run(fold, piece);
	}
	if (r == 0 && piece->told < piece->len) {
		r = tell_new(fold, piece, piece->len);
		if (r == 0)
			r = tell_run(fold, piece);
	}
	return r < 0 ? r : 0;
}

static int fold_gathered(struct mor_folding *fold, const struct mor_pack_sink *sink, mortise_error *err)
{
	struct piece piece = { .bytes = fold->gather, .len = fold->gathered, .sink = sink, .err = err };

	fold->gathered = 0;
	return fold_piece(fold, &piece);
}

int mor_folding_add(struct mor_folding *fold, const void *bytes, size_t len, const struct mor_pack_sink *sink,
		    mortise_error *err)
{
	struct piece piece = { .bytes = bytes, .len = len, .sink = sink, .err = err };
	int r = 0;

	if (!fold->gathered && len >= GATHERED)
		return fold_piece(fold, &piece);
	while (r == 0 && len > 0) {
		size_t n = least_of(len, GATHERED - fold->gathered);

		memcpy(fold->gather + fold->gathered, piece.bytes, n);
		fold->gathered += n;
		piece.bytes += n;
		len -= n;
		if (fold->gathered == GATHERED)
			r = fold_gathered(fold, sink, err);
	}
	return r;
}

int mor_folding_flush(struct mor_folding *fold, const struct mor_pack_sink *sink, mortise_error *err)
{
	struct piece none = { .sink = sink, .err = err };
	int r = fold_gathered(fold, sink, err);

	return r < 0 || !fold->run ? r : tell_run(fold, &none);
}

/* ---- back ---- */

enum unfold_state { COUNT, BYTES, LENGTH, FROM, RUN };

struct mor_unfold {
	unsigned char *room;
	size_t at;
	bool full; /* what is behind `at` is older */
	enum unfold_state state;
	uint64_t number; /* as far as it was read */
	unsigned shift;
	uint64_t left; /* of bytes or run */
	size_t from;
};

struct mor_unfold *mor_unfold_new(void)
{
	struct mor_unfold *fold = mor_zalloc(sizeof(*fold));

	if (!fold)
		return NULL;
	fold->room = new_room();
	return fold->room ? fold : mor_unfold_free(fold);
}

struct mor_unfold *mor_unfold_free(struct mor_unfold *fold)
{
	if (fold)
		free_room(fold->room);
	mor_free(fold);
	return NULL;
}

void mor_unfold_begin(struct mor_unfold *fold)
{
	*fold = (struct mor_unfold){ .room = fold->room };
}

bool mor_unfold_whole(const struct mor_unfold *fold)
{
	return fold->state == COUNT && fold->shift == 0;
}

/* 1: `number` is whole. */
static int take_number(struct mor_unfold *fold, struct mor_slice *in)
{
	while (in->len) {
		unsigned char byte = (unsigned char)*in->ptr++;

		in->len--;
		if (fold->shift == 0)
			fold->number = 0;
		if (fold->shift > 56)
			return -1;
		fold->number |= (uint64_t)(byte & 0x7f) << fold->shift;
		fold->shift += 7;
		if (byte < 0x80) {
			fold->shift = 0;
			return 1;
		}
	}
	return 0;
}

static bool run_can_be(const struct mor_unfold *fold, uint64_t from)
{
	size_t end = fold->full ? MOR_FOLDING_ROOM : fold->at;

	return from < end && fold->left <= end - from;
}

/* The number that was expected is there. */
static bool mind_number(struct mor_unfold *fold)
{
	if (fold->state == FROM) {
		fold->from = (size_t)fold->number;
		fold->state = RUN;
		return run_can_be(fold, fold->number);
	}
	fold->left = fold->number;
	if (fold->state == COUNT)
		fold->state = fold->left ? BYTES : LENGTH;
	else
		fold->state = fold->left ? FROM : COUNT;
	return true;
}

/* New bytes: they are kept. */
static size_t take_new(struct mor_unfold *fold, struct mor_slice *in, unsigned char *out, size_t len)
{
	len = least_of(least_of(len, in->len), MOR_FOLDING_ROOM - fold->at);
	memcpy(fold->room + fold->at, in->ptr, len);
	memcpy(out, in->ptr, len);
	in->ptr += len;
	in->len -= len;
	fold->at += len;
	if (fold->at == MOR_FOLDING_ROOM) {
		fold->at = 0;
		fold->full = true;
	}
	return len;
}

static size_t take_bytes(struct mor_unfold *fold, struct mor_slice *in, unsigned char *out, size_t len)
{
	if (len > fold->left)
		len = (size_t)fold->left;
	if (fold->state == BYTES) {
		len = take_new(fold, in, out, len);
	} else {
		memcpy(out, fold->room + fold->from, len);
		fold->from += len;
	}
	fold->left -= len;
	if (!fold->left)
		fold->state = fold->state == BYTES ? LENGTH : COUNT;
	return len;
}

ssize_t mor_unfold_read(struct mor_unfold *fold, struct mor_slice *in, void *buffer, size_t len)
{
	size_t done = 0;

	while (done < len && (in->len || fold->state == RUN)) {
		if (fold->state == BYTES || fold->state == RUN) {
			done += take_bytes(fold, in, (unsigned char *)buffer + done, len - done);
		} else {
			int r = take_number(fold, in);

			if (r < 0 || (r > 0 && !mind_number(fold)))
				return -EBADMSG;
		}
	}
	return (ssize_t)done;
}
