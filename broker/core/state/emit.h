/*  emit.h -- how effects leave the core, and how its texts are made. Texts live as long as the step's effects. */
#ifndef HELIO_BROKER_CORE_STATE_EMIT_H
#define HELIO_BROKER_CORE_STATE_EMIT_H

#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "federation/base/error.h"
#include "federation/base/memory.h"
#include "federation/policy/choice.h"
#include "federation/reason/detail.h"

/*  Emits an effect. Copies the record, but not what its views point to: that must live as long as the step's
 *  effects. */
void core_emit(helio_broker_core_t *self, helio_broker_effect_t kind, const void *record);

/*  The one reply to a call. A detail with code NONE adds no detail. */
void core_reply(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason, helio_detail_t detail);
void core_reply_details(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason,
                        helio_details_t details);
/*  Refuses a request for that fault, and says that none of its jobs was stored. */
void core_reply_nothing_stored(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason,
                               helio_detail_t fault);
/*  A parser refused the text of a field of the request. */
helio_detail_t core_input_invalid(helio_broker_core_t *self, const char *field, const char *problem);
/*  A value of a field of the request is outside its bounds. unit "": it has none. */
helio_detail_t core_out_of_range(helio_broker_core_t *self, const char *field, int64_t least, int64_t most,
                                 const char *unit);
/*  actor: a principal (HELIO_ACTOR_MAX). The audit's detail has the names and values that were set, and no sentence. */
void core_audit(helio_broker_core_t *self, helio_text_t actor, const char *action, helio_text_t object,
                helio_text_t detail);
/*  A text of at most 511 bytes. */
const char *core_printf(helio_broker_core_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
/*  At most `max` bytes of the text, never a part of a character. */
helio_text_t core_text_cut(const char *text, uint32_t max);
/*  Whether a time that a site reports can be true: not before least_ms (every table can hold times after 1970), and
 *  at most ahead_ms after now. */
bool core_time_is_plausible(const helio_broker_core_t *self, int64_t least_ms, int64_t wall_ms, int64_t ahead_ms);
/*  The actor of a transition that a principal asked for. */
const char *core_actor(helio_broker_core_t *self, helio_text_t principal);

#endif
