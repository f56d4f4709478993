/*  pending.h -- why a job does not start at a pool now though it fits there. */
#ifndef HELIO_BROKER_CORE_DECIDE_PENDING_H
#define HELIO_BROKER_CORE_DECIDE_PENDING_H

#include "broker/core/state/nouns.h"
#include "broker/core/state/option.h"
#include "federation/policy/choice.h"

/*  Why the class's head does not start there now: its rejection, or what takes the room, with words (in the arena of
 *  the step's effects). NONE: it could. */
helio_rejection_t core_pending_rejection(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                const char **ret_detail);
/*  What the site keeps there, if that is why it does not start, and until when (core_site_window_text); "" = it is not. */
const char *core_site_window_reason(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                           int64_t *ret_until_ms);

#endif
