/*  why.h -- candidates of a decision in words, for `plan` and `explain`: the one place of these sentences. */
#ifndef HELIO_CLIENT_WHY_H
#define HELIO_CLIENT_WHY_H

#include <jansson.h>

#include "federation/base/memory.h"

/*  In an answer with "chosen", "chosen_pool" and "candidates" (site, pool, start, score_usd, cost_usd,
 * energy_kwh, carbon_g, terms, reason, detail). Borrowed; NULL = none. */
const json_t *helio_why_chosen(const json_t *reply);
/*  The best that was not taken though it could have been: what the choice is compared with. */
const json_t *helio_why_next_best(const json_t *reply);

/*  "$43.00 less, 9.9 kg CO2e more" of `a` against `b`; empty when one has no figures. */
void helio_why_difference(const json_t *a, const json_t *b, helio_buffer_t *out);
/*  "money -$43.00, carbon -$1.98": the terms of the score that differ; empty when none is told. */
void helio_why_terms(const json_t *a, const json_t *b, helio_buffer_t *out);
/*  What the next best would need to be taken instead; empty when there is none. */
void helio_why_change(const json_t *reply, helio_buffer_t *out);

/*  "42m (p90 1h10m) from 17 runs of finetune; limit 6h00m": of an answer with "run" and "time_limit_s"; empty
 * when it tells nothing of runs. */
void helio_why_run(const json_t *reply, helio_buffer_t *out);

/*  The candidates as rows of a table, with "chosen" (a mark) and "why". The caller's. A rejected one has no
 * start; its figures stay when they were worked out, and are left out when the filter came first: nothing
 * costs $0.00 for being impossible. flexible_s: what the job may wait for free, 0 = not known. */
json_t *helio_why_rows(const json_t *reply, double flexible_s);

#endif
