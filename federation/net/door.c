/*  door.c -- listens, and accepts connections. */
#include "federation/net/door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "federation/net/internal.h"

enum { SCHEME = 6, BACKLOG = 1024, HOST_SIZE = 64 };

typedef union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address_t;

static helio_rc open_failed(const char *endpoint, int why, helio_error_t *err)
{
    switch (why) {
    case EADDRINUSE:
        return helio_fail(
            err, HELIO_CONFLICT,
            "%s: the port is in use: stop the process that listens there (ss -ltnp shows it) or choose another port",
            endpoint);
    case EADDRNOTAVAIL:
    case ENODEV:
        return helio_fail(
            err, HELIO_INVALID,
            "%s: this machine does not have the address: use one of its addresses (ip addr lists them) or 0.0.0.0",
            endpoint);
    case EACCES:
        return helio_fail(err, HELIO_FORBIDDEN, "%s: no permission to listen there: choose a port above 1023",
                          endpoint);
    case EINVAL:
        return helio_fail(err, HELIO_INVALID, "%s: not an endpoint: write tcp://ADDRESS:PORT", endpoint);
    default:
        return helio_fail(err, HELIO_IO, "%s: cannot listen: %s", endpoint, strerror(why));
    }
}

static bool address_of_interface(const char *name, address_t *ret_address)
{
    struct ifaddrs *all;
    bool found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *one = all; one && !found; one = one->ifa_next)
        if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && strcmp(one->ifa_name, name) == 0) {
            memcpy(&ret_address->v4, one->ifa_addr, sizeof ret_address->v4);
            found = true;
        }
    freeifaddrs(all);
    return found;
}

/*  0 or an errno. */
static int resolve(const char *endpoint, address_t *ret_address)
{
    char host[HOST_SIZE];
    const char *begin = endpoint + SCHEME, *end = strrchr(endpoint, ':');
    uint16_t port = htons((uint16_t)strtoul(end + 1, NULL, 10)); /* "*" reads as 0, which picks a port */
    memset(ret_address, 0, sizeof *ret_address);
    if (*begin == '[' && end[-1] == ']') {
        begin++;
        end--;
    }
    if (end <= begin || (size_t)(end - begin) >= sizeof host)
        return EINVAL;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    bool numeric = strcmp(host, "*") == 0 || inet_pton(AF_INET, host, &ret_address->v4.sin_addr) == 1;
    if (!numeric && inet_pton(AF_INET6, host, &ret_address->v6.sin6_addr) == 1) {
        ret_address->v6.sin6_family = AF_INET6;
        ret_address->v6.sin6_port = port;
        return 0;
    }
    if (!numeric && !address_of_interface(host, ret_address))
        return ENODEV;
    ret_address->v4.sin_family = AF_INET;
    ret_address->v4.sin_port = port;
    return 0;
}

/*  0 or an errno. */
static int listen_at(int fd, const address_t *address)
{
    static const int yes = 1, no = 0;
    bool v6 = address->any.sa_family == AF_INET6;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        (v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) ||
        bind(fd, &address->any, v6 ? sizeof address->v6 : sizeof address->v4) != 0 || listen(fd, BACKLOG) != 0)
        return errno;
    return 0;
}

static bool write_bound(int fd, char *ret_bound, size_t bound_size)
{
    address_t bound;
    char host[INET6_ADDRSTRLEN];
    socklen_t size = sizeof bound;
    if (getsockname(fd, &bound.any, &size) != 0)
        return false;
    bool v6 = bound.any.sa_family == AF_INET6;
    const void *address = v6 ? (const void *)&bound.v6.sin6_addr : (const void *)&bound.v4.sin_addr;
    if (!inet_ntop(bound.any.sa_family, address, host, sizeof host))
        return false;
    (void)snprintf(ret_bound, bound_size, v6 ? "tcp://[%s]:%u" : "tcp://%s:%u", host,
                   ntohs(v6 ? bound.v6.sin6_port : bound.v4.sin_port));
    return true;
}

helio_rc helio_door_open(const char *endpoint, int *ret_fd, char *ret_bound, size_t bound_size, helio_error_t *err)
{
    address_t address;
    if (strncmp(endpoint, "tcp://", SCHEME) != 0 || !helio_endpoint_is_valid(endpoint, true))
        return open_failed(endpoint, EINVAL, err);
    int why = resolve(endpoint, &address);
    if (why)
        return open_failed(endpoint, why, err);
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    why = fd < 0 ? errno : listen_at(fd, &address);
    if (!why && !write_bound(fd, ret_bound, bound_size))
        why = errno;
    if (why) {
        helio_close(&fd);
        return open_failed(endpoint, why, err);
    }
    *ret_fd = fd;
    return HELIO_OK;
}

/*  A port for both families shows an IPv4 address as ::ffff:a.b.c.d. */
static helio_origin_t origin_of(const address_t *from)
{
    helio_origin_t origin = {{0}};
    const struct in6_addr *v6 = &from->v6.sin6_addr;
    if (from->any.sa_family == AF_INET)
        memcpy(origin.bytes + 12, &from->v4.sin_addr, 4);
    else if (from->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(v6))
        memcpy(origin.bytes + 12, v6->s6_addr + 12, 4);
    else if (from->any.sa_family == AF_INET6)
        memcpy(origin.bytes, v6->s6_addr, 8);
    return origin;
}

int helio_door_accept(int door, unsigned silence_ms, helio_origin_t *ret_origin)
{
    static const int yes = 1;
    address_t from = {0};
    socklen_t size = sizeof from;
    int fd = accept4(door, &from.any, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    *ret_origin = origin_of(&from);
    /* Without these the connection works all the same, only later or with a later end. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
    return fd;
}
