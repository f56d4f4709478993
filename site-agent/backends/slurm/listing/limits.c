/*  limits.c -- what QOS and accounts leave, as `scontrol show assoc_mgr` writes it: "5(2)" is a limit of five of which two
 *  are in use, "N(2)" is no limit. */
#include <string.h>

#include "site-agent/backends/slurm/listing/internal.h"

static const char *const no_tails[] = {NULL};

static uint32_t left_of(helio_text_t text)
{
    helio_text_t limit;
    uint32_t most, used;
    if (!helio_slurm_cut(&text, '(', &limit) || !text.size || text.data[text.size - 1] != ')')
        return HELIO_SLURM_NO_LIMIT;
    text.size--;
    if (!helio_slurm_u32(limit, &most) || !helio_slurm_u32(text, &used))
        return HELIO_SLURM_NO_LIMIT;
    return used < most ? most - used : 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/*  "cpu=N(1),mem=N(0),gres/gpu=5(2)". */
static void take_tres(helio_text_t list, helio_slurm_room_t *room)
{
    helio_text_t item, key;
    for (bool more = list.size > 0; more;) {
        more = helio_slurm_cut(&list, ',', &item);
        if (!helio_slurm_cut(&item, '=', &key))
            continue;
        if (helio_text_is(key, "gres/gpu"))
            room->gpus = least(room->gpus, left_of(item));
        else if (helio_text_is(key, "cpu"))
            room->cpus = least(room->cpus, left_of(item));
    }
}

helio_slurm_room_t helio_slurm_room_unlimited(void)
{
    return (helio_slurm_room_t){HELIO_SLURM_NO_LIMIT, HELIO_SLURM_NO_LIMIT, HELIO_SLURM_NO_LIMIT};
}

helio_slurm_room_t helio_slurm_room_both(helio_slurm_room_t a, helio_slurm_room_t b)
{
    return (helio_slurm_room_t){least(a.gpus, b.gpus), least(a.cpus, b.cpus), least(a.jobs, b.jobs)};
}

/* ---- QOS ----------------------------------------------------------------------------------------------- */

static bool read_one_qos(helio_text_t line, helio_slurm_qos_t *qos)
{
    enum { NAME, MAX_TIME, JOBS, TRES, KEYS };
    static const char *const keys[KEYS + 1] = {"QOS", "MaxWallPJ", "GrpJobs", "GrpTRES", NULL};
    static const char users[] = " User Limits=";
    helio_text_t values[KEYS] = {{0}};
    uint32_t minutes = 0;
    (void)helio_slurm_fields(line, keys, no_tails, values, NULL);
    if (!helio_slurm_cut(&values[NAME], '(', &qos->name) || !qos->name.size)
        return false;
    if (values[MAX_TIME].size && !helio_slurm_u32(values[MAX_TIME], &minutes))
        return false;
    qos->max_time_ms = (uint64_t)minutes * 60000;
    qos->left = helio_slurm_room_unlimited();
    qos->left.jobs = left_of(values[JOBS]);
    take_tres(values[TRES], &qos->left);
    const char *at = memmem(line.data, line.size, users, sizeof users - 1);
    if (at)
        qos->users = helio_slurm_skip(line, (uint32_t)(at - line.data) + (uint32_t)sizeof users - 1);
    return true;
}

helio_rc helio_slurm_read_qos(helio_text_t text, helio_arena_t *arena, helio_slurm_all_qos_t *ret_qos,
                              helio_error_t *err)
{
    helio_slurm_all_qos_t all = {0};
    helio_text_t line;
    if (!helio_slurm_starts(text, "Current Association Manager state"))
        return helio_slurm_refuse(err, "the list of QOS", 1, text);
    all.items = helio_arena_alloc(arena, helio_slurm_line_count(text) + 1, sizeof *all.items);
    while (helio_slurm_line(&text, &line)) {
        if (!helio_slurm_starts(line, "QOS="))
            continue;
        if (!read_one_qos(line, &all.items[all.count]))
            return helio_slurm_refuse(err, "the list of QOS", all.count + 1, line);
        all.count++;
    }
    if (text.size)
        return helio_slurm_refuse(err, "the list of QOS", all.count + 1, text);
    *ret_qos = all;
    return HELIO_OK;
}

/*  "65534={MaxJobsPU=4(1) … MaxTRESPU=cpu=N(1),gres/gpu=3(2)} 1000={…}"; "No Users" */
helio_slurm_room_t helio_slurm_room_of_user(const helio_slurm_qos_t *qos, uint32_t uid)
{
    static const char *const keys[] = {"MaxJobsPU", "MaxTRESPU", NULL};
    helio_slurm_room_t room = helio_slurm_room_unlimited();
    helio_text_t rest = qos->users, user, number;
    uint32_t found;
    for (bool more = rest.size > 0; more;) {
        more = helio_slurm_cut(&rest, '}', &user);
        while (user.size && user.data[0] == ' ')
            user = helio_slurm_skip(user, 1);
        if (!helio_slurm_cut(&user, '=', &number) || !helio_slurm_u32(number, &found) || found != uid)
            continue;
        helio_text_t values[2] = {{0}};
        (void)helio_slurm_fields(helio_slurm_skip(user, 1), keys, no_tails, values, NULL);
        room.jobs = left_of(values[0]);
        take_tres(values[1], &room);
    }
    return room;
}

/* ---- associations ------------------------------------------------------------------------------------------- */

static bool read_association(helio_text_t line, helio_slurm_association_t *association)
{
    enum { ACCOUNT, USER, PARENT, PARTITION, DEFAULT, GRP_JOBS, JOBS, TRES, KEYS };
    static const char *const keys[KEYS + 1] = {"Account", "UserName", "ParentAccount", "Partition", "DefAssoc",
                                               "GrpJobs", "MaxJobs",  "GrpTRES",       NULL};
    helio_text_t values[KEYS] = {{0}}, uid;
    uint32_t seen = helio_slurm_fields(line, keys, no_tails, values, NULL);
    if (!helio_slurm_has_field(seen, ACCOUNT) || !values[ACCOUNT].size || !helio_slurm_has_field(seen, USER))
        return false;
    association->account = values[ACCOUNT];
    uid = values[USER];
    (void)helio_slurm_cut(&uid, '(', &association->user);
    if (uid.size)
        uid.size--; /* ')' */
    if (!helio_slurm_u32(uid, &association->uid))
        association->uid = UINT32_MAX;
    (void)helio_slurm_cut(&values[PARENT], '(', &association->parent);
    association->partition = values[PARTITION];
    association->is_default = helio_text_is(values[DEFAULT], "Yes");
    association->left = helio_slurm_room_unlimited();
    association->left.jobs = left_of(values[GRP_JOBS]);
    if (association->user.size) /* of an account it is the default of its users */
        association->left.jobs = least(association->left.jobs, left_of(values[JOBS]));
    take_tres(values[TRES], &association->left);
    return true;
}

helio_rc helio_slurm_read_associations(helio_text_t text, helio_arena_t *arena, helio_slurm_associations_t *ret_all,
                                       helio_error_t *err)
{
    helio_slurm_associations_t all = {0};
    helio_text_t line;
    if (!helio_slurm_starts(text, "Current Association Manager state"))
        return helio_slurm_refuse(err, "the list of associations", 1, text);
    all.items = helio_arena_alloc(arena, helio_slurm_line_count(text) + 1, sizeof *all.items);
    while (helio_slurm_line(&text, &line)) {
        if (!helio_slurm_starts(line, "ClusterName="))
            continue;
        if (!read_association(line, &all.items[all.count]))
            return helio_slurm_refuse(err, "the list of associations", all.count + 1, line);
        all.count++;
    }
    if (text.size)
        return helio_slurm_refuse(err, "the list of associations", all.count + 1, text);
    *ret_all = all;
    return HELIO_OK;
}

bool helio_slurm_read_enforced(helio_text_t config)
{
    static const char key[] = "\nAccountingStorageEnforce";
    const char *at = config.size ? memmem(config.data, config.size, key, sizeof key - 1) : NULL;
    helio_text_t line, list, word;
    if (!at)
        return false;
    list = helio_slurm_skip(config, (uint32_t)(at - config.data) + 1);
    (void)helio_slurm_cut(&list, '\n', &line);
    (void)helio_slurm_cut(&line, '=', &list);
    for (bool more = true; more;) {
        more = helio_slurm_cut(&line, ',', &word);
        while (word.size && word.data[0] == ' ')
            word = helio_slurm_skip(word, 1);
        if (helio_text_is(word, "limits") || helio_text_is(word, "safe") || helio_text_is(word, "all"))
            return true;
    }
    return false;
}
