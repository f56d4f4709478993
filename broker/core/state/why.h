/*  why.h -- reasons as details (federation/reason): created in the arena of a step, or kept beyond the step. */
#ifndef HELIO_BROKER_CORE_STATE_WHY_H
#define HELIO_BROKER_CORE_STATE_WHY_H

#include "broker/core/state/nouns.h"
#include "federation/reason/detail.h"

/*  A reason of one detail, in the arena of the step's effects. */
helio_details_t core_why(helio_broker_core_t *self, helio_detail_t detail);
#define CORE_DETAIL(self, code, ...) HELIO_DETAIL((self)->effects->arena, code, __VA_ARGS__)
#define CORE_NO_DETAIL ((helio_detail_t){.code = HELIO_DETAIL_NONE})
#define CORE_WHY(self, code, ...) core_why(self, CORE_DETAIL(self, code, __VA_ARGS__))
#define CORE_WHY0(self, code) core_why(self, HELIO_DETAIL0(code))
/*  Append, in the same arena. */
void core_why_add(helio_broker_core_t *self, helio_details_t *why, helio_detail_t detail);
void core_why_join(helio_broker_core_t *self, helio_details_t *why, const helio_details_t *more);

/*  A copy that outlives the step, in one allocation that free() releases. NULL: no details. */
helio_details_t *core_why_keep(const helio_details_t *why);
/*  A copy of a kept reason in the arena, valid when the kept one is freed. NULL: no details. */
helio_details_t core_why_kept(helio_broker_core_t *self, const helio_details_t *kept);
bool core_why_equal(const helio_details_t *kept, const helio_details_t *why);
/*  Whether it has a detail of that code; NULL has none. */
bool core_why_has(const helio_details_t *kept, helio_detail_code_t code);

#endif
