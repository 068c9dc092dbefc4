/* Wrong: a table's size is shorter than in the first minor. -DTABLE: 1 decoder, 2 coder, 3 plugin, 4 size 0. */
#ifndef TABLE
#define TABLE 1
#endif
#if TABLE == 1
#define DECODER_SIZE 16 /* no room for set_source */
#elif TABLE == 2
#define CODER_SIZE 16 /* no room for the tables */
#elif TABLE == 3
#define PLUGIN_SIZE 24 /* no room for `coder` */
#else
#define DECODER_SIZE 0
#endif
#include "plugin.h"
