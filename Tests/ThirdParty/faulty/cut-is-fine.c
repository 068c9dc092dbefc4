/* Wrong: a file that ends early is a picture all the same. */
#define WHEN_SHORT CPI_OK
#include "plugin.h"
