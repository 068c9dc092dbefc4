/*
 * session.c - checks the rules that cpi/session.h keeps for plugins in C. Exits with 0 if all hold.
 *
 *     cc -I<include folder> session.c -o session && ./session
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <coder_plugin.h>
#include <cpi/session.h>
#include <stdlib.h>

static int failures;

static void check(int truth, int line) {
    if (!truth) fprintf(stderr, "line %d does not hold\n", line), failures++;
}
#define CHECK(truth) check((truth) != 0, __LINE__)

static int        blocks, polls;
static cpi_status poll_answer;

static void *allocate(void *ctx, uint64_t count) { return ctx ? (blocks++, malloc((size_t)count)) : NULL; }
static void  release(void *ctx, void *memory) { (void)ctx, blocks--, free(memory); }
static cpi_status ask(void *ctx) { return (void)ctx, polls++, poll_answer; }
static void  progress(void *ctx, uint64_t done, uint64_t total) { (void)ctx, CHECK(done < total); }

/* A source of ten bytes; `ctx` points to the number of arrived bytes and whether more will arrive. */
typedef struct { uint64_t count; int grows; cpi_status status; } input;
static cpi_status read_at(void *ctx, uint64_t offset, uint8_t *bytes, uint64_t count, uint64_t *copied) {
    const input *in = (const input *)ctx;
    *copied = offset < in->count ? in->count - offset : 0;
    if (*copied > count) *copied = count;
    memset(bytes, 7, (size_t)*copied);
    return in->status < 0 ? in->status : *copied < count && in->grows ? CPI_NEED_INPUT : CPI_OK;
}

static cpi_status refuse_bytes(void *ctx, const uint8_t *bytes, uint64_t count) {
    return (void)ctx, (void)bytes, count > 4 ? CPI_LIMIT : CPI_OK;
}

static cpi_session *opened(cpi_services *services, cpi_error *error) {
    static char context;
    cpi_limits  limits;
    memset(services, 0, sizeof *services);
    memset(&limits, 0, sizeof limits);
    memset(error, 0, sizeof *error);
    services->allocate = allocate, services->release = release, services->poll = ask, services->progress = progress;
    services->ctx = &context;
    limits.size = sizeof limits, limits.max_output_bytes = 4;
    error->size = sizeof *error;
    return (cpi_session *)cpi_session_open(services, &limits, sizeof(cpi_session), error);
}

/* The first negative status is kept with its error; a refusal is not. */
static void errors(void) {
    cpi_services services;
    cpi_error    error;
    cpi_session *s = opened(&services, &error);
    CHECK(cpi_session_enter(s, CPI_SESSION_OPENED | CPI_SESSION_FRAME, &error) == CPI_OK);
    CHECK(cpi_session_fail(s, &error, CPI_REFUSED, 0, "not this") == CPI_REFUSED && error.code == CPI_REFUSED);
    CHECK(cpi_session_enter(s, CPI_SESSION_OPENED, &error) == CPI_OK);
    CHECK(cpi_session_fail(s, &error, CPI_UNSUPPORTED, 5, "%d bits", 12) == CPI_UNSUPPORTED);
    CHECK(cpi_session_fail(s, &error, CPI_CORRUPT, 0, "later") == CPI_CORRUPT);
    CHECK(cpi_session_enter(s, CPI_SESSION_OPENED, &error) == CPI_UNSUPPORTED);
    CHECK(error.code == CPI_UNSUPPORTED && error.input_offset == 5);
    CHECK(strcmp(error.message, "12 bits") == 0 && strcmp(error.feature, "12 bits") == 0);
    cpi_session_close(s);

    s = opened(&services, &error);
    CHECK(cpi_session_enter(s, CPI_SESSION_HEADER, &error) == CPI_MISUSE && error.message[0]);
    cpi_session_close(s);
    services.ctx = NULL;
    cpi_limits limits;
    memset(&limits, 0, sizeof limits);
    CHECK(cpi_session_open(&services, &limits, 8, &error) == NULL && error.code == CPI_NO_MEMORY && blocks == 0);
}

/* A shorter struct of the host is not written past its size; the end of a longer one is not read. */
static void sizes(void) {
    uint32_t theirs[4] = {8, 1, 1, 1}, ours[4] = {16, 2, 2, 2};
    cpi_session_copy(theirs, ours);
    CHECK(theirs[0] == 8 && theirs[1] == 2 && theirs[2] == 1);
    uint32_t longer[4] = {16, 1, 1, 1}, shorter[2] = {8, 2};
    cpi_session_copy(longer, shorter);
    CHECK(longer[0] == 16 && longer[1] == 2 && longer[2] == 1);
    char huge[400];
    memset(huge, 'x', sizeof huge - 1), huge[sizeof huge - 1] = 0;
    cpi_error error;
    memset(&error, 0, sizeof error), error.size = 44;
    CHECK(cpi_session_fail(NULL, &error, CPI_UNSUPPORTED, 0, "%s", huge) == CPI_UNSUPPORTED);
    CHECK(error.message[3] == 'x' && error.message[4] == 0 && error.feature[0] == 0);
    error.size = sizeof error;
    cpi_session_fail(NULL, &error, CPI_UNSUPPORTED, 0, "%s", huge);
    CHECK(strlen(error.message) == sizeof error.message - 1 && strlen(error.feature) == sizeof error.feature - 1);
}

