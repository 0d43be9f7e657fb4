/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64, twelve bytes at a time, where the processor has SSSE3 (every x86-64 since 2006): five times as fast
 * as by a table; with AVX2 twice twelve. Whether it has is asked of the C library, which knows it already;
 * CPUID is slow in a virtual machine. One shuffle brings the three bytes of each group to the four places where
 * their bits are needed, two multiplications move the bits there, and one more shuffle finds what is to be
 * added for the alphabet.
 */
#ifndef MOR_WIRE_BASE64_FAST_H
#define MOR_WIRE_BASE64_FAST_H

#include <stddef.h>
#include <stdint.h> /* says which C library this is */

#if defined(__x86_64__) && defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
#define MOR_BASE64_SSSE3
#endif

#ifdef MOR_BASE64_SSSE3
#include <immintrin.h>
#include <sys/platform/x86.h>

/* By class: 0 is a..z, 1..10 are digits, 11 is '+', 12 is '/', 13 is A..Z. */
#define MOR_BASE64_OFFSETS \
	'a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, \
		'0' - 52, '+' - 62, '/' - 63, 'A', 0, 0
#define MOR_BASE64_SPREAD 1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7, 10, 9, 11, 10

/* How many bytes from `p` were encoded: a multiple of 12. A load takes 16 bytes, of which 12 are used. */
__attribute__((target("ssse3"))) static inline size_t mor_base64_ssse3(const unsigned char *p, size_t len,
								       char *to)
{
	const __m128i spread = _mm_setr_epi8(MOR_BASE64_SPREAD), offset = _mm_setr_epi8(MOR_BASE64_OFFSETS);
	size_t done = 0;

	for (; len - done >= 16; done += 12, to += 16) {
		__m128i x =
			_mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(p + done)), spread);
		__m128i odd = _mm_mulhi_epu16(_mm_and_si128(x, _mm_set1_epi32(0x0fc0fc00)),
					      _mm_set1_epi32(0x04000040));
		__m128i even = _mm_mullo_epi16(_mm_and_si128(x, _mm_set1_epi32(0x003f03f0)),
					       _mm_set1_epi32(0x01000010));
		__m128i digits = _mm_or_si128(odd, even);
		__m128i upper = _mm_cmpgt_epi8(_mm_set1_epi8(26), digits);
		__m128i kind = _mm_or_si128(_mm_subs_epu8(digits, _mm_set1_epi8(51)),
					    _mm_and_si128(upper, _mm_set1_epi8(13)));

		_mm_storeu_si128((__m128i *)(void *)to, _mm_add_epi8(digits, _mm_shuffle_epi8(offset, kind)));
	}
	return done;
}

/* The same in both halves of a register, each with 12 bytes of its own. */
__attribute__((target("avx2"))) static inline size_t mor_base64_avx2(const unsigned char *p, size_t len,
								     char *to)
{
	const __m256i spread = _mm256_setr_epi8(MOR_BASE64_SPREAD, MOR_BASE64_SPREAD);
	const __m256i offset = _mm256_setr_epi8(MOR_BASE64_OFFSETS, MOR_BASE64_OFFSETS);
	size_t done = 0;

	for (; len - done >= 28; done += 24, to += 32) {
		const __m128i *low = (const __m128i *)(const void *)(p + done);
		const __m128i *high = (const __m128i *)(const void *)(p + done + 12);
		__m256i x = _mm256_shuffle_epi8(_mm256_loadu2_m128i(high, low), spread);
		__m256i odd = _mm256_mulhi_epu16(_mm256_and_si256(x, _mm256_set1_epi32(0x0fc0fc00)),
						 _mm256_set1_epi32(0x04000040));
		__m256i even = _mm256_mullo_epi16(_mm256_and_si256(x, _mm256_set1_epi32(0x003f03f0)),
						  _mm256_set1_epi32(0x01000010));
		__m256i digits = _mm256_or_si256(odd, even);
		__m256i upper = _mm256_cmpgt_epi8(_mm256_set1_epi8(26), digits);
		__m256i kind = _mm256_or_si256(_mm256_subs_epu8(digits, _mm256_set1_epi8(51)),
					       _mm256_and_si256(upper, _mm256_set1_epi8(13)));

		_mm256_storeu_si256((__m256i *)(void *)to,
				    _mm256_add_epi8(digits, _mm256_shuffle_epi8(offset, kind)));
	}
	return done;
}

static inline void mor_base64_fast(const unsigned char **p, size_t *left, char **to)
{
	size_t done = CPU_FEATURE_ACTIVE(AVX2) ? mor_base64_avx2(*p, *left, *to) : 0;

	if (CPU_FEATURE_ACTIVE(SSSE3))
		done += mor_base64_ssse3(*p + done, *left - done, *to + done / 3 * 4);
	*p += done;
	*left -= done;
	*to += done / 3 * 4;
}
#else
static inline void mor_base64_fast(const unsigned char **p, size_t *left, char **to)
{
	(void)p;
	(void)left;
	(void)to;
}
#endif

#endif
