/*  loopback.c -- preloaded into daemons that have no option for it: what they would listen on at every address, they
 *  listen on at 127.0.0.1 alone. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

typedef int bind_fn(int, const struct sockaddr *, socklen_t);

int bind(int fd, const struct sockaddr *address, socklen_t size)
{
    struct sockaddr_in here;
    bind_fn *real = (bind_fn *)dlsym(RTLD_NEXT, "bind");
    if (size < sizeof here || address->sa_family != AF_INET)
        return real(fd, address, size);
    memcpy(&here, address, sizeof here);
    if (here.sin_addr.s_addr == htonl(INADDR_ANY))
        here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return real(fd, (const struct sockaddr *)&here, sizeof here);
}
