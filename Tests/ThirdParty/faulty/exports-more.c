/* Wrong: it exports a name that other libraries may have, too. */
__attribute__((visibility("default"))) int inflate(void);
int inflate(void) { return 0; }
#include "plugin.h"
