/* Wrong: it delivers metadata longer than max_metadata_bytes. */
#define BLOB_BYTES 100
#include "plugin.h"
