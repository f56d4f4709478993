/*  occupant.c -- connects to an address and looks at the first bytes of what answers. */
#include "broker/program/occupant.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "broker/forward/forwarder.h"
#include "federation/base/clock.h"

enum { PATIENCE_MS = 1000, GREETING_SIZE = 10 };

static bool is_due(int fd, short events, int64_t until_ms)
{
    struct pollfd waiting = {.fd = fd, .events = events};
    int64_t left_ms = until_ms - helio_clock_boot_ms();
    return left_ms > 0 && poll(&waiting, 1, (int)left_ms) == 1;
}

static int dial(const struct addrinfo *at, int64_t until_ms)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    socklen_t size = sizeof error;
    if (fd < 0)
        return -1;
    bool connected = connect(fd, at->ai_addr, at->ai_addrlen) == 0 ||
                     (errno == EINPROGRESS && is_due(fd, POLLOUT, until_ms) &&
                      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
    if (!connected)
        (void)close(fd);
    return connected ? fd : -1;
}

/*  Sends a text and reads up to `least` bytes, or what comes before the end. Returns their number. */
static size_t exchange(const struct addrinfo *at, const char *text, size_t least, char *ret_bytes)
{
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    int fd = dial(at, until_ms);
    size_t size = 0;
    ssize_t got = fd >= 0 ? send(fd, text, strlen(text), MSG_NOSIGNAL) : -1;
    while (got >= 0 && size < least && is_due(fd, POLLIN, until_ms) &&
           (got = recv(fd, ret_bytes + size, least - size, 0)) > 0)
        size += (size_t)got;
    if (fd >= 0)
        (void)close(fd);
    return size;
}

bool helio_occupant_is_broker(const struct addrinfo *at)
{
    char answer[4096];
    size_t size = exchange(at, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                           sizeof answer - 1, answer);
    answer[size] = '\0';
    return strncmp(answer, "HTTP/1.1 ", 9) == 0 && strcasestr(answer, "\r\n" HELIO_BROKER_HEADER ":");
}

/*  A server of ZMTP sends its signature unasked. */
bool helio_occupant_is_door(const struct addrinfo *at)
{
    char greeting[GREETING_SIZE] = "";
    return exchange(at, "", GREETING_SIZE, greeting) == GREETING_SIZE && (unsigned char)greeting[0] == 0xFF &&
           greeting[GREETING_SIZE - 1] == 0x7F;
}
