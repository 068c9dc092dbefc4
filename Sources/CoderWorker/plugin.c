#define _GNU_SOURCE
#include "plugin.h"

#include "parallel.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static plugin_coder coders[PLUGIN_CODER_LIMIT];
static uint32_t coder_count;
static cpi_plugin plugin;

/* ---- structs of any version ---- */

/*
 * Copies a struct that may be shorter or longer than this version's; missing members read as zero.
 * `required` are the offsets of mandatory pointers. 0: the struct is shorter than `minimum`, or one of them is NULL.
 */
static int import(void *copy, size_t size, const void *raw, size_t minimum, const size_t *required, size_t count) {
    memset(copy, 0, size);
    if (!raw) {
        return 0;
    }
    uint32_t given;
    memcpy(&given, raw, sizeof given);
    if (given < minimum) {
        return 0;
    }
    memcpy(copy, raw, given < size ? given : size);
    for (size_t i = 0; i < count; i++) {
        uintptr_t pointer;
        memcpy(&pointer, (const char *)copy + required[i], sizeof pointer);
        if (pointer == 0) {
            return 0;
        }
    }
    return 1;
}

static int import_plugin(cpi_plugin *copy, const cpi_plugin *raw) {
    static const size_t required[] = {offsetof(cpi_plugin, id), offsetof(cpi_plugin, version),
                                      offsetof(cpi_plugin, coder)};
    return import(copy, sizeof *copy, raw, offsetof(cpi_plugin, init), required, 3);
}

static int import_coder(cpi_coder *copy, const cpi_coder *raw) {
    static const size_t required[] = {offsetof(cpi_coder, id)};
    return import(copy, sizeof *copy, raw, offsetof(cpi_coder, encoder), required, 1);
}

/* A table contains at least its required functions; later ones are NULL if the table ends before them. */
static int import_decoder(cpi_decoder_api *copy, const cpi_decoder_api *raw) {
    static const size_t required[] = {offsetof(cpi_decoder_api, open),        offsetof(cpi_decoder_api, close),
                                      offsetof(cpi_decoder_api, set_source),  offsetof(cpi_decoder_api, read_header),
                                      offsetof(cpi_decoder_api, next_frame),  offsetof(cpi_decoder_api, decode)};
    return import(copy, sizeof *copy, raw, offsetof(cpi_decoder_api, dirty), required, 6);
}

static int import_encoder(cpi_encoder_api *copy, const cpi_encoder_api *raw) {
    static const size_t required[] = {offsetof(cpi_encoder_api, open),   offsetof(cpi_encoder_api, close),
                                      offsetof(cpi_encoder_api, accept), offsetof(cpi_encoder_api, begin),
                                      offsetof(cpi_encoder_api, add_frame), offsetof(cpi_encoder_api, finish)};
    return import(copy, sizeof *copy, raw, offsetof(cpi_encoder_api, get), required, 6);
}

void plugin_table(void *copy, size_t size, const void *raw, uint64_t tag) {
    cpi_table head = {0};
    if (raw) {
        memcpy(&head, raw, sizeof head);
    }
    if (head.tag != tag || !import(copy, size, raw, sizeof head, NULL, 0)) {
        memset(copy, 0, size);
    }
}

const void *plugin_get(const char *id) { return plugin.get ? plugin.get(id) : NULL; }

/* ---- the host as an entry function sees it ---- */

static const void *extension(void *ctx, const char *id) {
    (void)ctx;
    return strcmp(id, CPI_EXT_PARALLEL) == 0 ? &parallel_table : NULL;
}

static const cpi_host *host_table(const iso_load *load) {
    static char version[sizeof load->host_version];
    static cpi_host host = {.size = sizeof host, .name = "coderhost", .version = version, .get = extension};
    memcpy(version, load->host_version, sizeof version - 1);
    host.abi_minor = load->host_minor;
    return &host;
}

/* ---- mapping ---- */

