/* Wrong: it sets a variable of the process. */
#define ON_DECODE setenv("FAULTY_WAS_HERE", "1", 1);
#include "plugin.h"
