/* Wrong: each file that it writes ends with the process number. */
#include <unistd.h>
#define AFTER_IMAGE                                                                                                    \
    const int process = getpid();                                                                                    \
    write_out(e, (const uint8_t *)&process, sizeof process, error);
#include "plugin.h"
