/*
 * rows.h - encoding in bands, so that decode, change and encode run in memory that does not grow with the height.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_ROWS_H
#define CPI_ROWS_H
#include "extension.h"
CPI_ASSUME_NONNULL_BEGIN

#define CPI_EXT_ENCODE_ROWS     "coderhost.encode-rows/1"
#define CPI_EXT_ENCODE_ROWS_TAG ((uint64_t)0xbb3539204fd9413e)

/* Takes the place of add_frame for a still: begin_rows once, then add_rows until the last row, then finish. The output
   has the same bytes as with add_frame. */
typedef struct cpi_encode_rows_api {
    cpi_table table;

    /* Begins the frame and answers in *rows how many rows a band should have; every band but the last has a multiple of
       it. CPI_OK, CPI_REFUSED (this output needs the whole frame: use add_frame) or an error.
       [host - begun - session thread] */
    cpi_status (*begin_rows)(cpi_encoder *encoder, const cpi_frame_info *frame, uint32_t *rows, cpi_error *error);

    /* Encodes the next rows: whole rows in the agreed format, from the top, each once; the pixels are valid only during
       the call. The state is [framed] after the last row. [host - after begin_rows - session thread, may block] */
    cpi_status (*add_rows)(cpi_encoder *encoder, const cpi_surface *rows, cpi_error *error);
} cpi_encode_rows_api;

CPI_ASSUME_NONNULL_END
#endif
