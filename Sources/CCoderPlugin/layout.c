/*
 * layout.c - freezes the binary layout of the contract: the size and every offset of every struct, grouped by the minor
 * that froze them. A line here is never changed; an appended field appends a line.
 *
 * The figures hold for every LP64 machine (x86-64 and aarch64 Linux).
 */
#include "coder_plugin.h"

#define OFFSET(type, field, bytes) _Static_assert(offsetof(type, field) == (bytes), #type "." #field " moved")
#define SIZE(type, bytes)          _Static_assert(sizeof(type) == (bytes), #type " changed its size")

#if defined(__LP64__)

/* Frozen by 1.0 */

OFFSET(cpi_error, size, 0);
OFFSET(cpi_error, code, 4);
OFFSET(cpi_error, domain, 8);
OFFSET(cpi_error, message, 40);
OFFSET(cpi_error, feature, 296);
OFFSET(cpi_error, input_offset, 360);
OFFSET(cpi_error, limit_id, 368);
OFFSET(cpi_error, reserved, 372);
OFFSET(cpi_error, limit_allowed, 376);
OFFSET(cpi_error, limit_requested, 384);
SIZE(cpi_error, 392);

OFFSET(cpi_rect, x, 0);
OFFSET(cpi_rect, y, 4);
OFFSET(cpi_rect, width, 8);
OFFSET(cpi_rect, height, 12);
SIZE(cpi_rect, 16);

OFFSET(cpi_pixel_format, channels, 0);
OFFSET(cpi_pixel_format, numeric, 1);
OFFSET(cpi_pixel_format, bits, 2);
OFFSET(cpi_pixel_format, alpha, 3);
OFFSET(cpi_pixel_format, count, 4);
OFFSET(cpi_pixel_format, layout, 6);
OFFSET(cpi_pixel_format, reserved, 7);
SIZE(cpi_pixel_format, 8);

OFFSET(cpi_surface, size, 0);
OFFSET(cpi_surface, flags, 4);
OFFSET(cpi_surface, format, 8);
OFFSET(cpi_surface, width, 16);
OFFSET(cpi_surface, height, 20);
OFFSET(cpi_surface, stride, 24);
OFFSET(cpi_surface, pixels, 32);
OFFSET(cpi_surface, byte_count, 40);
SIZE(cpi_surface, 48);

OFFSET(cpi_color, flags, 0);
OFFSET(cpi_color, primaries, 4);
OFFSET(cpi_color, transfer, 5);
OFFSET(cpi_color, matrix, 6);
OFFSET(cpi_color, full_range, 7);
OFFSET(cpi_color, reserved, 8);
SIZE(cpi_color, 16);

OFFSET(cpi_chromaticities, red_x, 0);
OFFSET(cpi_chromaticities, red_y, 4);
OFFSET(cpi_chromaticities, green_x, 8);
OFFSET(cpi_chromaticities, green_y, 12);
OFFSET(cpi_chromaticities, blue_x, 16);
OFFSET(cpi_chromaticities, blue_y, 20);
OFFSET(cpi_chromaticities, white_x, 24);
OFFSET(cpi_chromaticities, white_y, 28);
SIZE(cpi_chromaticities, 32);

OFFSET(cpi_mastering, colors, 0);
OFFSET(cpi_mastering, max_luminance, 32);
OFFSET(cpi_mastering, min_luminance, 36);
SIZE(cpi_mastering, 40);

OFFSET(cpi_image_info, size, 0);
OFFSET(cpi_image_info, flags, 4);
OFFSET(cpi_image_info, width, 8);
OFFSET(cpi_image_info, height, 12);
OFFSET(cpi_image_info, orientation, 16);
OFFSET(cpi_image_info, bit_depth, 20);
OFFSET(cpi_image_info, frame_count, 24);
OFFSET(cpi_image_info, loop_kind, 28);
OFFSET(cpi_image_info, loop_count, 32);
OFFSET(cpi_image_info, native, 40);
OFFSET(cpi_image_info, color, 48);
OFFSET(cpi_image_info, density_unit, 64);
OFFSET(cpi_image_info, density_x, 68);
OFFSET(cpi_image_info, density_y, 72);
OFFSET(cpi_image_info, background, 76);
OFFSET(cpi_image_info, tile_width, 80);
OFFSET(cpi_image_info, tile_height, 84);
OFFSET(cpi_image_info, region_cost, 88);
OFFSET(cpi_image_info, gamma, 92);
OFFSET(cpi_image_info, chromaticities, 96);
OFFSET(cpi_image_info, mastering, 128);
OFFSET(cpi_image_info, max_content_light, 168);
OFFSET(cpi_image_info, max_frame_average_light, 172);
SIZE(cpi_image_info, 176);

OFFSET(cpi_rational, numerator, 0);
OFFSET(cpi_rational, denominator, 4);
SIZE(cpi_rational, 8);

