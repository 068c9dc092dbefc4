/* Wrong: set_source answers CPI_END, which the header does not list for it. */
#define SOURCE_ANSWER CPI_END
#include "plugin.h"
