/*  address.h -- where a request comes from, as far as the server distinguishes callers without a token. */
#ifndef HELIO_BROKER_HTTP_REQUEST_ADDRESS_H
#define HELIO_BROKER_HTTP_REQUEST_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

enum { HELIO_ADDRESS_SIZE = 48 };

/*  An IPv4 address, or the first 64 bits of an IPv6 address, which one household has to itself; zeros: unknown. */
typedef struct helio_address {
    uint8_t bytes[16]; /* IPv4 as ::ffff:a.b.c.d */
    bool loopback;
} helio_address_t;

helio_address_t helio_address_of(const struct sockaddr *address); /* NULL: unknown */
void helio_address_text(const helio_address_t *self, char ret_text[HELIO_ADDRESS_SIZE]);

#endif
