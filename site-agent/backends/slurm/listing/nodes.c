/*  nodes.c -- scontrol's list of nodes: what they have, what is in use, and whether they can be used. */
#include "site-agent/backends/slurm/listing/internal.h"

/* ---- states -------------------------------------------------------------------------------------------- */

enum {
    ALIVE = 1,    /* it can run jobs */
    DOWN = 2,     /* it cannot */
    CLOSED = 4,   /* it accepts no more jobs */
    RESERVED = 8, /* it belongs to a reservation */
    OFF = 16,     /* it is powered down, or coming up again */
};

/*  States of Slurm 20.11 (which writes some states as one word with a mark behind it) to 25.11 (a base and flags,
 *  "IDLE+DRAIN"). A state that is not listed here closes the node. */
static const struct {
    const char *word;
    unsigned means;
} node_words[] = {
    {"IDLE", ALIVE},
    {"ALLOCATED", ALIVE},
    {"ALLOC", ALIVE},
    {"MIXED", ALIVE},
    {"MIX", ALIVE},
    {"COMPLETING", ALIVE},
    {"COMP", ALIVE},
    {"PLANNED", ALIVE}, /* for a coming job: smaller ones can run before it */
    {"CLOUD", 0},
    {"DYNAMIC_NORM", 0},
    {"DYNAMIC_FUTURE", 0},
    {"RESUME", 0},
    {"UNDRAIN", 0},
    {"DRAIN", CLOSED},
    {"DRAINING", ALIVE | CLOSED},
    {"DRAINED", ALIVE | CLOSED},
    {"FAILING", ALIVE | CLOSED},
    {"BLOCKED", ALIVE | CLOSED},
    {"PERFCTRS", ALIVE | CLOSED},
    {"REBOOT_REQUESTED", CLOSED},
    {"POWER_DOWN", CLOSED},
    {"POWERING_DOWN", CLOSED},
    {"RESERVED", ALIVE | RESERVED},
    {"RESV", ALIVE | RESERVED},
    {"MAINT", ALIVE | RESERVED},
    {"MAINTENANCE", ALIVE | RESERVED},
    {"POWER", OFF},
    {"POWERED_DOWN", OFF},
    {"POWER_UP", OFF},
    {"POWERING_UP", OFF},
    {"DOWN", DOWN},
    {"ERROR", DOWN},
    {"FAIL", DOWN},
    {"FUTURE", DOWN},
    {"UNKNOWN", DOWN},
    {"UNK", DOWN},
    {"INVAL", DOWN},
    {"INVALID", DOWN},
    {"INVALID_REG", DOWN},
    {"NOT_RESPONDING", DOWN},
    {"NO_RESPOND", DOWN},
    {"REBOOT", DOWN},
    {"REBOOT_ISSUED", DOWN},
};

static unsigned word_means(helio_text_t word)
{
    for (size_t i = 0; i < sizeof node_words / sizeof *node_words; i++)
        if (helio_text_is(word, node_words[i].word))
            return node_words[i].means;
    return CLOSED;
}

/*  The mark behind a word; 0 if it has none. '-' means "planned". */
static bool mark_means(char mark, unsigned *ret_means)
{
    switch (mark) {
    case '*': /* not responding */
    case '^': /* rebooting */
        *ret_means = DOWN;
        return true;
    case '~': /* powered down */
    case '#': /* powering up */
        *ret_means = OFF;
        return true;
    case '!': /* power down is due */
    case '%': /* powering down */
    case '@': /* reboot is due */
        *ret_means = CLOSED;
        return true;
    case '$': /* maintenance */
        *ret_means = RESERVED;
        return true;
    case '-':
        *ret_means = 0;
        return true;
    default:
        return false;
    }
}

static void read_state(helio_text_t text, helio_slurm_node_t *node)
{
    unsigned means = 0, mark;
    helio_text_t word;
    for (bool more = true; more;) {
        more = helio_slurm_cut(&text, '+', &word);
        while (word.size && mark_means(word.data[word.size - 1], &mark)) {
            means |= mark;
            word.size--;
        }
        means |= word_means(word);
    }
    bool alive = means & ALIVE && !(means & DOWN);
    node->up = alive && !(means & OFF);
    node->closed = means & CLOSED;
    node->reserved = means & RESERVED;
    node->idle_off = alive && means & OFF && !node->closed;
}

/* ---- figures ------------------------------------------------------------------------------------------- */

enum { MIB = 1 << 20 };
enum {
    NAME,
    GRES,
    GRES_USED,
    CPU_ALLOC,
    CPU_USABLE,
    CPU_TOTAL,
    MEMORY,
    MEMORY_ALLOC,
    MEMORY_SPEC,
    STATE,
    PARTITIONS,
    FEATURES,
    ALLOC_TRES,
    KEYS
};
static const char *const keys[KEYS + 1] = {
    "NodeName", "Gres",         "GresUsed", "CPUAlloc",   "CPUEfctv",          "CPUTot",    "RealMemory",
    "AllocMem", "MemSpecLimit", "State",    "Partitions", "AvailableFeatures", "AllocTRES", NULL};
