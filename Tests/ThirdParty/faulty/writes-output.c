/* Wrong: it says on standard output what it does. */
#define ON_DECODE puts("decoding"), fflush(stdout);
#include "plugin.h"
