/* SPDX-License-Identifier: Apache-2.0 */
/* What an index can be written as, and what is checked on the way: each unit is made of complete records. */
#ifndef MOR_KYTHE_DRIVE_FORMAT_H
#define MOR_KYTHE_DRIVE_FORMAT_H

#include "result/result.h"

enum mor_driver_format {
	MOR_DRIVER_ENTRIES, /* valid entries, on the wire */
	MOR_DRIVER_JSON,    /* the same in JSON, one per line */
	MOR_DRIVER_RAW,     /* any records, as they are */
	MOR_DRIVER_FORMATS
};
/* The form of an output is an enum mor_stream_format. */
extern const struct mor_result_check mor_driver_checks[MOR_DRIVER_FORMATS];

#endif
