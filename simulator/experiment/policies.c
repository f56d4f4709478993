/*  policies.c -- the table of policies. */
#include "simulator/experiment/policies.h"

#include <string.h>

/* clang-format off */
#define ROW(name, rank, admit, objective, goal, knows, choose, doc) \
    {name, EXP_RANK_##rank, EXP_ADMIT_##admit, HELIO_OBJECTIVE_##objective, HELIO_GOAL_##goal, EXP_KNOWS_##knows, EXP_CHOOSE_##choose, doc}
const exp_policy_t exp_policies[] = {
    /*  name                   rank     admit score     goal            knows     choose */
    ROW("isolated",             SHARES,  HOME, EARLIEST, BALANCED,       FORECAST, ONCE,  "every job at its home site"),
    ROW("least-wait",           SHARES,  ANY,  EARLIEST, BALANCED,       FORECAST, ONCE,  "home first, then the largest free share"),
    ROW("cheapest",             SHARES,  ANY,  CHEAPEST, BALANCED,       FORECAST, AGAIN, "the least money, as forecast"),
    ROW("static-rank",          SHARES,  ANY,  GREENEST, BALANCED,       MEAN,     ONCE,  "the least carbon, by the mean of the year before"),
    ROW("greenest",             SHARES,  ANY,  GREENEST, BALANCED,       FORECAST, AGAIN, "the least carbon, as forecast"),
    ROW("balanced",             SHARES,  ANY,  ALL,      BALANCED,       FORECAST, AGAIN, "the service, with this goal for every job"),
    ROW("fast",                 SHARES,  ANY,  ALL,      FAST,           FORECAST, AGAIN, "likewise"),
    ROW("cheap",                SHARES,  ANY,  ALL,      CHEAP,          FORECAST, AGAIN, "likewise"),
    ROW("green",                SHARES,  ANY,  ALL,      GREEN,          FORECAST, AGAIN, "likewise"),
    ROW("nearest",              SHARES,  ANY,  NEAREST,  FAST,           FORECAST, ONCE,  "home first, then the shortest round trip"),
    ROW("arrival",              ARRIVAL, ANY,  EARLIEST, BALANCED,       FORECAST, ONCE,  "least-wait in the order of arrival, whatever the team"),
    ROW("follow-the-sun",       SHARES,  ANY,  ALL,      FOLLOW_THE_SUN, FREE,     AGAIN, "the service with this goal: clean hours, and GPUs that others leave"),
    ROW("clairvoyant",          SHARES,  ANY,  ALL,      BALANCED,       TRUTH,    AGAIN, "balanced, with the truth in place of forecasts"),
    ROW("clairvoyant-cheapest", SHARES,  ANY,  CHEAPEST, BALANCED,       TRUTH,    AGAIN, "cheapest, likewise"),
    ROW("clairvoyant-greenest", SHARES,  ANY,  GREENEST, BALANCED,       TRUTH,    AGAIN, "greenest, likewise"),
};
#undef ROW
/* clang-format on */
const uint32_t exp_policy_count = sizeof exp_policies / sizeof exp_policies[0];

bool exp_policy_is_priced(const exp_policy_t *self)
{
    return self->objective == HELIO_OBJECTIVE_ALL && self->goal == HELIO_GOAL_BALANCED;
}

const exp_policy_t *exp_policy_find(helio_text_t name)
{
    for (uint32_t i = 0; i < exp_policy_count; i++)
        if (helio_text_is(name, exp_policies[i].name))
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
        const exp_policy_t *row = exp_policy_find((helio_text_t){at, (uint32_t)size});
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
