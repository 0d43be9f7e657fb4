/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as decimal digits, two at a time: printf costs more than the rest of a message. */
#ifndef MOR_WIRE_DIGITS_H
#define MOR_WIRE_DIGITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOR_DIGITS 24 /* of 64 bits with a sign, and room to spare */

extern const char mor_digit_pairs[];

/* Writes the digits at the end of the array; returns their number. */
static inline size_t mor_digits(uint64_t number, char digits[MOR_DIGITS])
{
	char *p = digits + MOR_DIGITS;

	for (; number >= 100; number /= 100)
		p = memcpy(p - 2, mor_digit_pairs + number % 100 * 2, 2);
	if (number >= 10)
		p = memcpy(p - 2, mor_digit_pairs + number * 2, 2);
	else
		*--p = (char)('0' + number);
	return (size_t)(digits + MOR_DIGITS - p);
}

/* The number whose digits begin at p, of which 16 bytes can be read; *ret_count of them, at most 16. */
static inline uint64_t mor_digits_read(const unsigned char *p, size_t *ret_count)
{
	uint64_t number = 0;
	size_t count = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	/* Up to seven at once. A digit becomes its value; any other byte has then, or gets by adding 0x76, its
	 * highest bit. A carry only reaches bytes behind the first such one. */
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t x, others;

	memcpy(&x, p, 8);
	x ^= ones * '0';
	others = ((x + ones * 0x76) | x) & ones << 7;
	if (others) {
		*ret_count = (unsigned)__builtin_ctzll(others) / 8;
		if (*ret_count == 0)
			return 0;
		x <<= 64 - 8 * *ret_count; /* leading zeros; the last digit is the highest byte */
		x = x * 10 + (x >> 8);
		x = (x & UINT64_C(0xff000000ff)) * (100 + (UINT64_C(1000000) << 32)) +
		    (x >> 16 & UINT64_C(0xff000000ff)) * (1 + (UINT64_C(10000) << 32));
		return x >> 32;
	}
#endif
	while (count < 16 && p[count] >= '0' && p[count] <= '9')
		number = number * 10 + (p[count++] - '0');
	*ret_count = count;
	return number;
}

#endif
