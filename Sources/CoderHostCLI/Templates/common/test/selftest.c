/*
 * selftest.c - tests a coder of still images without coderhost: `selftest ./libcoder-x.so`.
 *
 * The test encodes an image and decodes the result: from memory, in pieces, while it grows byte by byte, truncated at
 * every byte, under limits, without memory, and with cancellation. `coderhost plugin check` tests much more.
 */
#include <coder_plugin.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 7, HEIGHT = 5, ROW_BYTES = WIDTH * 4, STRIDE = ROW_BYTES + 12, CANARY = 0xa5 };

static const cpi_coder *coder;
static int              failures, open_allocations;

static void check(int truth, const char *what) {
    if (truth) return;
    failures++;
    fprintf(stderr, "not ok: %s\n", what);
}

/* ---- services of the host ---------------------------------------------------------------------------------------- */

static int        allocations_left = -1; /* how many succeed; negative: all */
static cpi_status poll_answer      = CPI_CONTINUE;

static void *allocate(void *ctx, uint64_t count) {
    (void)ctx;
    if (allocations_left == 0) return NULL;
    allocations_left -= allocations_left > 0;
    void *memory = malloc((size_t)count);
    if (memory) memset(memory, CANARY, (size_t)count), open_allocations++;
    return memory;
}

static void release(void *ctx, void *memory) {
    (void)ctx;
    open_allocations -= memory != NULL;
    free(memory);
}

static cpi_status budget(void *ctx, int64_t delta) { return (void)ctx, (void)delta, CPI_OK; }
static cpi_status poll(void *ctx) { return (void)ctx, poll_answer; }
static void       log_line(void *ctx, uint32_t severity, const char *text) { (void)ctx, (void)severity, (void)text; }
static void       progress(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx;
    check(done <= total, "progress does not exceed the total");
}

static const cpi_services services = {
    .size = sizeof services, .allocate = allocate, .release = release, .budget = budget,
    .poll = poll, .log = log_line, .progress = progress,
};

static uint8_t file[1 << 16];
static size_t  file_bytes;

static cpi_status write_out(void *ctx, const uint8_t *bytes, uint64_t count) {
    (void)ctx;
    if (count > sizeof file - file_bytes) return CPI_IO;
    memcpy(file + file_bytes, bytes, (size_t)count);
    file_bytes += (size_t)count;
    return CPI_OK;
}

/* The first `shown` of `total` bytes are available. */
typedef struct input { size_t shown, total; } input;

static uint64_t   available(void *ctx) { return ((input *)ctx)->shown; }
static int32_t    complete(void *ctx) { return ((input *)ctx)->shown == ((input *)ctx)->total; }
static cpi_status read_at(void *ctx, uint64_t offset, uint8_t *buffer, uint64_t count, uint64_t *copied) {
    const input   *in   = ctx;
    const uint64_t have = offset < in->shown ? in->shown - offset : 0;
    *copied             = have < count ? have : count;
    if (*copied) memcpy(buffer, file + offset, (size_t)*copied);
    return *copied == count || in->shown == in->total ? CPI_OK : CPI_NEED_INPUT;
}

/* ---- encoding and decoding --------------------------------------------------------------------------------------- */

static uint8_t image[HEIGHT][STRIDE], result[HEIGHT][STRIDE];

static cpi_surface surface_of(uint8_t *pixels, cpi_pixel_format format) {
    return (cpi_surface){.size = sizeof(cpi_surface), .format = format, .width = WIDTH, .height = HEIGHT,
                         .stride = STRIDE, .pixels = pixels, .byte_count = HEIGHT * STRIDE - (STRIDE - ROW_BYTES)};
}

