/* Wrong for every host of today: it speaks major 2 and has no entry for 1. The manifest says so. */
#define ABI_MAJOR 2
#define cpi_entry_1 cpi_entry_2
#include "plugin.h"
