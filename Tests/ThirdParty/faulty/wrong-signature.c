/* Wrong: its images do not begin with the signature in its manifest. */
#define SIGNATURE "89504e47"
#include "plugin.h"
