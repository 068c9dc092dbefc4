/*
 * host.c - a minimal host: loads one plugin, runs its first coder, and checks the contract. It shares no code with
 * coderhost, so a plugin that works in both follows the header.
 *
 *     host PLUGIN decode memory|reader|growing|partial [STEP] [KEY=WORD]   image on stdin, rows on stdout
 *     host PLUGIN encode WIDTH HEIGHT CHANNELS [KEY=WORD]                  rows on stdin, image on stdout
 *
 * `growing` and `partial` add STEP bytes whenever the decoder requests input; `partial` requests unfinished rows.
 * Exit status: 0, 100 - cpi_status after an error (stderr: code, offset, message), 99 if the contract is violated.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PADDING = 24, CANARY = 0xa5 };

static void require(int truth, const char *what) {
    if (truth) return;
    fprintf(stderr, "broken contract: %s\n", what);
    exit(99);
}

static uint8_t *read_all(size_t *count) {
    uint8_t *bytes = NULL;
    size_t   room = 0;
    for (*count = 0;;) {
        if (*count == room) bytes = realloc(bytes, room = room * 2 + 65536);
        size_t got = fread(bytes + *count, 1, room - *count, stdin);
        if (got == 0) return bytes;
        *count += got;
    }
}

/* ---- the host's services ----------------------------------------------------------------------------------------- */

static int open_allocations = 0;

static void *allocate(void *ctx, uint64_t count) {
    (void)ctx;
    void *memory = malloc((size_t)count);
    if (memory) memset(memory, CANARY, (size_t)count), open_allocations++;
    return memory;
}

static void release(void *ctx, void *memory) {
    (void)ctx;
    if (memory) open_allocations--;
    free(memory);
}

static cpi_status budget(void *ctx, int64_t delta) { return (void)ctx, (void)delta, CPI_OK; }
static cpi_status poll(void *ctx) { return (void)ctx, CPI_CONTINUE; }
static void       progress(void *ctx, uint64_t done, uint64_t total) { (void)ctx, require(done <= total, "progress"); }
static void       log_line(void *ctx, uint32_t severity, const char *text) {
    (void)ctx, fprintf(stderr, "log %u: %s\n", severity, text);
}

static const cpi_services services = {
    .size = sizeof services, .allocate = allocate, .release = release, .budget = budget,
    .poll = poll, .log = log_line, .progress = progress,
};
static const cpi_limits limits = {.size = sizeof limits, .max_width = 20000, .max_height = 20000,
                                  .max_pixels = 100000000};

static const void *no_extension(void *ctx, const char *id) { return (void)ctx, (void)id, NULL; }

static uint8_t *input;
static size_t   input_count, shown, step;

static uint64_t   available(void *ctx) { return (void)ctx, shown; }
static int32_t    complete(void *ctx) { return (void)ctx, shown == input_count; }
static cpi_status read_at(void *ctx, uint64_t offset, uint8_t *buffer, uint64_t count, uint64_t *copied) {
    (void)ctx;
    uint64_t have = offset < shown ? shown - offset : 0;
    *copied       = have < count ? have : count;
    memcpy(buffer, input + (have ? offset : 0), (size_t)*copied);
    return *copied == count || shown == input_count ? CPI_OK : CPI_NEED_INPUT;
}

static cpi_status write_out(void *ctx, const uint8_t *bytes, uint64_t count) {
    (void)ctx;
    return fwrite(bytes, 1, (size_t)count, stdout) == count ? CPI_OK : CPI_IO;
}

static int grow(void) {
    if (shown == input_count) return 0;
    shown = input_count - shown > step ? shown + step : input_count;
    return 1;
}

static int report(cpi_status status, const cpi_error *error) {
    require(error->code == status, "the error has the code of the answer");
    require(memchr(error->message, 0, sizeof error->message) != NULL && error->message[0], "the error has a message");
    fprintf(stderr, "error %d at %llu limit %u: %s\n", status, (unsigned long long)error->input_offset,
            error->limit_id, error->message);
    return 100 - status;
}

/* ---- decoding and encoding --------------------------------------------------------------------------------------- */

