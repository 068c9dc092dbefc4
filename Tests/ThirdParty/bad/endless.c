/* Wrong: there is always one more frame. Only the limits of the host bring this to an end. */
#define HAS_FRAME(index) ((index) < UINT32_MAX)
#include "plugin.h"
