/* Wrong for all current hosts: it implements major 2, without an entry for 1. The manifest declares this. */
#define ABI_MAJOR 2
#define cpi_entry_1 cpi_entry_2
#include "plugin.h"