static void encode_image(void) {
    const cpi_encoder_api *api = coder->encoder;
    const cpi_limits       limits = {.size = sizeof limits};
    const cpi_sink         sink = {.size = sizeof sink, .write = write_out};
    cpi_error              error = {.size = sizeof error};
    cpi_format_offer       offer = {.size = sizeof offer};
    cpi_frame_info         frame = {.size = sizeof frame, .rect = {0, 0, WIDTH, HEIGHT}};
    cpi_image_info         info = {.size = sizeof info, .flags = CPI_IMAGE_HAS_ALPHA,
                                   .width = WIDTH, .height = HEIGHT, .bit_depth = 8, .frame_count = 1};
    cpi_encoder           *e = NULL;
    info.native              = (cpi_pixel_format){.channels = CPI_CHANNELS_RGBA, .numeric = CPI_NUMERIC_UNORM,
                                                  .bits = 8, .alpha = CPI_ALPHA_STRAIGHT};
    check(api->open(coder, &services, &limits, NULL, &e, &error) == CPI_OK, "an encoder opens");
    check(api->accept(e, &info, 0, &offer, &error) == CPI_OK, "an encoder takes a pixel format");
    check(memcmp(&offer.format, &info.native, sizeof offer.format) == 0, "this test supports only RGBA with 8 bits");
    check(api->begin(e, &info, &sink, &error) == CPI_OK, "encoding begins");
    const cpi_surface surface = surface_of(&image[0][0], info.native);
    check(api->add_frame(e, &frame, &surface, &error) == CPI_OK, "a frame is encoded");
    check(api->finish(e, &error) == CPI_OK, "encoding ends");
    api->close(e);
}

/* Decodes the first `shown` of `total` bytes; adds one byte whenever the decoder needs input. */
static cpi_status decode_file(uint32_t kind, input in, const cpi_limits *limits, cpi_error *error) {
    const cpi_decoder_api *api = coder->decoder;
    const cpi_source       source = {
        .size = sizeof source, .kind = kind, .length = kind == CPI_SOURCE_GROWING ? CPI_LENGTH_UNKNOWN : in.total,
        .bytes = kind == CPI_SOURCE_READER ? NULL : file, .ctx = &in,
        .available = available, .complete = complete, .read_at = read_at,
    };
    cpi_image_info info  = {.size = sizeof info};
    cpi_frame_info frame = {.size = sizeof frame};
    cpi_decoder   *d     = NULL;
    cpi_status     status = api->open(coder, &services, limits, NULL, &d, error);
    if (status < 0) return status;
    status = api->set_source(d, &source, error);
    while (status >= 0 && (status = api->read_header(d, &info, error)) == CPI_NEED_INPUT && in.shown < in.total)
        in.shown++;
    if (status == CPI_OK) status = api->next_frame(d, &frame, error);
    if (status == CPI_OK) {
        check(info.width == WIDTH && info.height == HEIGHT, "the decoded size matches the encoded size");
        memset(result, CANARY, sizeof result);
        const cpi_surface        surface = surface_of(&result[0][0], info.native);
        const cpi_decode_request request = {.size = sizeof request, .surface = &surface};
        while ((status = api->decode(d, &request, error)) == CPI_NEED_INPUT && in.shown < in.total) in.shown++;
        for (int y = 0; y < HEIGHT; y++)
            for (int x = ROW_BYTES; x < STRIDE; x++) check(result[y][x] == CANARY, "no byte after a row changes");
    }
    if (status < 0) {
        cpi_error again = {.size = sizeof again};
        check(error->code == status && error->message[0], "an error has a code and a message");
        check(api->next_frame(d, &frame, &again) == status && strcmp(again.message, error->message) == 0,
              "after an error every call repeats it");
    }
    api->close(d);
    return status;
}

/* For a lossy coder, allow small differences here. */
static int is_image(void) {
    int same = 1;
    for (int y = 0; y < HEIGHT; y++) same &= memcmp(result[y], image[y], ROW_BYTES) == 0;
    return same;
}

/* ---- the tests --------------------------------------------------------------------------------------------------- */

static void test_ways_of_reading(void) {
    const cpi_limits limits = {.size = sizeof limits};
    cpi_error        error = {.size = sizeof error};
    const input      all = {file_bytes, file_bytes}, nothing = {0, file_bytes};
    check(decode_file(CPI_SOURCE_MEMORY, all, &limits, &error) == CPI_OK && is_image(), "decodes from memory");
    check(decode_file(CPI_SOURCE_READER, all, &limits, &error) == CPI_OK && is_image(), "decodes in pieces");
    check(decode_file(CPI_SOURCE_GROWING, nothing, &limits, &error) == CPI_OK && is_image(), "decodes growing input");
}

