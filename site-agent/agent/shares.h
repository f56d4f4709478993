/*  shares.h -- the keys `shares` of a site file: pools whose GPUs several jobs use at a time (backend `local`). */
#ifndef HELIO_AGENT_SHARES_H
#define HELIO_AGENT_SHARES_H

#include "federation/model/site.h"
#include "federation/spec/spec.h"

/*  MPS serves at most so many processes of a GPU at a time. */
enum { HELIO_SHARES_JOBS_PER_GPU_MAX = 48, HELIO_SHARES_COMMAND_MAX = 32 };

typedef struct helio_share_rule {
    helio_text_t pool;
    uint32_t jobs_per_gpu;
    struct {
        helio_string_t *items;
        uint32_t count;
    } mps_command;
} helio_share_rule_t;

typedef struct helio_share_rules {
    helio_share_rule_t *items;
    uint32_t count;
} helio_share_rules_t;

extern const helio_spec_table_t helio_share_rule_table;

/*  INVALID, with the remedy: a rule without its pool, two of one pool, a pool that is not shared so or has several
 *  nodes, another backend. */
HELIO_MUST_CHECK helio_rc helio_shares_check(const helio_share_rules_t *rules, const helio_site_profile_t *site,
                                             helio_error_t *err);
/*  NULL: no rule. */
const helio_share_rule_t *helio_shares_of(const helio_share_rules_t *rules, helio_text_t pool);
/*  Fills the power of a pool whose model is known, and that has none: of a share, its part of the GPU's. */
void helio_shares_fill_power(const helio_share_rules_t *rules, helio_pool_t *pool);
/*  1 without a rule. */
uint32_t helio_shares_per_gpu(const helio_share_rules_t *rules, helio_text_t pool);

#endif
