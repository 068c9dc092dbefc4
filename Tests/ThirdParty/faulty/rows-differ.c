/* Wrong: a file written in bands has a longer header. */
#define TAKES_ROWS
#define BAND_HEADER (HEADER_BYTES + 1)
#include "plugin.h"
