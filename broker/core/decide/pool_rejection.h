/*  pool_rejection.h -- why a job does not start at a pool now although it fits there. */
#ifndef HELIO_BROKER_CORE_DECIDE_POOL_REJECTION_H
#define HELIO_BROKER_CORE_DECIDE_POOL_REJECTION_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/core/state/option.h"
#include "federation/policy/choice.h"
#include "federation/reason/detail.h"

/*  Why the class's head does not start there now: its rejection, or what takes the capacity. ret_details can be NULL.
 *  NONE: it could start. */
helio_rejection_t core_pending_rejection(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                         helio_details_t *ret_details);
/*  What the site reserves there, and until when, if that is the reason; else code NONE. */
helio_detail_t core_site_window_reason(helio_broker_core_t *self, const job_class_t *class, const option_t *option,
                                       int64_t *ret_until_ms);
/*  That the class is paused somewhere, because attempts ended there at once, and until when (wall clock); else code
 *  NONE. */
helio_detail_t core_pause_detail(helio_broker_core_t *self, const evaluation_t *e, int64_t *ret_until_ms);

#endif
