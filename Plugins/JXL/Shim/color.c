/*
 * color.c - libjxl's types for those of the shim.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "color.h"

#include <string.h>

JxlDataType jxl_shim_type(uint32_t sample)
{
    return sample == jxl_shim_unorm16 ? JXL_TYPE_UINT16
           : sample == jxl_shim_half  ? JXL_TYPE_FLOAT16
           : sample == jxl_shim_float ? JXL_TYPE_FLOAT
                                      : JXL_TYPE_UINT8;
}

jxl_shim_color jxl_shim_described(const JxlColorEncoding *encoding)
{
    jxl_shim_color color;
    memset(&color, 0, sizeof color);
    color.is_gray = encoding->color_space == JXL_COLOR_SPACE_GRAY;
    color.white = encoding->white_point;
    color.primaries = encoding->primaries;
    color.transfer = encoding->transfer_function;
    color.intent = encoding->rendering_intent;
    color.gamma = encoding->gamma;
    memcpy(color.white_xy, encoding->white_point_xy, sizeof color.white_xy);
    memcpy(color.red_xy, encoding->primaries_red_xy, sizeof color.red_xy);
    memcpy(color.green_xy, encoding->primaries_green_xy, sizeof color.green_xy);
    memcpy(color.blue_xy, encoding->primaries_blue_xy, sizeof color.blue_xy);
    return color;
}

JxlColorEncoding jxl_shim_encoding(const jxl_shim_color *color)
{
    JxlColorEncoding encoding;
    memset(&encoding, 0, sizeof encoding);
    encoding.color_space = color->is_gray ? JXL_COLOR_SPACE_GRAY : JXL_COLOR_SPACE_RGB;
    encoding.white_point = (JxlWhitePoint)color->white;
    encoding.primaries = (JxlPrimaries)color->primaries;
    encoding.transfer_function = (JxlTransferFunction)color->transfer;
    encoding.rendering_intent = (JxlRenderingIntent)color->intent;
    encoding.gamma = color->gamma;
    memcpy(encoding.white_point_xy, color->white_xy, sizeof color->white_xy);
    memcpy(encoding.primaries_red_xy, color->red_xy, sizeof color->red_xy);
    memcpy(encoding.primaries_green_xy, color->green_xy, sizeof color->green_xy);
    memcpy(encoding.primaries_blue_xy, color->blue_xy, sizeof color->blue_xy);
    return encoding;
}
