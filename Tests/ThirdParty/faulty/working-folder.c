/* Wrong: it changes the working directory. */
#include <unistd.h>
#define ON_DECODE if (chdir("/") != 0) return CPI_INTERNAL;
#include "plugin.h"
