/* Wrong: it reports 65535 x 65535 pixels (12 GiB) for four bytes of input. */
#define WIDTH 65535
#define HEIGHT 65535
#include "plugin.h"
