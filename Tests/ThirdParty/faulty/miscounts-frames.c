/* Wrong: for more frames than allowed, it reports a damaged file. */
#define FRAMES         3
#define MANIFEST_ROLES ", \"animation\""
#define MORE_ROLES     CPI_CODER_ANIMATION
#define TOO_MANY_FRAMES(d, error) fail(&(d)->base, error, CPI_CORRUPT, "too many frames")
#include "plugin.h"
