/*  settings.h -- the keys `scale` of a site file: how an elastic pool grows and shrinks. */
#ifndef HELIO_SITE_AGENT_SCALE_SETTINGS_H
#define HELIO_SITE_AGENT_SCALE_SETTINGS_H

#include "federation/model/site.h"
#include "federation/spec/spec.h"

typedef struct helio_scale_rule {
    helio_text_t pool;
    struct {
        helio_string_t *items; /* the provider's command and its arguments; none = others add and remove nodes */
        uint32_t count;
    } command;
    uint32_t up_above;    /* it grows while more nodes than this are wanted, ... */
    uint64_t up_for_ms;   /* ... for so long */
    uint32_t down_below;  /* it shrinks while fewer than this are, ... */
    uint64_t down_for_ms; /* ... for so long */
    uint32_t min, max;    /* instances */
    uint64_t poll_ms;     /* between two lists */
    uint64_t timeout_ms;  /* of one command */
    helio_text_t notice;  /* folder of notices; "" = none */
} helio_scale_rule_t;

typedef struct helio_scale_rules {
    helio_scale_rule_t *items;
    uint32_t count;
} helio_scale_rules_t;

extern const helio_spec_table_t helio_scale_rule_table;

/*  Makes the pools of the rules elastic. INVALID, with the remedy: a rule without its pool, two of one pool, a backend
 *  whose nodes come otherwise; or a pool whose max_nodes no rule makes true. */
HELIO_MUST_CHECK helio_rc helio_scale_settle(const helio_scale_rules_t *rules, helio_site_profile_t *site,
                                             helio_error_t *err);

#endif
