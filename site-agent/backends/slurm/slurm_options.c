/*  slurm_options.c -- the arguments of sbatch: from the order, and what a job may pass on.
 *
 *  Nothing here reaches a shell, and no option of a job can change what the federation relies on: the name, that it
 *  runs once, when it is over, what is run, and where its status files lie.
 */
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum { MARGIN_MS = 60000, MINUTE_MS = 60000, OWN_ARGS_MAX = 32, VALUE_MAX = 4096 };

/*  What a job can pass on anywhere. An option that is neither here nor in the site's `options` is refused. */
static const char *const allowed[] = {"account",
                                      "acctg-freq",
                                      "bb",
                                      "cluster-constraint",
                                      "comment",
                                      "constraint",
                                      "contiguous",
                                      "core-spec",
                                      "cores-per-socket",
                                      "cpu-freq",
                                      "cpus-per-gpu",
                                      "cpus-per-task",
                                      "delay-boot",
                                      "distribution",
                                      "exclude",
                                      "exclusive",
                                      "extra-node-info",
                                      "gpu-bind",
                                      "gpu-freq",
                                      "hint",
                                      "licenses",
                                      "mail-type",
                                      "mail-user",
                                      "mem-bind",
                                      "mem-per-cpu",
                                      "mem-per-gpu",
                                      "mincpus",
                                      "network",
                                      "nice",
                                      "nodelist",
                                      "ntasks",
                                      "ntasks-per-core",
                                      "ntasks-per-gpu",
                                      "ntasks-per-node",
                                      "ntasks-per-socket",
                                      "overcommit",
                                      "oversubscribe",
                                      "partition",
                                      "power",
                                      "prefer",
                                      "priority",
                                      "profile",
                                      "qos",
                                      "reservation",
                                      "sockets-per-node",
                                      "spread-job",
                                      "switches",
                                      "thread-spec",
                                      "threads-per-core",
                                      "tmp",
                                      "use-min-nodes",
                                      "wckey"};

/*  Never passed on, whatever a site allows: each would break a promise, or is set by the order. */
static const char *const never[] = {"array",         "batch",          "begin",
                                    "chdir",         "clusters",       "deadline",
                                    "dependency",    "error",          "export",
                                    "export-file",   "get-user-env",   "gid",
                                    "gpus",          "gpus-per-node",  "gpus-per-socket",
                                    "gpus-per-task", "gres",           "gres-flags",
                                    "help",          "hold",           "ignore-pbs",
                                    "input",         "job-name",       "kill-on-invalid-dep",
                                    "mem",           "no-kill",        "no-requeue",
                                    "nodefile",      "nodes",          "open-mode",
                                    "output",        "parsable",       "propagate",
                                    "quiet",         "reboot",         "requeue",
                                    "signal",        "test-only",      "time",
                                    "time-min",      "tres-per-task",  "uid",
                                    "usage",         "verbose",        "version",
                                    "wait",          "wait-all-nodes", "wrap"};

/*  Pairs that are not options of sbatch: the shim gets their values. */
static const char *const handled[] = {"launch", "output", "error", "chdir", "open-mode"};

static bool among(const char *const *words, size_t count, helio_text_t text)
{
    for (size_t i = 0; i < count; i++)
        if (helio_text_is(text, words[i]))
            return true;
    return false;
}
#define AMONG(words, text) among(words, sizeof(words) / sizeof(words)[0], text)

static bool site_allows(const helio_slurm_settings_t *settings, helio_text_t name)
{
    for (uint32_t i = 0; i < settings->options.count; i++)
        if (helio_text_equal(settings->options.items[i].text, name))
            return true;
    return false;
}

static helio_rc check_name(const helio_slurm_t *self, helio_text_t name, helio_error_t *err)
{
    if (AMONG(never, name))
        return helio_fail(err, HELIO_FORBIDDEN,
                          "--%.*s is set by the job file itself or by the federation; remove it from "
                          "`slurm`",
                          HELIO_TEXT_ARGS(name));
    if (AMONG(allowed, name) || site_allows(&self->settings, name))
        return HELIO_OK;
    if (name.size > 64)
        name.size = 64;
    return helio_fail(err, HELIO_FORBIDDEN,
                      "--%.*s is not passed on at this site; the operator can allow it under "
                      "agent.slurm.options",
                      HELIO_TEXT_ARGS(name));
}

static helio_rc check_value(helio_text_t name, helio_text_t value, helio_error_t *err)
{
    const char *fault = value.size > VALUE_MAX ? "is too long" : NULL;
    if (value.size && value.data[0] == '-')
        fault = "begins with '-'";
    for (uint32_t i = 0; i < value.size && !fault; i++)
        if ((unsigned char)value.data[i] < 0x20 || value.data[i] == 0x7f)
            fault = "has a control character";
    return fault ? helio_fail(err, HELIO_FORBIDDEN, "the value of --%.*s %s", HELIO_TEXT_ARGS(name), fault) : HELIO_OK;
}

