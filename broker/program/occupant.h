/*  occupant.h -- who listens at an address that is in use: a broker, or something else. Blocks for a second at most. */
#ifndef HELIO_PROGRAM_OCCUPANT_H
#define HELIO_PROGRAM_OCCUPANT_H

#include <netdb.h>
#include <stdbool.h>

/*  A broker's HTTP server answers there. */
bool helio_occupant_is_broker(const struct addrinfo *at);
/*  What listens there greets as ZeroMQ does: the door for sites of some broker, or another program. */
bool helio_occupant_is_door(const struct addrinfo *at);

#endif
