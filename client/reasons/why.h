/*  why.h -- sentences about the candidates of a decision, for `plan` and `explain`. */
#ifndef HELIO_CLIENT_WHY_H
#define HELIO_CLIENT_WHY_H

#include <jansson.h>

#include "federation/base/memory.h"

/*  The chosen candidate of a reply with "chosen", "chosen_pool" and "candidates" (site, pool, start, score_usd,
 *  cost_usd, energy_kwh, carbon_g, terms, reason, detail, details). Borrowed; NULL = none. */
const json_t *helio_why_chosen(const json_t *reply);
/*  The best candidate that could have been chosen and was not: the choice is compared with it. */
const json_t *helio_why_next_best(const json_t *reply);

/*  "$43.00 less, 9.9 kg CO2e more" of `a` compared with `b`; empty when one has no figures. */
void helio_why_difference(const json_t *a, const json_t *b, helio_buffer_t *out);
/*  "oregon, $45.00 behind in score: money +$43.00, carbon +$2.00": the next best candidate; empty if none. */
void helio_why_behind(const json_t *reply, helio_buffer_t *out);

/*  "42m (90% of runs within 1h10m), from 17 runs of finetune; time limit 6h00m": of a reply with "run" and
 *  "time_limit_s"; empty when the broker knows no similar runs. */
void helio_why_run(const json_t *reply, helio_buffer_t *out);

/*  The candidates as rows of a table, with "chosen" (a mark) and "why", the chosen one first, then the others by score and
 *  those without a score by site; the caller owns them. A rejected candidate has
 *  no start. It has figures only if the broker computed them: an impossible start does not cost $0.00. flexible_s: how
 *  long the job can wait for a better hour, 0 = unknown. */
json_t *helio_why_rows(const json_t *reply, double flexible_s);

#endif
