/*  mapping.h -- the wire's messages as the core's events, and the core's effects as frames. Pure: no socket, no clock.
 *
 *  Frames stay below HELIO_WIRE_FRAME_MAX and lists below HELIO_WIRE_BATCH_MAX. Reports are gathered until something
 *  else is sent or flush is called, so that a thousand of them are one message, and the order of all messages is kept.
 */
#ifndef HELIO_UPLINK_MAPPING_H
#define HELIO_UPLINK_MAPPING_H

#include "federation/wire/messages.h"
#include "site-agent/core/agent_core.h"

/*  The event of a broker's message; its payload lives in the arena, its views in the message's frame. HELIO_NOT_FOUND:
 *  the message is not an event of the core (LOG_READ, REFUSAL); HELIO_PROTOCOL: a broker does not send that message. */
HELIO_MUST_CHECK helio_rc helio_mapping_event(uint32_t message, const void *record, helio_arena_t *arena,
                                              uint32_t *ret_event, const void **ret_payload);

/*  The sender of HELLO. Borrowed for the life of the framer. */
typedef struct helio_identity {
    const char *agent_version;
    helio_uuid_t boot_id; /* new at every start */
    const helio_site_profile_t *profile;
    helio_uuid_t former_boot_id; /* of the last process in session that is proved to have ended; nil = of none */
} helio_identity_t;

typedef struct helio_framer helio_framer_t;
typedef helio_rc helio_framer_fn(void *arg, helio_text_t frame);

/*  Sets the agreed version for which frames are made: series that it does not have are left out. Before this call, the
 *  oldest version is used. */
void helio_framer_speak(helio_framer_t *self, uint32_t protocol);
helio_framer_t *helio_framer_new(const helio_identity_t *identity, helio_framer_fn *send, void *arg);
void helio_framer_destroy(helio_framer_t **self_p);

/*  True for the effects of helio_framer_put. */
bool helio_framer_takes(uint32_t effect);
/*  SEND_HELLO, _INVENTORY, _SUMMARY, _RENEW, _REPORT. Returns the first failure of encoding or of `send`, which leaves
 *  nothing gathered. The connection must then be given up, since reports are acknowledged by their last number. */
HELIO_MUST_CHECK helio_rc helio_framer_put(helio_framer_t *self, const helio_effect_t *effect, int64_t wall_ms,
                                           helio_error_t *err);
/*  Sends any other message at once (LOG_DATA, BYE), after what was gathered. */
HELIO_MUST_CHECK helio_rc helio_framer_message(helio_framer_t *self, uint32_t message, const void *record,
                                               helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_framer_flush(helio_framer_t *self, helio_error_t *err);
void helio_framer_drop(helio_framer_t *self); /* drops what was gathered: the connection is gone */

#endif
