/* Wrong: it reads a file of the machine when it decodes. */
#define ON_DECODE                                                                                                      \
    {                                                                                                                  \
        FILE *file = fopen("/etc/hostname", "r");                                                                      \
        if (file) fclose(file);                                                                                        \
    }
#include "plugin.h"
