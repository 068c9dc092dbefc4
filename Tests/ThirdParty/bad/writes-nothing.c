/* Wrong: decode answers CPI_OK and has touched no pixel. The host's memory must not shine through. */
#define PAINTS 0
#include "plugin.h"
