/* Wrong: there is always one more frame. Only the host's limits end the session. */
#define HAS_FRAME(index) ((index) < UINT32_MAX)
#include "plugin.h"
