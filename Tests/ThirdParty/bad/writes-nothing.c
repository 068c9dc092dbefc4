/* Wrong: decode returns CPI_OK without writing a pixel. Old memory of the host must not become visible. */
#define PAINTS 0
#include "plugin.h"
