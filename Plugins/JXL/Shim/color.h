/*
 * color.h - libjxl's types for those of the shim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef JXL_SHIM_COLOR_H
#define JXL_SHIM_COLOR_H
#include "jxl_shim.h"

#include <jxl/color_encoding.h>
#include <jxl/types.h>

JxlDataType jxl_shim_type(uint32_t sample);
jxl_shim_color jxl_shim_described(const JxlColorEncoding *encoding);
JxlColorEncoding jxl_shim_encoding(const jxl_shim_color *color);

#endif
