/* Wrong: it writes to standard output. */
#define ON_DECODE puts("decoding"), fflush(stdout);
#include "plugin.h"
