/*  address.c -- socket addresses as callers. */
#include "broker/http/request/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { PREFIX_BYTES = 8, V4_AT = 12 };

static helio_address_t of_v6(const struct in6_addr *v6)
{
    helio_address_t self = {.loopback = IN6_IS_ADDR_LOOPBACK(v6) != 0};
    bool mapped = IN6_IS_ADDR_V4MAPPED(v6) != 0;
    if (mapped)
        self.loopback = v6->s6_addr[V4_AT] == 127;
    memcpy(self.bytes, v6->s6_addr, mapped || self.loopback ? sizeof self.bytes : PREFIX_BYTES);
    return self;
}

helio_address_t helio_address_of(const struct sockaddr *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6 = {0};
    if (address && address->sa_family == AF_INET6) {
        memcpy(&v6, address, sizeof v6);
    } else if (address && address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        v6.sin6_addr.s6_addr[10] = v6.sin6_addr.s6_addr[11] = 0xff;
        memcpy(v6.sin6_addr.s6_addr + V4_AT, &v4.sin_addr, sizeof v4.sin_addr);
    } else {
        return (helio_address_t){0};
    }
    return of_v6(&v6.sin6_addr);
}

void helio_address_text(const helio_address_t *self, char ret_text[HELIO_ADDRESS_SIZE])
{
    struct in6_addr v6;
    memcpy(&v6, self->bytes, sizeof v6);
    bool mapped = IN6_IS_ADDR_V4MAPPED(&v6) != 0;
    if (!inet_ntop(mapped ? AF_INET : AF_INET6, self->bytes + (mapped ? V4_AT : 0), ret_text, HELIO_ADDRESS_SIZE))
        ret_text[0] = '\0';
}
