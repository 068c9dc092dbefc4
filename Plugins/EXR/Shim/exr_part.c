/*
 * exr_part.c - the facts of parts, channels, levels and attributes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "internal.h"
#include <string.h>

int32_t exr_shim_part_count(const exr_shim_file *file) {
    int count = 0;
    return exr_get_count(file->context, &count) == EXR_ERR_SUCCESS ? count : 0;
}

static exr_shim_window window(exr_attr_box2i_t box) {
    return (exr_shim_window){box.min.x, box.min.y, box.max.x, box.max.y};
}

/* Returns an attribute of a type; NULL: not stored, or of another type. */
static const exr_attribute_t *find(exr_shim_file *file, int32_t part, const char *name, exr_attribute_type_t type) {
    const exr_attribute_t *found = NULL;
    if (exr_get_attribute_by_name(file->context, part, name, &found) != EXR_ERR_SUCCESS) return NULL;
    return found && found->type == type ? found : NULL;
}

static exr_result_t tiles(exr_shim_file *file, int32_t part, exr_shim_part *facts) {
    exr_tile_level_mode_t mode;
    exr_tile_round_mode_t rounding;
    exr_result_t          result = exr_get_tile_descriptor(file->context, part, &facts->tile_width,
                                                           &facts->tile_height, &mode, &rounding);
    if (result != EXR_ERR_SUCCESS) return result;
    facts->level_mode = (uint8_t)mode;
    return exr_get_tile_levels(file->context, part, &facts->levels_x, &facts->levels_y);
}

static void attributes(exr_shim_file *file, int32_t part, exr_shim_part *facts) {
    const exr_attribute_t *found;
    if ((found = find(file, part, "name", EXR_ATTR_STRING))) facts->name = found->string->str;
    if ((found = find(file, part, "view", EXR_ATTR_STRING))) facts->view = found->string->str;
    if ((found = find(file, part, "xDensity", EXR_ATTR_FLOAT))) facts->x_density = found->f;
    if ((found = find(file, part, "pixelAspectRatio", EXR_ATTR_FLOAT))) facts->pixel_aspect = found->f;
    if ((found = find(file, part, "chromaticities", EXR_ATTR_CHROMATICITIES))) {
        memcpy(facts->chromaticities, found->chromaticities, sizeof facts->chromaticities);
        facts->has_chromaticities = 1;
    }
    if ((found = find(file, part, "preview", EXR_ATTR_PREVIEW)) && found->preview->rgba) {
        facts->preview        = found->preview->rgba;
        facts->preview_width  = found->preview->width;
        facts->preview_height = found->preview->height;
    }
    exr_get_attribute_count(file->context, part, &facts->attribute_count);
}

int32_t exr_shim_read_part(exr_shim_file *file, int32_t part, exr_shim_part *facts) {
    exr_storage_t            storage;
    exr_attr_box2i_t         data, display;
    exr_compression_t        compression;
    const exr_attr_chlist_t *channels = NULL;
    exr_result_t             result;
    memset(facts, 0, sizeof *facts);

    begin_call(file);
    result = exr_get_storage(file->context, part, &storage);
    if (result == EXR_ERR_SUCCESS) result = exr_get_data_window(file->context, part, &data);
    if (result == EXR_ERR_SUCCESS) result = exr_get_display_window(file->context, part, &display);
    if (result == EXR_ERR_SUCCESS) result = exr_get_compression(file->context, part, &compression);
    if (result == EXR_ERR_SUCCESS) result = exr_get_channels(file->context, part, &channels);
    if (result != EXR_ERR_SUCCESS) return end_call(file, result);

    facts->data          = window(data);
    facts->display       = window(display);
    facts->compression   = (uint8_t)compression;
    facts->is_deep       = storage == EXR_STORAGE_DEEP_SCANLINE || storage == EXR_STORAGE_DEEP_TILED;
    facts->channel_count = channels->num_channels;
    attributes(file, part, facts);
    if (facts->is_deep) return end_call(file, EXR_ERR_SUCCESS);

    result = exr_get_chunk_count(file->context, part, &facts->chunk_count);
    if (result == EXR_ERR_SUCCESS) result = exr_get_chunk_unpacked_size(file->context, part, &facts->chunk_bytes);
    if (result == EXR_ERR_SUCCESS && storage == EXR_STORAGE_TILED) {
        result = tiles(file, part, facts);
    } else if (result == EXR_ERR_SUCCESS) {
        int32_t rows = 0;
        result       = exr_get_scanlines_per_chunk(file->context, part, &rows);
        facts->rows_per_chunk = rows > 0 ? (uint32_t)rows : 0;
    }
    return end_call(file, result);
}

int32_t exr_shim_read_channel(exr_shim_file *file, int32_t part, int32_t index, exr_shim_channel *channel) {
    const exr_attr_chlist_t *channels = NULL;
    begin_call(file);
    exr_result_t result = exr_get_channels(file->context, part, &channels);
    if (result == EXR_ERR_SUCCESS && (index < 0 || index >= channels->num_channels))
        result = EXR_ERR_ARGUMENT_OUT_OF_RANGE;
    if (result == EXR_ERR_SUCCESS) {
        const exr_attr_chlist_entry_t *entry = channels->entries + index;
        *channel = (exr_shim_channel){entry->name.str, entry->pixel_type, entry->x_sampling, entry->y_sampling};
    }
    return end_call(file, result);
}

int32_t exr_shim_level(exr_shim_file *file, int32_t part, int32_t level, int32_t *width, int32_t *height) {
    begin_call(file);
    return end_call(file, exr_get_level_sizes(file->context, part, level, level, width, height));
}

const char *exr_shim_view(exr_shim_file *file, int32_t part, int32_t index) {
    const exr_attribute_t *found = find(file, part, "multiView", EXR_ATTR_STRING_VECTOR);
    if (!found || index < 0 || index >= found->stringvector->n_strings) return NULL;
    return found->stringvector->strings[index].str;
}

int32_t exr_shim_text(exr_shim_file *file, int32_t part, int32_t index, const char **name, const char **text,
                      uint32_t *count) {
    const exr_attribute_t *found = NULL;
    *text                        = NULL;
    begin_call(file);
    exr_result_t result =
        exr_get_attribute_by_index(file->context, part, EXR_ATTR_LIST_FILE_ORDER, index, &found);
    if (result == EXR_ERR_SUCCESS && found->type == EXR_ATTR_STRING && found->string->length >= 0) {
        *name  = found->name;
        *text  = found->string->str;
        *count = (uint32_t)found->string->length;
    }
    return end_call(file, result);
}
