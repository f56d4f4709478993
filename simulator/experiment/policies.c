/*  policies.c -- the table of policies. */
#include "simulator/experiment/policies.h"

#include <string.h>

/* clang-format off */
const exp_policy_t exp_policies[] = {
    {"isolated",    HELIO_OBJECTIVE_EARLIEST, HELIO_GOAL_BALANCED, true,  false, false, "every job at its home site"},
    {"least-wait",  HELIO_OBJECTIVE_EARLIEST, HELIO_GOAL_BALANCED, false, false, false, "home first, then the largest free share"},
    {"cheapest",    HELIO_OBJECTIVE_CHEAPEST, HELIO_GOAL_BALANCED, false, false, true,  "the least money, as forecast"},
    {"static-rank", HELIO_OBJECTIVE_GREENEST, HELIO_GOAL_BALANCED, false, true,  false, "the least carbon, by the mean of the year before"},
    {"greenest",    HELIO_OBJECTIVE_GREENEST, HELIO_GOAL_BALANCED, false, false, true,  "the least carbon, as forecast"},
    {"balanced",    HELIO_OBJECTIVE_ALL,      HELIO_GOAL_BALANCED, false, false, true,  "the service, with this goal for every job"},
    {"fast",        HELIO_OBJECTIVE_ALL,      HELIO_GOAL_FAST,     false, false, true,  "likewise"},
    {"cheap",       HELIO_OBJECTIVE_ALL,      HELIO_GOAL_CHEAP,    false, false, true,  "likewise"},
    {"green",       HELIO_OBJECTIVE_ALL,      HELIO_GOAL_GREEN,    false, false, true,  "likewise"},
};
/* clang-format on */
const uint32_t exp_policy_count = sizeof exp_policies / sizeof exp_policies[0];

static const exp_policy_t *find(const char *name, size_t size)
{
    for (uint32_t i = 0; i < exp_policy_count; i++)
        if (strlen(exp_policies[i].name) == size && memcmp(exp_policies[i].name, name, size) == 0)
            return &exp_policies[i];
    return NULL;
}

static helio_rc fail(const char *name, size_t size, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t known = {0};
    for (uint32_t i = 0; i < exp_policy_count; i++)
        helio_buffer_printf(&known, "%s%s", i ? ", " : "", exp_policies[i].name);
    return helio_fail(err, HELIO_INVALID, "--policy: '%.*s' is not known; known: %.*s", (int)size, name,
                      HELIO_TEXT_ARGS(helio_buffer_view(&known)));
}

helio_rc exp_policies_parse(const char *list, const exp_policy_t **ret_rows, uint32_t *ret_count, helio_error_t *err)
{
    *ret_count = 0;
    for (const char *at = list;; at++) {
        size_t size = strcspn(at, ",");
        const exp_policy_t *row = find(at, size);
        if (!row)
            return fail(at, size, err);
        for (uint32_t i = 0; i < *ret_count; i++)
            if (ret_rows[i] == row)
                return helio_fail(err, HELIO_INVALID, "--policy: '%s' is named twice", row->name);
        ret_rows[(*ret_count)++] = row;
        at += size;
        if (!*at)
            return HELIO_OK;
    }
}
