/*  tables.c -- scontrol's lists of partitions and reservations, and its description of one job. */
#include <ctype.h>

#include "site-agent/backends/slurm/listing/internal.h"

static const char *const no_tails[] = {NULL};

/*  Whether a comma-separated list has the word. */
static bool lists(helio_text_t list, const char *word)
{
    helio_text_t part;
    for (bool more = true; more;) {
        more = helio_slurm_cut(&list, ',', &part);
        if (helio_text_is(part, word))
            return true;
    }
    return false;
}

/* ---- partitions ---------------------------------------------------------------------------------------- */

static bool read_partition(helio_text_t line, helio_slurm_partition_t *partition)
{
    enum { NAME, DEFAULT, STATE, NODES, MAX_TIME, MAX_NODES, TIER, QOS, KEYS };
    static const char *const keys[KEYS + 1] = {"PartitionName", "Default",      "State", "Nodes", "MaxTime",
                                               "MaxNodes",      "PriorityTier", "QoS",   NULL};
    helio_text_t values[KEYS] = {{0}};
    uint32_t seen = helio_slurm_fields(line, keys, no_tails, values, NULL);
    if (!helio_slurm_has_field(seen, NAME) || !values[NAME].size || !helio_slurm_has_field(seen, STATE) ||
        !helio_slurm_has_field(seen, NODES))
        return false;
    partition->name = values[NAME];
    partition->nodes = helio_slurm_or_empty(values[NODES]);
    partition->qos = helio_slurm_or_empty(values[QOS]);
    partition->is_default = helio_text_is(values[DEFAULT], "YES");
    partition->up = helio_text_is(values[STATE], "UP");
    if (helio_slurm_has_field(seen, MAX_TIME) && !helio_slurm_duration(values[MAX_TIME], &partition->max_time_ms))
        return false;
    if (helio_slurm_has_field(seen, TIER) && !helio_slurm_u32(values[TIER], &partition->priority_tier))
        return false;
    return !helio_slurm_has_field(seen, MAX_NODES) || helio_text_is(values[MAX_NODES], "UNLIMITED") ||
           helio_slurm_u32(values[MAX_NODES], &partition->max_nodes);
}

helio_rc helio_slurm_read_partitions(helio_text_t text, helio_arena_t *arena, helio_slurm_partitions_t *ret_partitions,
                                     helio_error_t *err)
{
    helio_slurm_partitions_t partitions = {0};
    helio_text_t line;
    if (!text.size)
        return helio_fail(err, HELIO_INVALID, "the list of partitions is empty");
    partitions.items = helio_arena_alloc(arena, helio_slurm_line_count(text) + 1, sizeof *partitions.items);
    while (helio_slurm_line(&text, &line)) {
        if (!line.size || (partitions.count == 0 && helio_slurm_starts(line, "No partitions in the system")))
            continue;
        if (!helio_slurm_starts(line, "PartitionName=") || !read_partition(line, &partitions.items[partitions.count]))
            return helio_slurm_refuse(err, "the list of partitions", partitions.count + 1, line);
        partitions.count++;
    }
    if (text.size)
        return helio_slurm_refuse(err, "the list of partitions", partitions.count + 1, text);
    *ret_partitions = partitions;
    return HELIO_OK;
}

/* ---- reservations -------------------------------------------------------------------------------------- */

static bool read_reservation(helio_text_t line, helio_slurm_reservation_t *reservation, bool *ret_free_text)
{
    enum { NAME, START, END, NODES, FLAGS, TRES, KEYS };
    static const char *const keys[KEYS + 1] = {"ReservationName", "StartTime", "EndTime", "Nodes",
                                               "Flags",           "TRES",      NULL};
    static const char *const tails[] = {"Comment", NULL};
    helio_text_t values[KEYS] = {{0}}, tail;
    uint32_t seen = helio_slurm_fields(line, keys, tails, values, &tail);
    *ret_free_text = tail.size > 0;
    if (!helio_slurm_has_field(seen, NAME) || !helio_slurm_has_field(seen, START) ||
        !helio_slurm_has_field(seen, END) || !helio_slurm_has_field(seen, NODES))
        return false;
    reservation->name = values[NAME];
    reservation->nodes = helio_slurm_or_empty(values[NODES]);
    reservation->maintenance = lists(values[FLAGS], "MAINT") || lists(values[FLAGS], "IGNORE_JOBS");
    reservation->cpus = helio_slurm_tres_count(values[TRES], "cpu");
    reservation->gpus = helio_slurm_tres_count(values[TRES], "gres/gpu");
    return helio_slurm_time(values[START], &reservation->start_s) && helio_slurm_time(values[END], &reservation->end_s);
}

