#include "site-agent/shim/plan.h"

#include <stdio.h>

/*  Which number of the plan is which. */
typedef struct number {
    const char *key;
    uint64_t most;
    uint64_t value;
} number_t;

enum { UID, GID, LIMIT, GRACE, LOG_MAX, SIGNAL, NUMBERS };

void helio_plan_text(const helio_plan_t *self, helio_buffer_t *out)
{
    helio_buffer_printf(out, "uid=%u\ngid=%u\nuser=%.*s\nworkdir=%.*s\nlease=%.*s\nmark=%.*s\n", self->uid,
                        self->gid, HELIO_TEXT_ARGS(self->user), HELIO_TEXT_ARGS(self->workdir),
                        HELIO_TEXT_ARGS(self->lease), HELIO_TEXT_ARGS(self->mark));
    helio_buffer_printf(out, "time_limit_ms=%llu\ngrace_ms=%llu\nlog_max_bytes=%llu\ncheckpoint_signal=%u\n",
                        (unsigned long long)self->time_limit_ms, (unsigned long long)self->grace_ms,
                        (unsigned long long)self->log_max_bytes, self->checkpoint_signal);
    for (uint32_t i = 0; i < self->rank_count; i++)
        helio_buffer_printf(out, "rank=%.*s\n", HELIO_TEXT_ARGS(self->ranks[i]));
    helio_buffer_text(out, "end=1\n");
}

static bool plan_text_of(helio_plan_t *plan, helio_text_t key, helio_text_t value)
{
    if (helio_text_is(key, "user"))
        plan->user = value;
    else if (helio_text_is(key, "workdir"))
        plan->workdir = value;
    else if (helio_text_is(key, "lease"))
        plan->lease = value;
    else if (helio_text_is(key, "mark"))
        plan->mark = value;
    else if (helio_text_is(key, "rank") && plan->rank_count < HELIO_PLAN_RANKS_MAX)
        plan->ranks[plan->rank_count++] = value;
    else
        return false;
    return true;
}

helio_rc helio_plan_parse(helio_text_t text, helio_plan_t *ret_plan, helio_error_t *err)
{
    helio_plan_t plan = {0};
    number_t numbers[NUMBERS] = {[UID] = {"uid", UINT32_MAX - 1, 0},
                                 [GID] = {"gid", UINT32_MAX - 1, 0},
                                 [LIMIT] = {"time_limit_ms", INT64_MAX / 4, 0},
                                 [GRACE] = {"grace_ms", INT64_MAX / 4, 0},
                                 [LOG_MAX] = {"log_max_bytes", INT64_MAX, 0},
                                 [SIGNAL] = {"checkpoint_signal", 31, 0}};
    bool whole = false;
    uint32_t seen = 0;
    helio_text_t key, value;
    while (helio_mark_line(&text, &key, &value)) {
        bool known = plan_text_of(&plan, key, value);
        if (helio_text_is(key, "end"))
            known = whole = true;
        for (uint32_t i = 0; i < NUMBERS && !known; i++) {
            int64_t number = 0;
            if (!helio_text_is(key, numbers[i].key))
                continue;
            if (!helio_mark_number(value, 0, (int64_t)numbers[i].most, &number))
                return helio_fail(err, HELIO_INVALID, "plan: bad %s", numbers[i].key);
            numbers[i].value = (uint64_t)number;
            seen |= 1u << i;
            known = true;
        }
        if (!known)
            return helio_fail(err, HELIO_INVALID, "plan: unexpected '%.*s'", HELIO_TEXT_ARGS(key));
    }
    if (!whole || seen != (1u << NUMBERS) - 1 || !plan.rank_count || !plan.workdir.size)
        return helio_fail(err, HELIO_INVALID, "plan: incomplete");
    plan.uid = (uint32_t)numbers[UID].value;
    plan.gid = (uint32_t)numbers[GID].value;
    plan.time_limit_ms = numbers[LIMIT].value;
    plan.grace_ms = numbers[GRACE].value;
    plan.log_max_bytes = numbers[LOG_MAX].value;
    plan.checkpoint_signal = (uint32_t)numbers[SIGNAL].value;
    *ret_plan = plan;
    return HELIO_OK;
}

/* ---- claim -----------------------------------------------------------------------------------------------
 */