static const helio_pair_t *pair_of(const helio_job_spec_t *spec, const char *name)
{
    for (uint32_t i = 0; i < spec->slurm.count; i++)
        if (helio_text_is(spec->slurm.items[i].name, name))
            return &spec->slurm.items[i];
    return NULL;
}

static helio_text_t value_of(const helio_job_spec_t *spec, const char *name)
{
    const helio_pair_t *pair = pair_of(spec, name);
    return pair ? pair->value : (helio_text_t){0};
}

/* ---- sbatch -------------------------------------------------------------------------------------------- */

typedef struct arguments {
    helio_arena_t *arena;
    const char **items;
    uint32_t count;
} arguments_t;

#define ADD(arguments, ...) \
    ((arguments)->items[(arguments)->count++] = helio_arena_printf((arguments)->arena, __VA_ARGS__).data)

static helio_rc add_passed(const helio_slurm_t *self, const helio_job_spec_t *spec, bool own_account, arguments_t *args,
                           helio_error_t *err)
{
    for (uint32_t i = 0; i < spec->slurm.count; i++) {
        const helio_pair_t *pair = &spec->slurm.items[i];
        helio_rc rc = check_value(pair->name, pair->value, err);
        if (!rc && !AMONG(handled, pair->name))
            rc = check_name(self, pair->name, err);
        if (rc)
            return rc;
        if (AMONG(handled, pair->name) || (own_account && helio_text_is(pair->name, "account")))
            continue; /* the site decides which account is charged: several tenants can share a Unix user */
        if (pair->value.size)
            ADD(args, "--%.*s=%.*s", HELIO_TEXT_ARGS(pair->name), HELIO_TEXT_ARGS(pair->value));
        else
            ADD(args, "--%.*s", HELIO_TEXT_ARGS(pair->name));
    }
    return HELIO_OK;
}

/*  At most `most_ms`, if that is enough for the job itself. 0 = unlimited. */
static uint64_t at_most(uint64_t all_ms, uint64_t limit_ms, uint64_t most_ms)
{
    return most_ms && most_ms < all_ms && limit_ms <= most_ms ? most_ms / MINUTE_MS * MINUTE_MS : all_ms;
}

/*  The shim enforces the limit and the grace; Slurm's own limit is for when it cannot. It does not exceed those of the
 *  partition and the QOS. */
static uint64_t minutes_of(const helio_slurm_t *self, const helio_slurm_attempt_t *attempt, helio_text_t partition)
{
    const helio_slurm_poll_t *poll = &self->poll;
    uint64_t limit_ms = attempt->order.time_limit_ms, all_ms = limit_ms + attempt->grace_ms + MARGIN_MS;
    helio_text_t qos = value_of(&attempt->spec, "qos");
    for (uint32_t i = 0; i < poll->partitions.count; i++) {
        const helio_slurm_partition_t *one = &poll->partitions.items[i];
        if (partition.size ? helio_text_equal(one->name, partition) : one->is_default)
            all_ms = at_most(all_ms, limit_ms, one->max_time_ms);
    }
    for (uint32_t i = 0; qos.size && i < poll->qos.count; i++)
        if (helio_text_equal(poll->qos.items[i].name, qos))
            all_ms = at_most(all_ms, limit_ms, poll->qos.items[i].max_time_ms);
    return (all_ms + MINUTE_MS - 1) / MINUTE_MS;
}

static void add_resources(const helio_slurm_t *self, const helio_slurm_attempt_t *attempt, arguments_t *args)
{
    const helio_order_t *order = &attempt->order;
    const helio_job_spec_t *spec = &attempt->spec;
    helio_slurm_pool_t pool;
    helio_slurm_pool_of(&self->settings, &self->site, order->pool, args->arena, &pool);
    helio_text_t partition = value_of(spec, "partition");
    if (!partition.size && pool.partition.size) {
        partition = pool.partition;
        ADD(args, "--partition=%.*s", HELIO_TEXT_ARGS(partition));
    }
    ADD(args, "--nodes=%u", order->nodes ? order->nodes : 1);
    if (order->gpus_per_node && helio_slurm_part_of(pool.gres) == HELIO_SLURM_SHARE)
        ADD(args, "--gres=%.*s:%u", HELIO_TEXT_ARGS(pool.gres), order->gpus_per_node * (pool.units ? pool.units : 1));
    else if (order->gpus_per_node && (!pool.gres.size || helio_text_is(pool.gres, "*")))
        ADD(args, "--gres=gpu:%u", order->gpus_per_node);
    else if (order->gpus_per_node)
        ADD(args, "--gres=gpu:%.*s:%u", HELIO_TEXT_ARGS(pool.gres), order->gpus_per_node);
    bool tasks = pair_of(spec, "ntasks") || pair_of(spec, "ntasks-per-node") || pair_of(spec, "ntasks-per-gpu") ||
                 pair_of(spec, "ntasks-per-socket") || pair_of(spec, "ntasks-per-core");
    if (!tasks) /* otherwise the script's own layout */
        ADD(args, "--ntasks-per-node=1");
    if (order->cpus_per_node && !tasks && !pair_of(spec, "cpus-per-task") && !pair_of(spec, "cpus-per-gpu"))
        ADD(args, "--cpus-per-task=%u", order->cpus_per_node);
    if (order->memory_bytes_per_node && !pair_of(spec, "mem-per-cpu") && !pair_of(spec, "mem-per-gpu"))
        ADD(args, "--mem=%lluM", (unsigned long long)((order->memory_bytes_per_node + 1048575) / 1048576));
    if (order->time_limit_ms)
        ADD(args, "--time=%llu", (unsigned long long)minutes_of(self, attempt, partition));
}

