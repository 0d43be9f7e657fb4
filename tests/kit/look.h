/* SPDX-License-Identifier: Apache-2.0 */
/* What a test sees of its own process. */
#ifndef TESTS_KIT_LOOK_H
#define TESTS_KIT_LOOK_H

#include <stdbool.h>

unsigned count_descriptors(void);
/* Children that live, or that nobody has reaped. */
bool has_children(void);

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
