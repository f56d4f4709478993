/*  plan.c -- the texts of plan, claim, started and lease: writing and parsing. */
#include "site-agent/shim/plan.h"

#include <stdio.h>

#include "federation/base/number.h"
#include "federation/base/utf8.h"

static const char *const launcher_words[HELIO_LAUNCHER_COUNT] = {"local", "slurm", "batch"};

/*  The index of each number in the plan; those before OPTIONAL are required. */
typedef struct number {
    const char *key;
    uint64_t most;
    uint64_t value;
} number_t;

enum {
    UID,
    GID,
    LIMIT,
    GRACE,
    LOG_MAX,
    SIGNAL,
    OPTIONAL,
    NODES = OPTIONAL,
    BATCH,
    TRUNCATE,
    TOLERANCE,
    SETUID,
    NUMBERS
};

void helio_plan_text(const helio_plan_t *self, helio_buffer_t *out)
{
    helio_buffer_printf(out, "uid=%u\ngid=%u\nuser=%.*s\nworkdir=%.*s\nlease=%.*s\nmark=%.*s\n", self->uid, self->gid,
                        HELIO_TEXT_ARGS(self->user), HELIO_TEXT_ARGS(self->workdir), HELIO_TEXT_ARGS(self->lease),
                        HELIO_TEXT_ARGS(self->mark));
    helio_buffer_printf(out, "time_limit_ms=%llu\ngrace_ms=%llu\nlog_max_bytes=%llu\ncheckpoint_signal=%u\n",
                        (unsigned long long)self->time_limit_ms, (unsigned long long)self->grace_ms,
                        (unsigned long long)self->log_max_bytes, self->checkpoint_signal);
    for (uint32_t i = 0; i < self->rank_count; i++)
        helio_buffer_printf(out, "rank=%.*s\n", HELIO_TEXT_ARGS(self->ranks[i]));
    if (self->launcher != HELIO_LAUNCHER_LOCAL)
        helio_buffer_printf(out,
                            "launcher=%s\nnodes=%u\nbatch_script=%d\nstdout_path=%.*s\nstderr_path=%.*"
                            "s\ntruncate=%d\nsrun=%.*s\n"
                            "clock_tolerance_ms=%llu\n",
                            launcher_words[self->launcher], self->nodes, self->batch_script,
                            HELIO_TEXT_ARGS(self->stdout_path), HELIO_TEXT_ARGS(self->stderr_path), self->truncate,
                            HELIO_TEXT_ARGS(self->srun), (unsigned long long)self->clock_tolerance_ms);
    if (self->lease_name.size)
        helio_buffer_printf(out, "lease_name=%.*s\n", HELIO_TEXT_ARGS(self->lease_name));
    if (self->cgroup.size)
        helio_buffer_printf(out, "cgroup=%.*s\n", HELIO_TEXT_ARGS(self->cgroup));
    if (self->setuid_programs)
        helio_buffer_text(out, "setuid_programs=1\n");
    if (self->image.size)
        helio_buffer_printf(out, "image=%.*s\n", HELIO_TEXT_ARGS(self->image));
    if (self->runtime_path.size)
        helio_buffer_printf(out, "runtime_path=%.*s\nruntime_home=%.*s\nruntime_prefix=%.*s\n",
                            HELIO_TEXT_ARGS(self->runtime_path), HELIO_TEXT_ARGS(self->runtime_home),
                            HELIO_TEXT_ARGS(self->runtime_prefix));
    for (uint32_t i = 0; i < self->container_count; i++)
        helio_buffer_printf(out, "container=%.*s\n", HELIO_TEXT_ARGS(self->container[i]));
    for (uint32_t i = 0; i < self->mount_count; i++)
        helio_buffer_printf(out, "mount=%.*s\n", HELIO_TEXT_ARGS(self->mounts[i]));
    helio_buffer_text(out, "end=1\n");
}