static uint32_t bytes_per_pixel(cpi_pixel_format format) {
    static const uint32_t channels[] = {0, 1, 2, 3, 4, 4, 4};
    require(format.channels >= 1 && format.channels <= 6, "the format is known");
    return channels[format.channels] * format.bits / 8;
}

static cpi_status decode_with(const cpi_decoder_api *api, cpi_decoder *decoder, int partial, cpi_error *error) {
    const cpi_source source = {
        .size = sizeof source, .kind = step ? CPI_SOURCE_GROWING : partial == -1 ? CPI_SOURCE_READER : CPI_SOURCE_MEMORY,
        .length = step ? CPI_LENGTH_UNKNOWN : input_count, .bytes = partial == -1 ? NULL : input,
        .available = available, .complete = complete, .read_at = read_at,
    };
    cpi_image_info info = {.size = sizeof info};
    cpi_frame_info frame = {.size = sizeof frame};
    cpi_status     status = api->set_source(decoder, &source, error);
    if (status < 0) return status;
    while ((status = api->read_header(decoder, &info, error)) == CPI_NEED_INPUT) require(grow(), "needs more than all");
    if (status < 0) return status;
    cpi_format_offer offer = {.size = sizeof offer};
    if (api->offer) require(api->offer(decoder, 0, &offer, error) == CPI_OK, "there is a first format");
    else offer.format = info.native;
    require(memcmp(&offer.format, &info.native, sizeof offer.format) == 0, "the native format is offered first");
    if (api->offer) require(api->offer(decoder, 1000, &offer, error) == CPI_END, "the offers end");
    require(api->next_frame(decoder, &frame, error) == CPI_OK, "there is a frame");

    const size_t row = (size_t)info.width * bytes_per_pixel(info.native), stride = row + PADDING;
    uint8_t     *pixels = malloc(stride * info.height);
    memset(pixels, CANARY, stride * info.height);
    const cpi_surface surface = {
        .size = sizeof surface, .format = info.native, .width = info.width, .height = info.height,
        .stride = stride, .pixels = pixels, .byte_count = stride * info.height - PADDING,
    };
    const cpi_decode_request request = {.size = sizeof request, .flags = partial == 1 ? CPI_DECODE_WANT_PARTIAL : 0,
                                        .surface = &surface};
    uint32_t steps = 0;
    while ((status = api->decode(decoder, &request, error)) == CPI_NEED_INPUT || status == CPI_PARTIAL) {
        require(status != CPI_PARTIAL || partial == 1, "a part was not requested");
        if (!grow()) break;
        steps += status == CPI_PARTIAL;
    }
    fprintf(stderr, "%ux%u channels %u alpha %u transfer %u parts %u\n", info.width, info.height, info.native.channels,
            info.native.alpha, info.color.transfer, steps);
    for (uint32_t y = 0; y < info.height; y++) {
        fwrite(pixels + y * stride, 1, row, stdout);
        for (size_t i = row; i < stride; i++) require(pixels[y * stride + i] == CANARY, "the padding is unchanged");
    }
    free(pixels);
    return status;
}

static cpi_status encode_with(const cpi_encoder_api *api, cpi_encoder *encoder, char **words, cpi_error *error) {
    const uint32_t width = (uint32_t)atoi(words[0]), height = (uint32_t)atoi(words[1]), channels = (uint32_t)atoi(words[2]);
    const cpi_sink sink = {.size = sizeof sink, .write = write_out};
    cpi_image_info info = {.size = sizeof info, .width = width, .height = height, .bit_depth = 8, .frame_count = 1};
    info.native = (cpi_pixel_format){channels == 3 ? CPI_CHANNELS_RGB : CPI_CHANNELS_RGBA, CPI_NUMERIC_UNORM, 8,
                                     channels == 3 ? CPI_ALPHA_NONE : CPI_ALPHA_STRAIGHT, 0, 0, 0};
    cpi_format_offer offer  = {.size = sizeof offer};
    cpi_status       status = api->accept(encoder, &info, 0, &offer, error);
    require(status == CPI_OK && memcmp(&offer.format, &info.native, sizeof offer.format) == 0, "takes native");
    require(input_count == (size_t)width * height * channels, "stdin has all rows");
    const cpi_frame_info frame   = {.size = sizeof frame, .rect = {0, 0, width, height}};
    const cpi_surface    surface = {
           .size = sizeof surface, .format = info.native, .width = width, .height = height,
           .stride = (uint64_t)width * channels, .pixels = input, .byte_count = input_count,
    };
    if ((status = api->begin(encoder, &info, &sink, error)) < 0) return status;
    if ((status = api->add_frame(encoder, &frame, &surface, error)) < 0) return status;
    return api->finish(encoder, error);
}