static void *try_to_map(const char *path) {
    return dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/*
 * The loaded copy has lost its location, so libraries that the file finds relative to it are not found; the host
 * names them, or their folders. A library that is already mapped is found by its name.
 */
static void *map(const char *path, const char *folders, size_t length, char *reason, size_t room) {
    for (int attempt = 0; attempt < 64; attempt++) {
        void *handle = try_to_map(path);
        if (handle) {
            return handle;
        }
        const char *message = dlerror();
        snprintf(reason, room, "%s", message ? message : "dlopen failed");
        const char *end = strchr(reason, ':');
        size_t name = end ? (size_t)(end - reason) : 0;
        if (name == 0 || memchr(reason, '/', name) || !strstr(end, "cannot open shared object file")) {
            return NULL;
        }
        void *library = NULL;
        for (const char *at = folders; !library && at < folders + length; at += strlen(at) + 1) {
            char candidate[PATH_MAX];
            size_t all = strlen(at);
            int is_it = all > name && at[all - name - 1] == '/' && memcmp(at + all - name, reason, name) == 0;
            int count = is_it ? snprintf(candidate, sizeof candidate, "%s", at)
                              : snprintf(candidate, sizeof candidate, "%s/%.*s", at, (int)name, reason);
            library = count > 0 && (size_t)count < sizeof candidate ? try_to_map(candidate) : NULL;
        }
        if (!library) {
            return NULL;
        }
    }
    return NULL;
}

/* ---- facts ---- */

static void copy_text(char *field, size_t room, const char *text) {
    size_t length = strnlen(text, room - 1);
    memset(field, 0, room);
    memcpy(field, text, length);
}

static void fail(iso_loaded *loaded, cpi_status status, const char *message) {
    loaded->status = status;
    snprintf(loaded->error.message, sizeof loaded->error.message, "%s", message);
}

/* Coders are queried before the plugin is initialized, as in the host's own process. */
static void adopt_coder(plugin_coder *own, const cpi_coder *raw) {
    own->pointer = raw;
    if (!import_coder(&own->facts, raw)) {
        memset(own, 0, sizeof *own);
        return;
    }
    own->has_decoder = own->facts.decoder && import_decoder(&own->decoder, own->facts.decoder);
    own->has_encoder = own->facts.encoder && import_encoder(&own->encoder, own->facts.encoder);
    own->has_reserved = own->decoder.reserved != 0 || own->encoder.reserved != 0;
}

static void adopt(const cpi_plugin *raw, iso_loaded *loaded) {
    if (!import_plugin(&plugin, raw)) {
        fail(loaded, CPI_MISUSE, "its plugin struct is too short or incomplete");
        return;
    }
    copy_text(loaded->id, sizeof loaded->id, plugin.id);
    copy_text(loaded->version, sizeof loaded->version, plugin.version);
    loaded->abi_minor_built = plugin.abi_minor_built;
    loaded->abi_minor_needed = plugin.abi_minor_needed;
    loaded->concurrency = plugin.concurrency;
    loaded->reserved = plugin.reserved;
    loaded->knows_all = plugin.get && plugin.get("coderhost.no-such-extension/1") != NULL;
    if (plugin.coder_count > PLUGIN_CODER_LIMIT) {
        fail(loaded, CPI_MISUSE, "it has more coders than a manifest may declare");
        return;
    }
    for (uint32_t i = 0; i < plugin.coder_count; i++) {
        adopt_coder(&coders[i], plugin.coder(i));
    }
    coder_count = loaded->coder_count = plugin.coder_count;
    if (plugin.init) {
        loaded->status = plugin.init(&loaded->error);
    }
    loaded->stage = ISO_STAGE_READY;
}

void plugin_load(const iso_load *load, const char *folders, size_t length, int descriptor, iso_loaded *loaded) {
    char path[sizeof load->path];
    if (load->path[0]) {
        snprintf(path, sizeof path, "%s", load->path);
    } else {
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    }
    void *handle = map(path, folders, length, loaded->error.message, sizeof loaded->error.message);
    if (!handle) {
        loaded->status = CPI_NOT_MINE;
        return;
    }
    memset(loaded->error.message, 0, sizeof loaded->error.message);
    loaded->stage = ISO_STAGE_MAPPED;
    typedef const cpi_plugin *(*entry_function)(const cpi_host *, cpi_error *);
    union {
        void *object;
        entry_function function;
    } symbol = {dlsym(handle, CPI_ENTRY_SYMBOL)};
    if (!symbol.object) {
        fail(loaded, CPI_NOT_MINE, "it does not export " CPI_ENTRY_SYMBOL);
        return;
    }
    const cpi_plugin *entered = symbol.function(host_table(load), &loaded->error);
    loaded->stage = ISO_STAGE_ENTERED;
    if (!entered) {
        loaded->status = loaded->error.code == CPI_OK ? CPI_INTERNAL : loaded->error.code;
        return;
    }
    adopt(entered, loaded);
}

const plugin_coder *plugin_coder_at(uint32_t index) {
    return index < coder_count && coders[index].pointer ? &coders[index] : NULL;
}

void plugin_describe(uint32_t index, iso_coder *coder) {
    memset(coder, 0, sizeof *coder);
    const plugin_coder *own = plugin_coder_at(index);
    if (!own) {
        return;
    }
    copy_text(coder->id, sizeof coder->id, own->facts.id);
    coder->roles = own->facts.roles;
    coder->has_decoder = (uint32_t)own->has_decoder;
    coder->has_encoder = (uint32_t)own->has_encoder;
    coder->reserved = (uint32_t)own->has_reserved;
    if (own->has_decoder) {
        coder->decoder_has = (own->decoder.blob ? ISO_HAS_BLOB : 0u) | (own->decoder.offer ? ISO_HAS_OFFER : 0u) |
                             (own->decoder.scaled_size ? ISO_HAS_SCALED_SIZE : 0u) |
                             (own->decoder.seek_frame ? ISO_HAS_SEEK : 0u) | (own->decoder.dirty ? ISO_HAS_DIRTY : 0u);
    }
    if (own->has_encoder) {
        coder->encoder_has = own->encoder.add_blob ? ISO_HAS_BLOB : 0u;
    }
}
