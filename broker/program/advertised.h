/*  advertised.h -- the URL at which the other brokers reach the API of this one. */
#ifndef HELIO_BROKER_PROGRAM_ADVERTISED_H
#define HELIO_BROKER_PROGRAM_ADVERTISED_H

#include "federation/base/error.h"
#include "federation/base/memory.h"

/*  advertise: the setting, a URL or ADDRESS:PORT; "" = from listen, unless that is no address of one broker
 *  ("0.0.0.0:7480", "[::]:7480", port 0). *ret_url: "" = none. HELIO_INVALID: it is neither; err says what it must
 *  be. */
HELIO_MUST_CHECK helio_rc helio_advertised_url(helio_text_t advertise, helio_text_t listen, helio_arena_t *arena,
                                               helio_text_t *ret_url, helio_error_t *err);
/*  Whether only this machine reaches it. */
bool helio_advertised_is_local(helio_text_t url);

#endif
