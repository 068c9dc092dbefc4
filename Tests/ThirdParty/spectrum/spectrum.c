/*
 * spectrum.c - the C examples of DocC's page "Abilities": samples that the host's buffers cannot hold, and the sandbox.
 *
 *     "SPEC" | width 4 | height 4 | five samples of 32 bits for each pixel, from blue to infrared
 *
 * Numbers are big-endian. Lines between "// name begins" and "// name ends" are on the page.
 *
 *   FONT   the file that init reads, in quotation marks
 *   READS  the manifest's request, "\"fonts\"" by default
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <cpi/session.h>

#ifndef READS
#define READS "\"fonts\""
#endif

CPI_MANIFEST("{ \"schema\": 1,"
    " \"plugin\": { \"id\": \"org.example.spectrum-plugin\", \"version\": \"1.0.0\", \"name\": \"Spectrum\","
    "  \"license\": \"Apache-2.0\" },"
    " \"abi\": { \"major\": 1, \"minor_built\": 0, \"minor_needed\": 0 },"
    " \"concurrency\": \"any\","
    " \"isolation\": { \"required\": true, \"read\": [" READS "] },"
    " \"coders\": [ { \"id\": \"org.example.spectrum\", \"roles\": [\"decode\"],"
    "  \"formats\": [ { \"id\": \"spectrum\", \"extensions\": [\"spectrum\"],"
    "   \"signatures\": [ { \"at\": 0, \"bytes\": \"53504543\" } ] } ] } ] }");

enum { HEADER_BYTES = 12, SAMPLES = 5, PIXEL_BYTES = SAMPLES * 4 };

struct cpi_decoder {
    cpi_session session; /* the first field */
    uint32_t    width, height;
};

// samples begins
/* What the file stores, and what decode fills. */
static const cpi_pixel_format formats[] = {
    {CPI_CHANNELS_MANY, CPI_NUMERIC_UINT, 32, CPI_ALPHA_NONE, .count = 5, CPI_LAYOUT_INTERLEAVED, 0},
    {CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, 16, CPI_ALPHA_NONE, 0, 0, 0},
};

static cpi_status offer(cpi_decoder *d, uint32_t index, cpi_format_offer *offered, cpi_error *error) {
    const uint32_t states = CPI_SESSION_HEADER | CPI_SESSION_FRAME | CPI_SESSION_DECODED;
    if (cpi_session_enter(&d->session, states, error) < 0) return d->session.failure.code;
    if (index >= sizeof formats / sizeof formats[0]) return CPI_END;
    cpi_session_copy(offered, &(cpi_format_offer){.size = sizeof *offered, .format = formats[index]});
    return CPI_OK;
}
// samples ends

static uint32_t u32(const uint8_t *b) { return (uint32_t)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]; }

static cpi_status open_decoder(const cpi_coder *coder, const cpi_services *services, const cpi_limits *limits,
                               const cpi_options *options, cpi_decoder **decoder, cpi_error *error) {
    (void)coder;
    const cpi_option *option;
    for (uint32_t i = 0; (option = cpi_session_option(options, i)); i++)
        if (!(option->flags & CPI_OPTION_HINT))
            return cpi_session_fail(NULL, error, CPI_INVALID_ARGUMENT, 0, "no option %s", option->key);
    *decoder = cpi_session_open(services, limits, sizeof **decoder, error);
    return *decoder ? CPI_OK : CPI_NO_MEMORY;
}

static void close_decoder(cpi_decoder *d) { cpi_session_close(&d->session); }

static cpi_status set_source(cpi_decoder *d, const cpi_source *source, cpi_error *error) {
    if (cpi_session_enter(&d->session, CPI_SESSION_OPENED, error) < 0) return d->session.failure.code;
    d->session.source = source;
    d->session.state  = CPI_SESSION_SOURCED;
    return CPI_OK;
}

