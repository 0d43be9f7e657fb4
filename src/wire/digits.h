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

#endif
