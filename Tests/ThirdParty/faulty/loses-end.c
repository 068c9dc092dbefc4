/* Wrong: what was packed comes back without its last byte. */
#define TRANSCODES
#define UNPACKED(count) ((count) - 1)
#include "plugin.h"
