/* Wrong: it connects to a server when it decodes. */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
static void tell(void) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    to.sin_addr.s_addr    = htonl(INADDR_LOOPBACK);
    int somebody          = socket(AF_INET, SOCK_STREAM, 0);
    if (somebody < 0) return;
    connect(somebody, (struct sockaddr *)&to, sizeof to);
    close(somebody);
}
#define ON_DECODE tell();
#include "plugin.h"
