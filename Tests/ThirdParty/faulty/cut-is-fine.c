/* Wrong: it accepts a truncated file. */
#define WHEN_SHORT CPI_OK
#include "plugin.h"