OFFSET(cpi_frame_info, size, 0);
OFFSET(cpi_frame_info, flags, 4);
OFFSET(cpi_frame_info, index, 8);
OFFSET(cpi_frame_info, blend, 12);
OFFSET(cpi_frame_info, disposal, 16);
OFFSET(cpi_frame_info, rect, 20);
OFFSET(cpi_frame_info, duration, 36);
OFFSET(cpi_frame_info, reserved, 44);
SIZE(cpi_frame_info, 48);

OFFSET(cpi_source, size, 0);
OFFSET(cpi_source, kind, 4);
OFFSET(cpi_source, length, 8);
OFFSET(cpi_source, bytes, 16);
OFFSET(cpi_source, ctx, 24);
OFFSET(cpi_source, available, 32);
OFFSET(cpi_source, complete, 40);
OFFSET(cpi_source, read_at, 48);
OFFSET(cpi_source, ending, 56);
SIZE(cpi_source, 64);

OFFSET(cpi_sink, size, 0);
OFFSET(cpi_sink, flags, 4);
OFFSET(cpi_sink, ctx, 8);
OFFSET(cpi_sink, write, 16);
OFFSET(cpi_sink, write_at, 24);
SIZE(cpi_sink, 32);

OFFSET(cpi_blob, size, 0);
OFFSET(cpi_blob, kind, 4);
OFFSET(cpi_blob, key, 8);
OFFSET(cpi_blob, bytes, 16);
OFFSET(cpi_blob, length, 24);
SIZE(cpi_blob, 32);

OFFSET(cpi_option, size, 0);
OFFSET(cpi_option, type, 4);
OFFSET(cpi_option, flags, 8);
OFFSET(cpi_option, reserved, 12);
OFFSET(cpi_option, key, 16);
OFFSET(cpi_option, integer, 24);
OFFSET(cpi_option, real, 32);
OFFSET(cpi_option, bytes, 40);
OFFSET(cpi_option, length, 48);
SIZE(cpi_option, 56);

OFFSET(cpi_options, size, 0);
OFFSET(cpi_options, count, 4);
OFFSET(cpi_options, stride, 8);
OFFSET(cpi_options, items, 16);
SIZE(cpi_options, 24);

OFFSET(cpi_limits, size, 0);
OFFSET(cpi_limits, max_width, 4);
OFFSET(cpi_limits, max_height, 8);
OFFSET(cpi_limits, max_frames, 12);
OFFSET(cpi_limits, max_pixels, 16);
OFFSET(cpi_limits, max_total_pixels, 24);
OFFSET(cpi_limits, max_source_pixels, 32);
OFFSET(cpi_limits, max_alloc, 40);
OFFSET(cpi_limits, max_total_alloc, 48);
OFFSET(cpi_limits, max_metadata_bytes, 56);
OFFSET(cpi_limits, max_input_bytes, 64);
OFFSET(cpi_limits, max_output_bytes, 72);
OFFSET(cpi_limits, max_nesting, 80);
OFFSET(cpi_limits, max_threads, 84);
OFFSET(cpi_limits, max_scans, 88);
OFFSET(cpi_limits, max_ratio, 92);
SIZE(cpi_limits, 96);

OFFSET(cpi_services, size, 0);
OFFSET(cpi_services, flags, 4);
OFFSET(cpi_services, ctx, 8);
OFFSET(cpi_services, allocate, 16);
OFFSET(cpi_services, release, 24);
OFFSET(cpi_services, budget, 32);
OFFSET(cpi_services, poll, 40);
OFFSET(cpi_services, log, 48);
OFFSET(cpi_services, progress, 56);
OFFSET(cpi_services, now, 64);
OFFSET(cpi_services, thread_hint, 72);
SIZE(cpi_services, 80);

OFFSET(cpi_host, size, 0);
OFFSET(cpi_host, abi_minor, 4);
OFFSET(cpi_host, name, 8);
OFFSET(cpi_host, version, 16);
OFFSET(cpi_host, ctx, 24);
OFFSET(cpi_host, get, 32);
SIZE(cpi_host, 40);

OFFSET(cpi_format_offer, size, 0);
OFFSET(cpi_format_offer, flags, 4);
OFFSET(cpi_format_offer, format, 8);
OFFSET(cpi_format_offer, row_align, 16);
OFFSET(cpi_format_offer, reserved, 20);
SIZE(cpi_format_offer, 24);

OFFSET(cpi_decode_request, size, 0);
OFFSET(cpi_decode_request, flags, 4);
OFFSET(cpi_decode_request, surface, 8);
OFFSET(cpi_decode_request, region, 16);
OFFSET(cpi_decode_request, scaled_width, 32);
OFFSET(cpi_decode_request, scaled_height, 36);
SIZE(cpi_decode_request, 40);