static void reading(void) {
    uint8_t      bytes[8];
    cpi_services services;
    cpi_error    error;
    cpi_source   source;
    input        in = {10, 1, CPI_OK};
    cpi_session *s = opened(&services, &error);
    memset(&source, 0, sizeof source);
    source.ctx = &in, source.read_at = read_at, s->source = &source;
    CHECK(cpi_session_read(s, 2, bytes, 8, &error) == CPI_OK && bytes[7] == 7);
    CHECK(cpi_session_read(s, 3, bytes, 8, &error) == CPI_NEED_INPUT && s->failure.code == 0);
    in.grows = 0;
    CHECK(cpi_session_read(s, UINT64_MAX, bytes, 0, &error) == CPI_OK);
    CHECK(cpi_session_read(s, 3, bytes, 8, &error) == CPI_TRUNCATED && error.input_offset == 10);
    cpi_session_close(s);
    s = opened(&services, &error), s->source = &source, in.status = CPI_IO;
    CHECK(cpi_session_read(s, 0, bytes, 8, &error) == CPI_IO && s->failure.code == CPI_IO);
    cpi_session_close(s);
}

static void writing_and_asking(void) {
    cpi_services services;
    cpi_error    error;
    cpi_sink     sink;
    cpi_session *s = opened(&services, &error);
    memset(&sink, 0, sizeof sink);
    sink.write = refuse_bytes, s->sink = &sink;
    for (uint32_t row = 0; row < 130; row++) CHECK(cpi_session_poll(s, row, 130, &error) == CPI_OK);
    CHECK(polls == 3);
    CHECK(cpi_session_write(s, "four", 4, &error) == CPI_OK);
    CHECK(cpi_session_write(s, "fifth", 5, &error) == CPI_LIMIT && error.limit_id == CPI_LIMIT_OUTPUT_BYTES);
    CHECK(error.limit_allowed == 4 && error.limit_requested == 5 && s->failure.limit_allowed == 4);
    cpi_session_close(s);
    s = opened(&services, &error), poll_answer = CPI_DEADLINE;
    CHECK(cpi_session_poll(s, 64, 130, &error) == CPI_DEADLINE && s->failure.code == CPI_DEADLINE);
    cpi_session_close(s);
}

static void surfaces(void) {
    static uint8_t         pixels[64];
    const cpi_pixel_format rgb16 = {CPI_CHANNELS_RGB, CPI_NUMERIC_UNORM, 16, CPI_ALPHA_NONE, 0, 0, 0};
    cpi_services           services;
    cpi_error              error;
    cpi_surface            surface;
    memset(&surface, 0, sizeof surface);
    surface.format = rgb16, surface.width = 2, surface.height = 4, surface.stride = 16;
    surface.pixels = pixels, surface.byte_count = 60;
    for (int wrong = 0; wrong < 8; wrong++) {
        cpi_surface  changed = surface;
        cpi_session *s       = opened(&services, &error);
        if (wrong == 1) changed.format.alpha = 1;
        if (wrong == 2) changed.width = 3;
        if (wrong == 3) changed.height = 5;
        if (wrong == 4) changed.stride = 11;
        if (wrong == 5) changed.stride = UINT64_MAX / 2;
        if (wrong == 6) changed.byte_count = 59;
        if (wrong == 7) changed.pixels = NULL;
        CHECK(cpi_session_surface(s, &changed, rgb16, 2, 4, &error) == (wrong ? CPI_MISUSE : CPI_OK));
        cpi_session_close(s);
    }
}

static void options(void) {
    struct { cpi_option option; char more[24]; } list[2];
    cpi_options all;
    memset(&list, 0, sizeof list);
    memset(&all, 0, sizeof all);
    list[0].option.key = "a", list[1].option.key = "b";
    all.count = 2, all.stride = sizeof list[0], all.items = &list[0].option;
    CHECK(strcmp(cpi_session_option(&all, 1)->key, "b") == 0);
    CHECK(cpi_session_option(&all, 2) == NULL && cpi_session_option(NULL, 0) == NULL);
}

int main(void) {
    errors(), sizes(), reading(), writing_and_asking(), surfaces(), options();
    CHECK(blocks == 0);
    return failures != 0;
}