static void test_every_cut(void) {
    const cpi_limits limits = {.size = sizeof limits};
    for (size_t count = 0; count < file_bytes; count++) {
        cpi_error error = {.size = sizeof error};
        check(decode_file(CPI_SOURCE_MEMORY, (input){count, count}, &limits, &error) == CPI_TRUNCATED,
              "data that is cut is truncated");
    }
}

static void test_another_format(void) {
    const cpi_limits limits = {.size = sizeof limits};
    cpi_error        error = {.size = sizeof error};
    file[0] ^= 0x20;
    check(decode_file(CPI_SOURCE_MEMORY, (input){file_bytes, file_bytes}, &limits, &error) == CPI_NOT_MINE,
          "another format is left to others");
    file[0] ^= 0x20;
}

static void test_limits(void) {
    const cpi_limits narrow = {.size = sizeof narrow, .max_width = WIDTH - 1};
    cpi_error        error = {.size = sizeof error};
    const cpi_status status = decode_file(CPI_SOURCE_MEMORY, (input){file_bytes, file_bytes}, &narrow, &error);
    if (status == CPI_OK) return;
    check(status == CPI_LIMIT, "the coder applies the limit, or leaves it to the host");
    check(error.limit_id == CPI_LIMIT_WIDTH && error.limit_allowed == WIDTH - 1 && error.limit_requested == WIDTH,
          "the error has the limit, the allowed and the requested value");
}

static void test_refusals(void) {
    const cpi_limits limits = {.size = sizeof limits};
    const input      all = {file_bytes, file_bytes};
    cpi_error        error = {.size = sizeof error};
    poll_answer = CPI_CANCELLED;
    check(decode_file(CPI_SOURCE_MEMORY, all, &limits, &error) == CPI_CANCELLED, "stops on cancellation");
    poll_answer = CPI_CONTINUE;
    for (int n = 0; n < 8; n++) {
        allocations_left        = n;
        const cpi_status status = decode_file(CPI_SOURCE_MEMORY, all, &limits, &error);
        check(status == CPI_OK || status == CPI_NO_MEMORY, "survives without memory");
    }
    allocations_left = -1;
}

int main(int count, char **words) {
    cpi_error      error = {.size = sizeof error};
    const cpi_host host = {.size = sizeof host, .abi_minor = CPI_ABI_MINOR, .name = "selftest", .version = "0"};
    void          *library = dlopen(count > 1 ? words[1] : "", RTLD_NOW | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
    const cpi_plugin *(*entry)(const cpi_host *, cpi_error *);
    *(void **)&entry = dlsym(library, CPI_ENTRY_SYMBOL);
    if (!entry) return fprintf(stderr, "there is no " CPI_ENTRY_SYMBOL "\n"), 2;
    const cpi_plugin *plugin = entry(&host, &error);
    if (!plugin) return fprintf(stderr, "the plugin refuses: %s\n", error.message), 2;
    if (plugin->init && plugin->init(&error) < 0) return fprintf(stderr, "init: %s\n", error.message), 2;
    coder = plugin->coder(0);
    check(plugin->coder(plugin->coder_count) == NULL, "the list of coders ends");
    check(!plugin->get || plugin->get("unknown.extension/1") == NULL, "an unknown extension returns NULL");

    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < STRIDE; x++) image[y][x] = x < ROW_BYTES ? (uint8_t)(y * 57 + x * 31) : CANARY;
    encode_image();
    if (failures == 0) {
        test_ways_of_reading();
        test_every_cut();
        test_another_format();
        test_limits();
        test_refusals();
    }
    check(open_allocations == 0, "all memory is released");
    puts(failures ? "selftest: failed" : "selftest: everything holds");
    return failures != 0;
}