/* ---- the plugin -------------------------------------------------------------------------------------------------- */

static const cpi_coder *load(const char *path) {
    static const cpi_host host = {.size = sizeof host, .abi_minor = CPI_TARGET_MINOR, .name = "host.c",
                                  .version = "1", .get = no_extension};
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!file) fprintf(stderr, "%s\n", dlerror());
    require(file != NULL, "it loads");
    const cpi_plugin *(*entry)(const cpi_host *, cpi_error *);
    *(void **)&entry = dlsym(file, CPI_ENTRY_SYMBOL);
    require(entry != NULL, "it has an entry");
    cpi_error         error  = {.size = sizeof error};
    const cpi_plugin *plugin = entry(&host, &error);
    if (!plugin) exit(report(error.code, &error));
    require(plugin->abi_minor_needed <= CPI_TARGET_MINOR, "it works with this minor");
    if (plugin->init && plugin->init(&error) < 0) exit(report(error.code, &error));
    if (plugin->get) require(plugin->get("vendor.unknown/9") == NULL, "an unknown id is answered with NULL");
    require(plugin->coder(plugin->coder_count) == NULL, "the coders end");
    return plugin->coder(0);
}

int main(int count, char **words) {
    require(count >= 4, "usage: see the head of host.c");
    const int        decoding = strcmp(words[2], "decode") == 0;
    const cpi_coder *coder    = load(words[1]);
    input                     = read_all(&input_count);
    shown                     = input_count;

    cpi_option  option  = {.size = sizeof option, .type = CPI_OPTION_ENUM};
    cpi_options options = {.size = sizeof options, .stride = sizeof option, .items = &option};
    char       *value   = strchr(words[count - 1], '=');
    if (value) {
        *value++       = 0;
        option.key     = words[count - 1];
        option.bytes   = (const uint8_t *)value;
        option.length  = strlen(value);
        options.count  = 1;
        if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0) {
            option.type    = CPI_OPTION_BOOL;
            option.integer = *value == 't';
        }
    }
    cpi_error  error = {.size = sizeof error};
    cpi_status status, again = 0;
    if (decoding) {
        const int growing = strcmp(words[3], "growing") == 0, partial = strcmp(words[3], "partial") == 0;
        if (growing || partial) step = (size_t)atoi(words[4]), shown = 0;
        cpi_decoder *decoder = NULL;
        status = coder->decoder->open(coder, &services, &limits, &options, &decoder, &error);
        if (status < 0) return report(status, &error);
        if (coder->decoder->get) require(!coder->decoder->get(decoder, "vendor.unknown/9"), "no such extension");
        status = decode_with(coder->decoder, decoder, strcmp(words[3], "reader") == 0 ? -1 : partial, &error);
        cpi_frame_info frame = {.size = sizeof frame};
        if (status < 0) again = coder->decoder->next_frame(decoder, &frame, &error);
        coder->decoder->close(decoder);
    } else {
        cpi_encoder *encoder = NULL;
        status = coder->encoder->open(coder, &services, &limits, &options, &encoder, &error);
        if (status < 0) return report(status, &error);
        status = encode_with(coder->encoder, encoder, words + 3, &error);
        if (status < 0) again = coder->encoder->finish(encoder, &error);
        coder->encoder->close(encoder);
    }
    require(open_allocations == 0, "all memory was released");
    if (status < 0) require(again == status, "an error is repeated");
    return status < 0 ? report(status, &error) : 0;
}