static cpi_status read_header(cpi_decoder *d, cpi_image_info *info, cpi_error *error) {
    uint8_t    header[HEADER_BYTES];
    cpi_status status = cpi_session_enter(&d->session, CPI_SESSION_SOURCED, error);
    if (status == CPI_OK) status = cpi_session_read(&d->session, 0, header, HEADER_BYTES, error);
    if (status != CPI_OK) return status;
    if (memcmp(header, "SPEC", 4) != 0)
        return cpi_session_fail(&d->session, error, CPI_NOT_MINE, 0, "the file does not begin with SPEC");
    d->width  = u32(header + 4);
    d->height = u32(header + 8);
    if (d->width == 0 || d->height == 0 || d->height > UINT64_MAX / 2 / PIXEL_BYTES / d->width)
        return cpi_session_fail(&d->session, error, CPI_CORRUPT, 4, "%u x %u pixels", d->width, d->height);
    cpi_session_copy(info, &(cpi_image_info){.size = sizeof *info, .width = d->width, .height = d->height,
                                             .bit_depth = 32, .frame_count = 1, .native = formats[0]});
    d->session.state = CPI_SESSION_HEADER;
    return CPI_OK;
}

static cpi_status next_frame(cpi_decoder *d, cpi_frame_info *frame, cpi_error *error) {
    const uint32_t states = CPI_SESSION_HEADER | CPI_SESSION_FRAME | CPI_SESSION_DECODED;
    if (cpi_session_enter(&d->session, states, error) < 0) return d->session.failure.code;
    if (d->session.state != CPI_SESSION_HEADER) return CPI_END;
    cpi_session_copy(frame, &(cpi_frame_info){.size = sizeof *frame, .rect = {0, 0, d->width, d->height},
                                              .flags = CPI_FRAME_INDEPENDENT});
    d->session.state = CPI_SESSION_FRAME;
    return CPI_OK;
}

/* Red, green and blue are samples 2, 1 and 0, each with its upper 16 bits. */
static cpi_status decode(cpi_decoder *d, const cpi_decode_request *request, cpi_error *error) {
    cpi_session       *s       = &d->session;
    const cpi_surface *surface = request->surface;
    cpi_status         status  = cpi_session_enter(s, CPI_SESSION_FRAME | CPI_SESSION_DECODED, error);
    if (status == CPI_OK && (request->region.width || request->scaled_width))
        return cpi_session_fail(s, error, CPI_REFUSED, 0, "only whole images are decoded");
    if (status == CPI_OK) status = cpi_session_surface(s, surface, formats[1], d->width, d->height, error);
    for (uint32_t y = 0; status == CPI_OK && y < d->height; y++) {
        status        = cpi_session_poll(s, y, d->height, error);
        uint16_t *row = (uint16_t *)(void *)(surface->pixels + y * surface->stride);
        for (uint32_t x = 0; status == CPI_OK && x < d->width; x++) {
            uint8_t        pixel[PIXEL_BYTES];
            const uint64_t at = HEADER_BYTES + ((uint64_t)y * d->width + x) * PIXEL_BYTES;
            status            = cpi_session_read(s, at, pixel, sizeof pixel, error);
            for (uint32_t c = 0; status == CPI_OK && c < 3; c++)
                row[3 * x + c] = (uint16_t)(u32(pixel + 4 * (2 - c)) >> 16);
        }
    }
    if (status == CPI_OK) s->state = CPI_SESSION_DECODED;
    return status;
}

// sandbox begins
static unsigned char font[4 << 20];
static size_t        font_bytes;

/* Runs once, before the sandbox is sealed. */
static cpi_status init(cpi_error *error) {
    FILE *file = fopen(FONT, "rb");
    if (!file) return cpi_session_fail(NULL, error, CPI_IO, 0, "the font %s cannot be read", FONT);
    font_bytes = fread(font, 1, sizeof font, file);
    fclose(file);
    return CPI_OK;
}
// sandbox ends

static const cpi_decoder_api decoder_api = {
    .size = sizeof decoder_api, .open = open_decoder, .close = close_decoder, .set_source = set_source,
    .read_header = read_header, .offer = offer, .next_frame = next_frame, .decode = decode,
};

static const cpi_coder the_coder = {
    .size = sizeof the_coder, .id = "org.example.spectrum", .roles = CPI_CODER_DECODE, .decoder = &decoder_api,
};

static const cpi_coder *coder_at(uint32_t index) { return index == 0 ? &the_coder : NULL; }

static const cpi_plugin plugin = {
    .size = sizeof plugin, .abi_minor_built = CPI_TARGET_MINOR, .id = "org.example.spectrum-plugin",
    .version = "1.0.0", .coder_count = 1, .coder = coder_at, .init = init,
};

const cpi_plugin *cpi_entry_1(const cpi_host *host, cpi_error *error) {
    (void)host, (void)error;
    return &plugin;
}
