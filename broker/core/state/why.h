/*  why.h -- reasons as details (federation/reason): made in the arena of a step, and kept by what outlives the step. */
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
/*  Appends, in the same arena. */
void core_why_add(helio_broker_core_t *self, helio_details_t *why, helio_detail_t detail);
void core_why_join(helio_broker_core_t *self, helio_details_t *why, const helio_details_t *more);

/*  The sentences, where a reply has to say them with words of its own around. */
const char *core_sentences(helio_broker_core_t *self, const helio_details_t *why);

/*  A sentence that has no code yet. */
helio_details_t core_stated(helio_broker_core_t *self, const char *sentence);

/*  A copy that outlives the step, in one allocation: free() releases it. NULL: no details. */
helio_details_t *core_why_keep(const helio_details_t *why);
/*  A kept reason, or none for NULL, in the arena: it stands when what kept it is gone. */
helio_details_t core_why_kept(helio_broker_core_t *self, const helio_details_t *kept);
bool core_why_equal(const helio_details_t *kept, const helio_details_t *why);
/*  Whether it has a detail of that code; NULL has none. */
bool core_why_has(const helio_details_t *kept, helio_detail_code_t code);

#endif
