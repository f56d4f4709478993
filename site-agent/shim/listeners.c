/*  listeners.c -- listening sockets, and the processes that hold them. */
#include "site-agent/shim/listeners.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LISTEN = 0x0A };

/*  An address is one hexadecimal number for each 32 bits, in the machine's byte order. */
static bool read_address(const char *text, bool v6, uint8_t ret_bytes[16])
{
    for (int i = 0; i < (v6 ? 4 : 1); i++) {
        unsigned word;
        if (sscanf(text + (ptrdiff_t)i * 8, "%8x", &word) != 1)
            return false;
        memcpy(ret_bytes + (ptrdiff_t)i * 4, &word, 4);
    }
    return true;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/*  A socket that is bound to no address takes connections to this machine's own. */
static void set_target(helio_listener_t *listener, bool v6, const uint8_t bytes[16], uint16_t port)
{
    listener->any = is_zero(bytes, v6 ? 16 : 4);
    struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    if (v6) {
        memcpy(&in6.sin6_addr, bytes, 16);
        if (listener->any)
            in6.sin6_addr = in6addr_loopback;
        memcpy(&listener->to, &in6, sizeof in6);
        listener->to_size = sizeof in6;
    } else {
        memcpy(&in4.sin_addr, bytes, 4);
        if (listener->any)
            in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        memcpy(&listener->to, &in4, sizeof in4);
        listener->to_size = sizeof in4;
    }
}

static void read_line(const char *line, bool v6, uint16_t port, helio_listener_t list[HELIO_LISTENERS_MAX],
                      size_t *count)
{
    char address[33];
    unsigned bound, state;
    unsigned long long inode;
    uint8_t bytes[16] = {0};
    if (*count == HELIO_LISTENERS_MAX ||
        sscanf(line, " %*d: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*d %llu", address, &bound,
               &state, &inode) != 4 ||
        state != LISTEN || bound != port || strlen(address) != (v6 ? 32U : 8U) || !read_address(address, v6, bytes))
        return;
    helio_listener_t *listener = &list[(*count)++];
    *listener = (helio_listener_t){.inode = inode};
    set_target(listener, v6, bytes, port);
}

void helio_listeners_parse(helio_text_t text, bool v6, uint16_t port, helio_listener_t list[HELIO_LISTENERS_MAX],
                           size_t *count)
{
    char line[512];
    for (uint32_t at = 0, end; at < text.size; at = end + 1) {
        for (end = at; end < text.size && text.data[end] != '\n'; end++)
            continue;
        if (helio_text_copy((helio_text_t){text.data + at, end - at}, line, sizeof line))
            read_line(line, v6, port, list, count);
    }
}

static void find_in(const char *path, bool v6, uint16_t port, helio_listener_t list[HELIO_LISTENERS_MAX], size_t *count)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {.max = 256 << 20};
    char bytes[16384];
    FILE *file = fopen(path, "re");
    for (size_t got; file && (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
        helio_buffer_append(&text, bytes, got);
    if (file)
        (void)fclose(file);
    helio_listeners_parse(helio_buffer_view(&text), v6, port, list, count);
}

size_t helio_listeners_find(uint16_t port, helio_listener_t ret_list[HELIO_LISTENERS_MAX])
{
    size_t count = 0;
    find_in("/proc/net/tcp", false, port, ret_list, &count);
    find_in("/proc/net/tcp6", true, port, ret_list, &count);
    return count;
}

/*  As an IPv6 address, in which IPv4 has its place, too. */
static struct in6_addr target_of(const helio_listener_t *listener)
{
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
    if (listener->to.ss_family == AF_INET6) {
        memcpy(&in6, &listener->to, sizeof in6);
        return in6.sin6_addr;
    }
    struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(&in4, &listener->to, sizeof in4);
    memcpy(mapped.s6_addr + 12, &in4.sin_addr, 4);
    return mapped;
}

bool helio_listener_is_shared_with(const helio_listener_t *self, const helio_listener_t *other)
{
    struct in6_addr own = target_of(self), others = target_of(other);
    return memcmp(&own, &others, sizeof own) == 0 && (self->any || !other->any);
}

static bool holds(pid_t pid, const char *socket)
{
    char path[64], link[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *folder = opendir(path);
    bool found = false;
    for (const struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, link, sizeof link);
        found = size == (ssize_t)strlen(socket) && memcmp(link, socket, strlen(socket)) == 0;
    }
    if (folder)
        (void)closedir(folder);
    return found;
}

bool helio_listener_is_of(const helio_listener_t *self, const pid_t *pids, size_t count)
{
    char socket[48];
    (void)snprintf(socket, sizeof socket, "socket:[%llu]", (unsigned long long)self->inode);
    for (size_t i = 0; i < count; i++)
        if (holds(pids[i], socket))
            return true;
    return false;
}