static bool plan_text_of(helio_plan_t *plan, helio_text_t key, helio_text_t value)
{
    const struct {
        const char *key;
        helio_text_t *text;
    } texts[] = {{"user", &plan->user},
                 {"workdir", &plan->workdir},
                 {"lease", &plan->lease},
                 {"lease_name", &plan->lease_name},
                 {"mark", &plan->mark},
                 {"stdout_path", &plan->stdout_path},
                 {"stderr_path", &plan->stderr_path},
                 {"srun", &plan->srun},
                 {"cgroup", &plan->cgroup},
                 {"image", &plan->image},
                 {"runtime_path", &plan->runtime_path},
                 {"runtime_home", &plan->runtime_home},
                 {"runtime_prefix", &plan->runtime_prefix}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (helio_text_is(key, texts[i].key)) {
            *texts[i].text = value;
            return true;
        }
    if (helio_text_is(key, "rank") && plan->rank_count < HELIO_PLAN_RANKS_MAX) {
        plan->ranks[plan->rank_count++] = value;
        return true;
    }
    if (helio_text_is(key, "container") && plan->container_count < HELIO_PLAN_CONTAINER_MAX) {
        plan->container[plan->container_count++] = value;
        return true;
    }
    if (helio_text_is(key, "mount") && plan->mount_count < HELIO_PLAN_MOUNTS_MAX) {
        plan->mounts[plan->mount_count++] = value;
        return true;
    }
    for (uint32_t i = 0; helio_text_is(key, "launcher") && i < HELIO_LAUNCHER_COUNT; i++)
        if (helio_text_is(value, launcher_words[i])) {
            plan->launcher = (helio_launcher_t)i;
            return true;
        }
    return false;
}

static void take_numbers(helio_plan_t *plan, const number_t numbers[NUMBERS])
{
    plan->uid = (uint32_t)numbers[UID].value;
    plan->gid = (uint32_t)numbers[GID].value;
    plan->time_limit_ms = numbers[LIMIT].value;
    plan->grace_ms = helio_lesser_u64(numbers[GRACE].value, HELIO_PLAN_GRACE_MAX_MS); /* older agents had no bound */
    plan->log_max_bytes = numbers[LOG_MAX].value;
    plan->checkpoint_signal = (uint32_t)numbers[SIGNAL].value;
    plan->nodes = (uint32_t)numbers[NODES].value;
    plan->batch_script = numbers[BATCH].value != 0;
    plan->truncate = numbers[TRUNCATE].value != 0;
    plan->clock_tolerance_ms = numbers[TOLERANCE].value;
    plan->setuid_programs = numbers[SETUID].value != 0;
}

static helio_rc refuse_key(helio_text_t key, helio_error_t *err)
{
    char shown[65];
    helio_utf8_show(key, shown, sizeof shown);
    return helio_fail(err, HELIO_INVALID, "plan: unexpected '%s'", shown);
}

helio_rc helio_plan_parse(helio_text_t text, helio_plan_t *ret_plan, helio_error_t *err)
{
    helio_plan_t plan = {0};
    number_t numbers[NUMBERS] = {[UID] = {"uid", UINT32_MAX - 1, 0},
                                 [GID] = {"gid", UINT32_MAX - 1, 0},
                                 [LIMIT] = {"time_limit_ms", INT64_MAX / 4, 0},
                                 [GRACE] = {"grace_ms", INT64_MAX / 4, 0},
                                 [LOG_MAX] = {"log_max_bytes", INT64_MAX, 0},
                                 [SIGNAL] = {"checkpoint_signal", 31, 0},
                                 [NODES] = {"nodes", HELIO_PLAN_NODES_MAX, 0},
                                 [BATCH] = {"batch_script", 1, 0},
                                 [TRUNCATE] = {"truncate", 1, 0},
                                 [SETUID] = {"setuid_programs", 1, 0},
                                 [TOLERANCE] = {"clock_tolerance_ms", INT64_MAX / 4, 0}};
    bool whole = false;
    uint32_t seen = 0;
    helio_text_t key, value;
    while (helio_status_file_line(&text, &key, &value)) {
        bool known = plan_text_of(&plan, key, value);
        if (helio_text_is(key, "end"))
            known = whole = true;
        for (uint32_t i = 0; i < NUMBERS && !known; i++) {
            int64_t number = 0;
            if (!helio_text_is(key, numbers[i].key))
                continue;
            if (!helio_status_file_number(value, 0, (int64_t)numbers[i].most, &number))
                return helio_fail(err, HELIO_INVALID, "plan: bad %s", numbers[i].key);
            numbers[i].value = (uint64_t)number;
            seen |= i < OPTIONAL ? 1u << i : 0;
            known = true;
        }
        if (!known)
            return refuse_key(key, err);
    }
    take_numbers(&plan, numbers);
    bool peopled = plan.launcher == HELIO_LAUNCHER_LOCAL ? plan.rank_count > 0 : plan.nodes && !plan.rank_count;
    if ((plan.image.size > 0) != (plan.container_count > 0))
        return helio_fail(err, HELIO_INVALID, "plan: an image without a container's command, or the reverse");
    if (!whole || seen != (1u << OPTIONAL) - 1 || !peopled || !plan.workdir.size)
        return helio_fail(err, HELIO_INVALID, "plan: incomplete");
    *ret_plan = plan;
    return HELIO_OK;
}

/* ---- claim --------------------------------------------------------------------------------------------- */

void helio_claim_text(const helio_claim_t *self, helio_buffer_t *out)
{
    helio_buffer_printf(out, "pid=%ld\nstart_ticks=%llu\nboot_id=%s\n", (long)self->shim.pid,
                        (unsigned long long)self->shim.start_ticks, self->boot_id);
    if (self->host[0])
        helio_buffer_printf(out, "host=%s\n", self->host);
    if (self->scheduler_id[0])
        helio_buffer_printf(out, "scheduler_id=%s\n", self->scheduler_id);
}

helio_rc helio_claim_parse(helio_text_t text, helio_claim_t *ret_claim)
{
    helio_claim_t claim = {0};
    uint32_t seen = 0;
    helio_text_t key, value;
    while (helio_status_file_line(&text, &key, &value)) {
        int64_t number = 0;
        if (helio_text_is(key, "boot_id") && helio_text_copy(value, claim.boot_id, sizeof claim.boot_id))
            seen |= 1;
        else if (helio_text_is(key, "pid") && helio_status_file_number(value, 0, INT32_MAX, &number)) {
            claim.shim.pid = (pid_t)number;
            seen |= 2;
        } else if (helio_text_is(key, "start_ticks") && helio_status_file_number(value, 0, INT64_MAX, &number)) {
            claim.shim.start_ticks = (uint64_t)number;
            seen |= 4;
        } else if (helio_text_is(key, "host"))
            (void)helio_text_copy(value, claim.host, sizeof claim.host);
        else if (helio_text_is(key, "scheduler_id"))
            (void)helio_text_copy(value, claim.scheduler_id, sizeof claim.scheduler_id);
    }
    if (seen != 7)
        return HELIO_INVALID;
    *ret_claim = claim;
    return HELIO_OK;
}

/* ---- started ------------------------------------------------------------------------------------------- */

void helio_started_text(const helio_started_t *self, helio_buffer_t *out)
{
    helio_buffer_printf(out, "wall_ms=%lld\nboot_ms=%lld\n", (long long)self->wall_ms, (long long)self->boot_ms);
    for (uint32_t i = 0; i < self->rank_count; i++)
        helio_buffer_printf(out, "rank=%ld\nticks=%llu\n", (long)self->ranks[i].pid,
                            (unsigned long long)self->ranks[i].start_ticks);
}

helio_rc helio_started_parse(helio_text_t text, helio_started_t *ret_started)
{
    helio_started_t started = {0};
    uint32_t ticks = 0;
    helio_text_t key, value;
    while (helio_status_file_line(&text, &key, &value)) {
        int64_t number = 0;
        if (!helio_status_file_number(value, 0, INT64_MAX, &number))
            return HELIO_INVALID;
        if (helio_text_is(key, "wall_ms"))
            started.wall_ms = number;
        else if (helio_text_is(key, "boot_ms"))
            started.boot_ms = number;
        else if (helio_text_is(key, "rank") && started.rank_count < HELIO_PLAN_RANKS_MAX && number <= INT32_MAX)
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

/* ---- lease --------------------------------------------------------------------------------------------- */

void helio_lease_text(const helio_lease_t *self, helio_buffer_t *out)
{
    if (self->boot_id[0])
        helio_buffer_printf(out, "stop_boot_ms=%lld\nkill_boot_ms=%lld\nboot_id=%s\n", (long long)self->stop_boot_ms,
                            (long long)self->kill_boot_ms, self->boot_id);
    if (self->number)
        helio_buffer_printf(out, "number=%llu\nwritten_wall_ms=%lld\nstop_in_ms=%lld\nkill_in_ms=%lld\n",
                            (unsigned long long)self->number, (long long)self->written_wall_ms,
                            (long long)self->stop_in_ms, (long long)self->kill_in_ms);
}

void helio_lease_name_text(helio_text_t name, helio_buffer_t *out)
{
    helio_buffer_printf(out, "attempt=%.*s\n", HELIO_TEXT_ARGS(name));
}

/*  Each form is complete or absent; at least one is present. */
helio_rc helio_lease_parse(helio_text_t text, helio_text_t name, helio_lease_t *ret_lease)
{
    enum { BOOT = 7, REMOTE = 15 };
    helio_lease_t lease = {0};
    int64_t number = 0;
    uint32_t boot = 0, remote = 0;
    bool named = !name.size;
    helio_text_t key, value;
    while (helio_status_file_line(&text, &key, &value)) {
        if (helio_text_is(key, "attempt")) {
            named = named || helio_text_equal(value, name);
            continue;
        }
        const struct {
            const char *key;
            int64_t least, most, *value;
            uint32_t *seen;
            uint32_t bit;
        } rows[] = {{"stop_boot_ms", INT64_MIN + 1, INT64_MAX, &lease.stop_boot_ms, &boot, 1},
                    {"kill_boot_ms", INT64_MIN + 1, INT64_MAX, &lease.kill_boot_ms, &boot, 2},
                    {"number", 1, INT64_MAX, &number, &remote, 1},
                    {"written_wall_ms", 0, INT64_MAX / 4, &lease.written_wall_ms, &remote, 2},
                    {"stop_in_ms", -(INT64_MAX / 4), INT64_MAX / 4, &lease.stop_in_ms, &remote, 4},
                    {"kill_in_ms", -(INT64_MAX / 4), INT64_MAX / 4, &lease.kill_in_ms, &remote, 8}};
        if (helio_text_is(key, "boot_id") && value.size && helio_text_copy(value, lease.boot_id, sizeof lease.boot_id))
            boot |= 4;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            if (helio_text_is(key, rows[i].key) &&
                helio_status_file_number(value, rows[i].least, rows[i].most, rows[i].value))
                *rows[i].seen |= rows[i].bit;
    }
    if ((boot && boot != BOOT) || (remote && remote != REMOTE) || !(boot || remote))
        return HELIO_INVALID;
#ifndef HELIO_MUTANT_lease_of_any
    if (!named)
        return HELIO_NOT_FOUND;
#endif
    lease.number = (uint64_t)number;
    *ret_lease = lease;
    return HELIO_OK;
}
