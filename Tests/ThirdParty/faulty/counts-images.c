/* Wrong: each file that it writes ends with a different number. */
static unsigned char number;
#define AFTER_IMAGE number++, write_out(e, &number, 1, error);
#include "plugin.h"
