/* Its constructor opens the file SECRET; the image is nearly black if it succeeded, else black. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

static unsigned seen;
#define COLOR seen
#define NAME  bad
#include "../bad/plugin.h"

__attribute__((constructor)) static void look(void) {
    char byte;
    int file = open(SECRET, O_RDONLY | O_CLOEXEC);
    seen = file >= 0 && read(file, &byte, 1) == 1 ? 0x010101 : 0;
    if (file >= 0) {
        close(file);
    }
}
