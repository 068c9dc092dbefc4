/*
 * lcms_shim.h - ICC profiles and transforms by Little CMS.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef LCMS_SHIM_H
#define LCMS_SHIM_H

#include <stdint.h>

/* The version of the library that is loaded, such as 2140. */
int32_t lcmsshim_version(void);

#endif
