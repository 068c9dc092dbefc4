/*
 * manifest.h - who a plugin is, readable without running it.
 *
 * The manifest is one UTF-8 JSON object, at most 64 KiB, in an ELF note (owner "CoderHost", type 0x43504931, section
 * .note.coderhost). The host reads it from the file with a few small reads. There is exactly one in a file, and what
 * the running plugin reports must equal it. Trailing NUL bytes are padding, not text. The macro counts one of them, so
 * that the note reaches the end of its struct, which is aligned to 4 bytes.
 *
 * The keys are described in the documentation, article "The manifest". The shortest useful one:
 *
 *     { "schema": 1,
 *       "plugin": { "id": "org.example.qoi-plugin", "version": "1.0.0", "name": "QOI", "license": "MIT" },
 *       "abi": { "major": 1, "minor_built": 0, "minor_needed": 0 },
 *       "coders": [ { "id": "org.example.qoi", "roles": ["decode", "encode"],
 *                     "formats": [ { "id": "qoi", "mime": ["image/qoi"], "extensions": ["qoi"],
 *                                    "signatures": [ { "all": [ { "at": 0, "bytes": "716f6966" } ] } ] } ] } ] }
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CPI_MANIFEST_H
#define CPI_MANIFEST_H
#include "version.h"

#define CPI_NOTE_OWNER     "CoderHost"
#define CPI_NOTE_TYPE      0x43504931u /* "CPI1" */
#define CPI_NOTE_SECTION   ".note.coderhost"
#define CPI_MANIFEST_LIMIT 65536u

/* Embeds the JSON text, a string literal: CPI_MANIFEST("{ \"schema\": 1, ... }"); once, at file scope, in C or C++. */
#define CPI_MANIFEST(json)                                                                                           \
    static const struct {                                                                                            \
        uint32_t owner_size, text_size, type;                                                                        \
        char     owner[(sizeof(CPI_NOTE_OWNER) + 3u) & ~3u];                                                         \
        char     text[(sizeof(json) + 3u) & ~3u];                                                                    \
    } cpi_manifest_note __attribute__((section(CPI_NOTE_SECTION), used, aligned(4))) = {                             \
        sizeof(CPI_NOTE_OWNER), sizeof(json), CPI_NOTE_TYPE, CPI_NOTE_OWNER, json}
#endif
