/* Wrong: unpacking loses the last byte. */
#define TRANSCODES
#define UNPACKED(count) ((count) - 1)
#include "plugin.h"