helio_rc helio_slurm_read_reservations(helio_text_t text, helio_arena_t *arena,
                                       helio_slurm_reservations_t *ret_reservations, helio_error_t *err)
{
    helio_slurm_reservations_t all = {0};
    helio_text_t line;
    bool free_text = false;
    if (!text.size)
        return helio_fail(err, HELIO_INVALID, "the list of reservations is empty");
    all.items = helio_arena_alloc(arena, helio_slurm_line_count(text) + 1, sizeof *all.items);
    while (helio_slurm_line(&text, &line)) {
        if (!line.size || (all.count == 0 && helio_slurm_starts(line, "No reservations in the system")))
            continue;
        if (!helio_slurm_starts(line, "ReservationName=")) {
            if (free_text)
                continue;
            return helio_slurm_refuse(err, "the list of reservations", all.count + 1, line);
        }
        if (!read_reservation(line, &all.items[all.count], &free_text))
            return helio_slurm_refuse(err, "the list of reservations", all.count + 1, line);
        all.count++;
    }
    if (text.size)
        return helio_slurm_refuse(err, "the list of reservations", all.count + 1, text);
    *ret_reservations = all;
    return HELIO_OK;
}

/* ---- one job ------------------------------------------------------------------------------------------- */

/*  The name precedes all that matters and can hold anything. An attempt's name has only these characters. */
static bool is_safe_name(helio_text_t name)
{
    for (uint32_t i = 0; i < name.size; i++)
        if (!isalnum((unsigned char)name.data[i]) && name.data[i] != '-' && name.data[i] != '_' && name.data[i] != '.')
            return false;
    return name.size > 0;
}

static uint32_t count_words(helio_text_t line, const char *prefix)
{
    uint32_t count = 0;
    helio_text_t word;
    for (bool more = true; more;) {
        more = helio_slurm_cut(&line, ' ', &word);
        count += helio_slurm_starts(word, prefix);
    }
    return count;
}

/*  "JobId=7 [Array… Het…] JobName=x UserId=root(0) …": what follows the name must be Slurm's own. A name that goes on
 *  as Slurm would has a user in it, and Slurm's own user follows. */
static bool name_is_all(helio_text_t line)
{
    helio_text_t word;
    for (bool more = true; more;) {
        more = helio_slurm_cut(&line, ' ', &word);
        if (helio_slurm_starts(word, "JobName="))
            return more && is_safe_name(helio_slurm_skip(word, 8)) && count_words(line, "UserId=") == 1 &&
                   (helio_slurm_starts(line, "UserId=") || helio_slurm_starts(line, "HetJobIdSet="));
    }
    return false;
}

/*  "Reason=Nodes required for job are DOWN, … Dependency=(null)": up to the next key. */
static helio_text_t reason_of(helio_text_t line)
{
    helio_text_t rest = line, word;
    for (bool more = true; more;) {
        helio_text_t from = rest;
        more = helio_slurm_cut(&rest, ' ', &word);
        if (!helio_slurm_starts(word, "Reason="))
            continue;
        helio_text_t reason = helio_slurm_skip(from, 7);
        for (uint32_t i = 0; i < reason.size; i++) {
            helio_text_t next = helio_slurm_skip(reason, i);
            if (helio_slurm_starts(next, " Dependency=") || helio_slurm_starts(next, " FailedNode="))
                reason.size = i;
        }
        return helio_slurm_or_empty(reason);
    }
    return (helio_text_t){0};
}

/*  "ada(1000)" */
static bool read_user(helio_text_t text, uint32_t *ret_uid)
{
    helio_text_t name, number;
    return helio_slurm_cut(&text, '(', &name) && helio_slurm_cut(&text, ')', &number) &&
           helio_slurm_u32(number, ret_uid);
}

helio_rc helio_slurm_read_detail(helio_text_t text, helio_slurm_detail_t *ret_detail, helio_error_t *err)
{
    enum { ID, NAME, STATE, EXIT, START, END, USER, KEYS };
    static const char *const keys[KEYS + 1] = {"JobId",     "JobName", "JobState", "ExitCode",
                                               "StartTime", "EndTime", "UserId",   NULL};
    helio_slurm_detail_t detail = {0};
    helio_text_t line, values[KEYS] = {{0}};
    helio_text_t whole = text;
    if (!helio_slurm_line(&text, &line) || (text.size && !helio_text_is(text, "\n")) ||
        !helio_slurm_starts(line, "JobId=") || !name_is_all(line))
        return helio_slurm_refuse(err, "scontrol's answer", 1, whole);
    uint32_t seen = helio_slurm_fields(line, keys, no_tails, values, NULL);
    if (!helio_slurm_has_field(seen, STATE) || !values[STATE].size || !helio_slurm_has_field(seen, EXIT) ||
        !helio_slurm_has_field(seen, START) || !helio_slurm_has_field(seen, END) ||
        !helio_slurm_exit(values[EXIT], &detail.exit_code, &detail.exit_signal) ||
        !helio_slurm_time(values[START], &detail.start_s) || !helio_slurm_time(values[END], &detail.end_s) ||
        !read_user(values[USER], &detail.uid))
        return helio_slurm_refuse(err, "scontrol's answer", 1, line);
    detail.id = values[ID];
    detail.name = values[NAME];
    detail.state = helio_slurm_state_of(values[STATE]);
    detail.reason = reason_of(line);
    *ret_detail = detail;
    return HELIO_OK;
}
