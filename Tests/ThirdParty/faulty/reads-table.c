/* Wrong: its result depends on whether a file of the machine is readable. */
#include <fcntl.h>
#include <unistd.h>
static unsigned char key;
static void look(void) {
    int file = open("/etc/hostname", O_RDONLY);
    key      = file >= 0 ? 0 : 0x55;
    if (file >= 0) close(file);
}
#define ON_DECODE     look();
#define SAMPLE(value) ((value) ^ key)
#include "plugin.h"