OFFSET(cpi_decoder_api, size, 0);
OFFSET(cpi_decoder_api, reserved, 4);
OFFSET(cpi_decoder_api, open, 8);
OFFSET(cpi_decoder_api, close, 16);
OFFSET(cpi_decoder_api, set_source, 24);
OFFSET(cpi_decoder_api, read_header, 32);
OFFSET(cpi_decoder_api, blob, 40);
OFFSET(cpi_decoder_api, offer, 48);
OFFSET(cpi_decoder_api, scaled_size, 56);
OFFSET(cpi_decoder_api, next_frame, 64);
OFFSET(cpi_decoder_api, seek_frame, 72);
OFFSET(cpi_decoder_api, decode, 80);
OFFSET(cpi_decoder_api, dirty, 88);
OFFSET(cpi_decoder_api, get, 96);
SIZE(cpi_decoder_api, 104);

OFFSET(cpi_encoder_api, size, 0);
OFFSET(cpi_encoder_api, reserved, 4);
OFFSET(cpi_encoder_api, open, 8);
OFFSET(cpi_encoder_api, close, 16);
OFFSET(cpi_encoder_api, accept, 24);
OFFSET(cpi_encoder_api, begin, 32);
OFFSET(cpi_encoder_api, add_blob, 40);
OFFSET(cpi_encoder_api, add_frame, 48);
OFFSET(cpi_encoder_api, finish, 56);
OFFSET(cpi_encoder_api, get, 64);
SIZE(cpi_encoder_api, 72);

OFFSET(cpi_coder, size, 0);
OFFSET(cpi_coder, roles, 4);
OFFSET(cpi_coder, id, 8);
OFFSET(cpi_coder, data, 16);
OFFSET(cpi_coder, decoder, 24);
OFFSET(cpi_coder, encoder, 32);
SIZE(cpi_coder, 40);

OFFSET(cpi_plugin, size, 0);
OFFSET(cpi_plugin, abi_minor_built, 4);
OFFSET(cpi_plugin, abi_minor_needed, 8);
OFFSET(cpi_plugin, concurrency, 12);
OFFSET(cpi_plugin, id, 16);
OFFSET(cpi_plugin, version, 24);
OFFSET(cpi_plugin, coder_count, 32);
OFFSET(cpi_plugin, reserved, 36);
OFFSET(cpi_plugin, coder, 40);
OFFSET(cpi_plugin, init, 48);
OFFSET(cpi_plugin, get, 56);
SIZE(cpi_plugin, 64);

OFFSET(cpi_table, size, 0);
OFFSET(cpi_table, rev, 4);
OFFSET(cpi_table, tag, 8);
SIZE(cpi_table, 16);

OFFSET(cpi_item, size, 0);
OFFSET(cpi_item, flags, 4);
OFFSET(cpi_item, role, 8);
OFFSET(cpi_item, of, 12);
OFFSET(cpi_item, group, 16);
OFFSET(cpi_item, reserved, 20);
OFFSET(cpi_item, name, 24);
OFFSET(cpi_item, kind, 32);
SIZE(cpi_item, 40);

OFFSET(cpi_items_api, table, 0);
OFFSET(cpi_items_api, describe, 16);
OFFSET(cpi_items_api, select, 24);
OFFSET(cpi_items_api, count, 32);
SIZE(cpi_items_api, 40);

OFFSET(cpi_thumbnail_encode_api, table, 0);
OFFSET(cpi_thumbnail_encode_api, add, 16);
SIZE(cpi_thumbnail_encode_api, 24);

OFFSET(cpi_encode_items_api, table, 0);
OFFSET(cpi_encode_items_api, next_item, 16);
SIZE(cpi_encode_items_api, 24);

OFFSET(cpi_encode_rows_api, table, 0);
OFFSET(cpi_encode_rows_api, begin_rows, 16);
OFFSET(cpi_encode_rows_api, add_rows, 24);
SIZE(cpi_encode_rows_api, 32);

OFFSET(cpi_parallel_api, table, 0);
OFFSET(cpi_parallel_api, run, 16);
SIZE(cpi_parallel_api, 24);

OFFSET(cpi_rewrite_request, size, 0);
OFFSET(cpi_rewrite_request, flags, 4);
OFFSET(cpi_rewrite_request, remove, 8);
OFFSET(cpi_rewrite_request, orientation, 12);
OFFSET(cpi_rewrite_request, crop, 16);
OFFSET(cpi_rewrite_request, blobs, 32);
OFFSET(cpi_rewrite_request, blob_stride, 40);
OFFSET(cpi_rewrite_request, blob_count, 48);
OFFSET(cpi_rewrite_request, reserved, 52);
SIZE(cpi_rewrite_request, 56);

OFFSET(cpi_rewrite_outcome, size, 0);
OFFSET(cpi_rewrite_outcome, flags, 4);
OFFSET(cpi_rewrite_outcome, kept, 8);
OFFSET(cpi_rewrite_outcome, reserved, 24);
SIZE(cpi_rewrite_outcome, 28);

OFFSET(cpi_rewrite_api, table, 0);
OFFSET(cpi_rewrite_api, rewrite, 16);
SIZE(cpi_rewrite_api, 24);

OFFSET(cpi_transcode_api, table, 0);
OFFSET(cpi_transcode_api, transcode, 16);
SIZE(cpi_transcode_api, 24);

#endif
