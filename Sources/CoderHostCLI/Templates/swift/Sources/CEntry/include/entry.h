/*
 * entry.h - what the tables in entry.c point to. Exports.swift implements each of these; a signature that differs does
 * not compile. The contract of each is that of the field of the same name in <coder_plugin.h>.
 */
#ifndef CODER_ENTRY_H
#define CODER_ENTRY_H

#include <coder_plugin.h>

cpi_status coder_open_decoder(const cpi_coder *CPI_NONNULL coder, const cpi_services *CPI_NONNULL services,
                              const cpi_limits *CPI_NONNULL limits, const cpi_options *CPI_NULLABLE options,
                              cpi_decoder *CPI_NULLABLE *CPI_NONNULL decoder, cpi_error *CPI_NONNULL error);
void       coder_close_decoder(cpi_decoder *CPI_NONNULL decoder);
cpi_status coder_set_source(cpi_decoder *CPI_NONNULL decoder, const cpi_source *CPI_NONNULL source,
                            cpi_error *CPI_NONNULL error);
cpi_status coder_read_header(cpi_decoder *CPI_NONNULL decoder, cpi_image_info *CPI_NONNULL info,
                             cpi_error *CPI_NONNULL error);
cpi_status coder_offer(cpi_decoder *CPI_NONNULL decoder, uint32_t index, cpi_format_offer *CPI_NONNULL offer,
                       cpi_error *CPI_NONNULL error);
cpi_status coder_next_frame(cpi_decoder *CPI_NONNULL decoder, cpi_frame_info *CPI_NONNULL frame,
                            cpi_error *CPI_NONNULL error);
cpi_status coder_seek_frame(cpi_decoder *CPI_NONNULL decoder, uint32_t *CPI_NONNULL index,
                            cpi_error *CPI_NONNULL error);
cpi_status coder_decode(cpi_decoder *CPI_NONNULL decoder, const cpi_decode_request *CPI_NONNULL request,
                        cpi_error *CPI_NONNULL error);
cpi_status coder_dirty(cpi_decoder *CPI_NONNULL decoder, cpi_rect *CPI_NONNULL rect, cpi_error *CPI_NONNULL error);

cpi_status coder_open_encoder(const cpi_coder *CPI_NONNULL coder, const cpi_services *CPI_NONNULL services,
                              const cpi_limits *CPI_NONNULL limits, const cpi_options *CPI_NULLABLE options,
                              cpi_encoder *CPI_NULLABLE *CPI_NONNULL encoder, cpi_error *CPI_NONNULL error);
void       coder_close_encoder(cpi_encoder *CPI_NONNULL encoder);
cpi_status coder_accept(cpi_encoder *CPI_NONNULL encoder, const cpi_image_info *CPI_NONNULL info, uint32_t index,
                        cpi_format_offer *CPI_NONNULL offer, cpi_error *CPI_NONNULL error);
cpi_status coder_begin(cpi_encoder *CPI_NONNULL encoder, const cpi_image_info *CPI_NONNULL info,
                       const cpi_sink *CPI_NONNULL sink, cpi_error *CPI_NONNULL error);
cpi_status coder_add_frame(cpi_encoder *CPI_NONNULL encoder, const cpi_frame_info *CPI_NONNULL frame,
                           const cpi_surface *CPI_NONNULL surface, cpi_error *CPI_NONNULL error);
cpi_status coder_finish(cpi_encoder *CPI_NONNULL encoder, cpi_error *CPI_NONNULL error);

#endif