/* Free text of administrators comes last. */
static const char *const tails[] = {"Reason", "Comment", "Extra", NULL};

static bool read_mib(helio_text_t text, uint64_t *ret_bytes)
{
    uint64_t value;
    if (!helio_slurm_u64(text, &value) || __builtin_mul_overflow(value, (uint64_t)MIB, ret_bytes))
        return false;
    return true;
}

static bool read_memory(uint32_t seen, const helio_text_t *values, helio_slurm_node_t *node)
{
    uint64_t all, kept = 0;
    if (!helio_slurm_has_field(seen, MEMORY) || !read_mib(values[MEMORY], &all) ||
        (helio_slurm_has_field(seen, MEMORY_SPEC) && !read_mib(values[MEMORY_SPEC], &kept)) ||
        (helio_slurm_has_field(seen, MEMORY_ALLOC) && !read_mib(values[MEMORY_ALLOC], &node->memory_allocated_bytes)))
        return false;
    node->memory_bytes = all > kept ? all - kept : 0;
    return true;
}

static bool read_cpus(uint32_t seen, const helio_text_t *values, helio_slurm_node_t *node)
{
    uint32_t from = helio_slurm_has_field(seen, CPU_USABLE) ? CPU_USABLE : CPU_TOTAL;
    return helio_slurm_has_field(seen, from) && helio_slurm_u32(values[from], &node->cpus) &&
           helio_slurm_has_field(seen, CPU_ALLOC) && helio_slurm_u32(values[CPU_ALLOC], &node->cpus_allocated);
}

static bool read_gpus(uint32_t seen, const helio_text_t *values, helio_slurm_node_t *node)
{
    if (helio_slurm_has_field(seen, GRES) && !helio_slurm_gres_there(values[GRES], node))
        return false;
    if (helio_slurm_has_field(seen, GRES_USED) && helio_slurm_or_empty(values[GRES_USED]).size)
        return helio_slurm_gres_used(values[GRES_USED], node);
    for (uint32_t i = 0; i < node->gpu_kinds; i++)
        if (node->cpus_allocated)
            node->gpus[i].used = node->gpus[i].count;
    return true;
}

/*  "a Reason=x [root@1795245154]": up to where the comment begins. */
static helio_text_t read_reason(helio_text_t tail)
{
    if (!helio_slurm_starts(tail, "Reason="))
        return (helio_text_t){0};
    helio_text_t reason = helio_slurm_skip(tail, 7);
    for (uint32_t i = 0; i < reason.size; i++) {
        helio_text_t rest = helio_slurm_skip(reason, i);
        if (helio_slurm_starts(rest, " Comment=") || helio_slurm_starts(rest, " Extra="))
            reason.size = i;
    }
    return helio_slurm_trim(reason);
}

static bool read_node(helio_text_t line, helio_slurm_node_t *node, bool *ret_free_text)
{
    helio_text_t values[KEYS] = {{0}}, tail;
    uint32_t seen = helio_slurm_fields(line, keys, tails, values, &tail);
    *ret_free_text = tail.size > 0;
    if (!helio_slurm_has_field(seen, NAME) || !values[NAME].size || !helio_slurm_has_field(seen, STATE) ||
        !values[STATE].size)
        return false;
    node->name = values[NAME];
    node->partitions = helio_slurm_or_empty(values[PARTITIONS]);
    node->features = helio_slurm_or_empty(values[FEATURES]);
    node->reason = read_reason(tail);
    read_state(values[STATE], node);
    return read_cpus(seen, values, node) && read_memory(seen, values, node) && read_gpus(seen, values, node);
}

helio_rc helio_slurm_read_nodes(helio_text_t text, helio_arena_t *arena, helio_slurm_nodes_t *ret_nodes,
                                helio_error_t *err)
{
    helio_slurm_nodes_t nodes = {0};
    helio_text_t line = {0};
    bool free_text = false;
    if (!text.size)
        return helio_fail(err, HELIO_INVALID, "the list of nodes is empty");
    nodes.items = helio_arena_alloc(arena, helio_slurm_line_count(text) + 1, sizeof *nodes.items);
    while (helio_slurm_line(&text, &line)) {
        if (!line.size || (nodes.count == 0 && helio_slurm_starts(line, "No nodes in the system")))
            continue;
        if (!helio_slurm_starts(line, "NodeName=")) {
            /* A comment of an administrator can have several lines. */
            if (free_text)
                continue;
            return helio_slurm_refuse(err, "the list of nodes", nodes.count + 1, line);
        }
        if (!read_node(line, &nodes.items[nodes.count], &free_text))
            return helio_slurm_refuse(err, "the list of nodes", nodes.count + 1, line);
        nodes.count++;
    }
    if (text.size)
        return helio_slurm_refuse(err, "the list of nodes", nodes.count + 1, text);
    *ret_nodes = nodes;
    return HELIO_OK;
}
