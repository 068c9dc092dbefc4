/* Wrong: each picture leaves 256 MiB behind, 10 GiB after 40 of them. */
#define ON_DECODE                                                                                                      \
    {                                                                                                                  \
        const size_t lost   = (size_t)256 << 20;                                                                       \
        void        *memory = malloc(lost);                                                                            \
        if (memory) memset(memory, 1, lost);                                                                           \
    }
#include "plugin.h"
