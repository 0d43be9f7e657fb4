/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of Timestamp, Duration and FieldMask. */
#ifndef MOR_PB_KNOWN_H
#define MOR_PB_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

/* Seconds since 1970, or of a duration, and nanoseconds. */
struct mor_pb_time {
	int64_t seconds;
	int32_t nanos;
};
#define MOR_PB_TIME_TEXT 128

/* "1972-01-01T10:00:20.021Z", with 0, 3, 6 or 9 digits; false: not in the years 1 to 9999. */
bool mor_pb_timestamp_text(struct mor_pb_time time, char out[MOR_PB_TIME_TEXT]);
/* RFC 3339, with Z or an offset, up to nine digits. */
bool mor_pb_timestamp_parse(struct mor_slice text, struct mor_pb_time *ret);
/* "-1.500s"; false: more than 10,000 years, or the signs differ. */
bool mor_pb_duration_text(struct mor_pb_time time, char out[MOR_PB_TIME_TEXT]);
bool mor_pb_duration_parse(struct mor_slice text, struct mor_pb_time *ret);

/* foo_bar.baz -> fooBar.baz, and back; false: the way back would give another path, or it is not UTF-8. */
bool mor_pb_path_to_camel(struct mor_slice path, struct mor_buf *out);
bool mor_pb_path_from_camel(struct mor_slice path, struct mor_buf *out);

#endif
