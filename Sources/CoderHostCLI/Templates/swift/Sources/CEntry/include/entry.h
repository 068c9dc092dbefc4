/*
 * entry.h - the functions in the tables of entry.c. Exports.swift implements them; wrong signatures do not compile.
 * <coder_plugin.h> documents each function at the field of the same name.
 */
#ifndef CODER_ENTRY_H
#define CODER_ENTRY_H

#include <coder_plugin.h>

CPI_ASSUME_NONNULL_BEGIN

cpi_status coder_open_decoder(const cpi_coder *coder, const cpi_services *services,
                              const cpi_limits *limits, const cpi_options *CPI_NULLABLE options,
                              cpi_decoder *CPI_NULLABLE *CPI_NONNULL decoder, cpi_error *error);
void       coder_close_decoder(cpi_decoder *decoder);
cpi_status coder_set_source(cpi_decoder *decoder, const cpi_source *source,
                            cpi_error *error);
cpi_status coder_read_header(cpi_decoder *decoder, cpi_image_info *info,
                             cpi_error *error);
cpi_status coder_offer(cpi_decoder *decoder, uint32_t index, cpi_format_offer *offer,
                       cpi_error *error);
cpi_status coder_next_frame(cpi_decoder *decoder, cpi_frame_info *frame,
                            cpi_error *error);
cpi_status coder_seek_frame(cpi_decoder *decoder, uint32_t *index,
                            cpi_error *error);
cpi_status coder_decode(cpi_decoder *decoder, const cpi_decode_request *request,
                        cpi_error *error);
cpi_status coder_dirty(cpi_decoder *decoder, cpi_rect *rect, cpi_error *error);

cpi_status coder_open_encoder(const cpi_coder *coder, const cpi_services *services,
                              const cpi_limits *limits, const cpi_options *CPI_NULLABLE options,
                              cpi_encoder *CPI_NULLABLE *CPI_NONNULL encoder, cpi_error *error);
void       coder_close_encoder(cpi_encoder *encoder);
cpi_status coder_accept(cpi_encoder *encoder, const cpi_image_info *info, uint32_t index,
                        cpi_format_offer *offer, cpi_error *error);
cpi_status coder_begin(cpi_encoder *encoder, const cpi_image_info *info,
                       const cpi_sink *sink, cpi_error *error);
cpi_status coder_add_frame(cpi_encoder *encoder, const cpi_frame_info *frame,
                           const cpi_surface *surface, cpi_error *error);
cpi_status coder_finish(cpi_encoder *encoder, cpi_error *error);

CPI_ASSUME_NONNULL_END

#endif
