/*
 * zimg_shim.h - resampling by zimg, fed and emptied row by row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef ZIMG_SHIM_H
#define ZIMG_SHIM_H

#include <stdint.h>

/* The version of the library that is loaded, major << 16 | minor << 8 | micro. */
uint32_t zimgshim_version(void);

#endif
