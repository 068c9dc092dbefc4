/* Wrong: it hands out metadata of any length, whatever max_metadata_bytes says. */
#define BLOB_BYTES 100
#include "plugin.h"
