/*  emit.h -- how effects leave the core, and how its texts are made. */
#ifndef HELIO_BROKER_CORE_STATE_EMIT_H
#define HELIO_BROKER_CORE_STATE_EMIT_H

#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "federation/base/error.h"
#include "federation/base/memory.h"
#include "federation/policy/choice.h"
#include "federation/reason/detail.h"

void core_emit(helio_broker_core_t *self, helio_broker_effect_t kind, const void *record);

/*  The one reply to a call; a detail of code NONE says nothing. */
void core_reply(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason, helio_detail_t detail);
void core_reply_details(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason,
                        helio_details_t details);
/*  A value outside its bounds, of a field of the request. unit "": it has none. */
helio_detail_t core_out_of_range(helio_broker_core_t *self, const char *field, int64_t least, int64_t most,
                                 const char *unit);
/*  The audit's detail is the names and values that were set, and no sentence. */
void core_audit(helio_broker_core_t *self, helio_text_t user, const char *action, helio_text_t object,
                helio_text_t detail);
const char *core_printf(helio_broker_core_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
/*  At most `max` bytes of the text, never a part of a character. */
helio_text_t core_text_cut(const char *text, uint32_t max);
/*  A time that a site says, as any table can hold it: after 1970 and at most so far ahead of now. */
bool core_time_is_plausible(const helio_broker_core_t *self, int64_t wall_ms, int64_t ahead_ms);
/*  As transitions name somebody who asked for them. */
const char *core_actor(helio_broker_core_t *self, helio_text_t user);

#endif
