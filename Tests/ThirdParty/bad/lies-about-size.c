/* Wrong: four bytes of input are said to be 65535 x 65535 pixels, 12 GiB. */
#define WIDTH 65535
#define HEIGHT 65535
#include "plugin.h"