/*  '%' begins a pattern in Slurm's file names. */
static helio_text_t literal(helio_arena_t *arena, helio_text_t path)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    for (uint32_t i = 0; i < path.size; i++)
        helio_buffer_append(&text, path.data[i] == '%' ? "%%" : &path.data[i], path.data[i] == '%' ? 2 : 1);
    return helio_arena_text(arena, helio_buffer_view(&text));
}

static void add_own(const helio_slurm_t *self, const helio_slurm_attempt_t *attempt, helio_text_t account,
                    arguments_t *args)
{
    helio_text_t folder = helio_arena_printf(args->arena, "%s/attempts/%s", self->shared, attempt->held.name);
    if (account.size)
        ADD(args, "--account=%.*s", HELIO_TEXT_ARGS(account));
    ADD(args, "--parsable");
    ADD(args, "--job-name=%s", attempt->held.name);
    ADD(args, "--no-requeue");
    /* All of the command's own environment, which is made from nothing. With less, slurmd runs a login shell of the user on
     * the node for each job, while the job holds its nodes. */
    ADD(args, "--export=ALL");
    ADD(args, "--propagate=NONE"); /* a job must not inherit the agent's own resource limits */
    ADD(args, "--input=/dev/null");
    ADD(args, "--output=%.*s/slurm.log", HELIO_TEXT_ARGS(literal(args->arena, folder)));
    ADD(args, "--open-mode=append");
    ADD(args, "--chdir=/");
    ADD(args, "%s", self->script);
    ADD(args, "%s", self->shim);
    ADD(args, "%.*s", HELIO_TEXT_ARGS(folder));
    if (self->settings.commands.size)
        ADD(args, "%.*s", HELIO_TEXT_ARGS(self->settings.commands));
}

static void fill_how(const helio_slurm_t *self, const helio_slurm_attempt_t *attempt, helio_folder_how_t *how)
{
    const helio_job_spec_t *spec = &attempt->spec;
    *how = (helio_folder_how_t){
        .launcher = HELIO_LAUNCHER_SLURM,
        .lease = attempt->order.on_site_loss != HELIO_SITE_LOSS_STRICT ? self->lease_path : NULL,
        .stdout_path = value_of(spec, "output"),
        .stderr_path = value_of(spec, "error"),
        .workdir = value_of(spec, "chdir"),
        .batch_script = helio_job_is_batch_script(spec),
        .clock_tolerance_ms = self->settings.clock_tolerance_ms,
    };
    how->truncate = how->batch_script && !helio_text_is(value_of(spec, "open-mode"), "append"); /* as sbatch does */
}

helio_rc helio_slurm_launch(const helio_slurm_t *self, const helio_slurm_attempt_t *attempt,
                            const helio_unix_account_t *account, helio_arena_t *arena, helio_slurm_launch_t *ret_launch,
                            helio_error_t *err)
{
    arguments_t args = {.arena = arena};
    if (attempt->spec.slurm.count > HELIO_COMMAND_ARGS_MAX - OWN_ARGS_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "too many options in `slurm`");
    args.items = helio_arena_alloc(arena, HELIO_COMMAND_ARGS_MAX + 1, sizeof *args.items);
    ADD(&args, "sbatch");
    helio_rc rc = add_passed(self, &attempt->spec, account->slurm_account.size > 0, &args, err);
    if (rc)
        return rc;
    /* These come last: of an option that is given twice, sbatch uses the last. */
    add_resources(self, attempt, &args);
    add_own(self, attempt, account->slurm_account, &args);
    fill_how(self, attempt, &ret_launch->how);
    ret_launch->argv = args.items;
    return HELIO_OK;
}