void helio_claim_text(const helio_claim_t *self, helio_buffer_t *out)
{
    helio_buffer_printf(out, "pid=%ld\nstart_ticks=%llu\nboot_id=%s\n", (long)self->shim.pid,
                        (unsigned long long)self->shim.start_ticks, self->boot_id);
}

helio_rc helio_claim_parse(helio_text_t text, helio_claim_t *ret_claim)
{
    helio_claim_t claim = {0};
    uint32_t seen = 0;
    helio_text_t key, value;
    while (helio_mark_line(&text, &key, &value)) {
        int64_t number = 0;
        if (helio_text_is(key, "boot_id") && helio_text_copy(value, claim.boot_id, sizeof claim.boot_id))
            seen |= 1;
        else if (helio_text_is(key, "pid") && helio_mark_number(value, 0, INT32_MAX, &number)) {
            claim.shim.pid = (pid_t)number;
            seen |= 2;
        } else if (helio_text_is(key, "start_ticks") && helio_mark_number(value, 0, INT64_MAX, &number)) {
            claim.shim.start_ticks = (uint64_t)number;
            seen |= 4;
        }
    }
    if (seen != 7)
        return HELIO_INVALID;
    *ret_claim = claim;
    return HELIO_OK;
}

/* ---- started ---------------------------------------------------------------------------------------------
 */

void helio_started_text(const helio_started_t *self, helio_buffer_t *out)
{
    helio_buffer_printf(out, "wall_ms=%lld\nboot_ms=%lld\n", (long long)self->wall_ms,
                        (long long)self->boot_ms);
    for (uint32_t i = 0; i < self->rank_count; i++)
        helio_buffer_printf(out, "rank=%ld\nticks=%llu\n", (long)self->ranks[i].pid,
                            (unsigned long long)self->ranks[i].start_ticks);
}

helio_rc helio_started_parse(helio_text_t text, helio_started_t *ret_started)
{
    helio_started_t started = {0};
    uint32_t ticks = 0;
    helio_text_t key, value;
    while (helio_mark_line(&text, &key, &value)) {
        int64_t number = 0;
        if (!helio_mark_number(value, 0, INT64_MAX, &number))
            return HELIO_INVALID;
        if (helio_text_is(key, "wall_ms"))
            started.wall_ms = number;
        else if (helio_text_is(key, "boot_ms"))
            started.boot_ms = number;
        else if (helio_text_is(key, "rank") && started.rank_count < HELIO_PLAN_RANKS_MAX &&
                 number <= INT32_MAX)
            started.ranks[started.rank_count++].pid = (pid_t)number;
        else if (helio_text_is(key, "ticks") && ticks + 1 == started.rank_count)
            started.ranks[ticks++].start_ticks = (uint64_t)number;
        else
            return HELIO_INVALID;
    }
    if (!started.rank_count || ticks != started.rank_count)
        return HELIO_INVALID;
    *ret_started = started;
    return HELIO_OK;
}

/* ---- lease -----------------------------------------------------------------------------------------------
 */

void helio_lease_text(const helio_lease_t *self, helio_buffer_t *out)
{
    helio_buffer_printf(out, "stop_boot_ms=%lld\nkill_boot_ms=%lld\nboot_id=%s\n",
                        (long long)self->stop_boot_ms, (long long)self->kill_boot_ms, self->boot_id);
}

helio_rc helio_lease_parse(helio_text_t text, helio_lease_t *ret_lease)
{
    helio_lease_t lease = {0};
    uint32_t seen = 0;
    helio_text_t key, value;
    while (helio_mark_line(&text, &key, &value)) {
        if (helio_text_is(key, "stop_boot_ms") &&
            helio_mark_number(value, INT64_MIN + 1, INT64_MAX, &lease.stop_boot_ms))
            seen |= 1;
        else if (helio_text_is(key, "kill_boot_ms") &&
                 helio_mark_number(value, INT64_MIN + 1, INT64_MAX, &lease.kill_boot_ms))
            seen |= 2;
        else if (helio_text_is(key, "boot_id") && helio_text_copy(value, lease.boot_id, sizeof lease.boot_id))
            seen |= 4;
    }
    if (seen != 7)
        return HELIO_INVALID;
    *ret_lease = lease;
    return HELIO_OK;
}
