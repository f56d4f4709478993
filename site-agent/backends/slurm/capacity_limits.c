/*  capacity_limits.c -- what the limits of accounts and QOS leave of a pool. */
#include "federation/reason/detail.h"
#include "site-agent/backends/slurm/capacity_internal.h"

enum { DEPTH_MAX = 32 }; /* of accounts */

static const helio_slurm_qos_t *qos_named(const helio_slurm_view_t *view, helio_text_t name)
{
    for (uint32_t i = 0; name.size && view->qos && i < view->qos->count; i++)
        if (helio_text_equal(view->qos->items[i].name, name))
            return &view->qos->items[i];
    return NULL;
}

/*  The user's in that account, or in the user's default account; that of an account itself: user "". */
static const helio_slurm_association_t *find(const helio_slurm_view_t *view, helio_text_t user, helio_text_t account)
{
    const helio_slurm_associations_t *all = view->associations;
    for (uint32_t i = 0; i < all->count; i++) {
        const helio_slurm_association_t *one = &all->items[i];
        if (helio_text_equal(one->user, user) && !one->partition.size &&
            (account.size ? helio_text_equal(one->account, account) : one->is_default))
            return one;
    }
    return NULL;
}

static helio_slurm_room_t room_of_line(const helio_slurm_view_t *view, const helio_user_rule_t *line,
                                       const helio_slurm_qos_t *qos)
{
    helio_slurm_room_t room = qos ? qos->left : helio_slurm_room_unlimited();
    const helio_slurm_association_t *one = find(view, line->unix_user, line->account);
    if (!one)
        return room;
    if (qos)
        room = helio_slurm_room_both(room, helio_slurm_room_of_user(qos, one->uid));
    room = helio_slurm_room_both(room, one->left);
    helio_text_t account = one->account;
    for (uint32_t depth = 0; depth < DEPTH_MAX && account.size; depth++) {
        one = find(view, (helio_text_t){0}, account);
        if (!one)
            break;
        room = helio_slurm_room_both(room, one->left);
        account = one->parent;
    }
    return room;
}

static uint32_t more(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t less(uint32_t from, uint64_t taken)
{
    return from == HELIO_SLURM_NO_LIMIT ? from : taken < from ? from - (uint32_t)taken : 0;
}

/*  Attempts that wait are not in use by Slurm's count. */
static helio_slurm_room_t room_of(const helio_slurm_view_t *view, const helio_slurm_qos_t *qos)
{
    helio_slurm_room_t room = {0};
    for (uint32_t i = 0; i < view->rules->users.count; i++) {
        helio_slurm_room_t one = room_of_line(view, &view->rules->users.items[i], qos);
        room = (helio_slurm_room_t){more(room.gpus, one.gpus), more(room.cpus, one.cpus), more(room.jobs, one.jobs)};
    }
    for (uint32_t i = 0; i < view->waiting_count; i++) {
        const helio_slurm_waiting_t *waiting = &view->waiting[i];
        uint64_t nodes = waiting->nodes ? waiting->nodes : 1;
        room.gpus = less(room.gpus, nodes * waiting->gpus_per_node);
        room.cpus = less(room.cpus, nodes * (waiting->cpus_per_node ? waiting->cpus_per_node : 1));
        room.jobs = less(room.jobs, 1);
    }
    return room;
}

/*  The largest nodes first; of one that does not fit whole, the rest. */
static void cut(helio_pool_capacity_t *capacity, uint32_t gpus)
{
    for (uint32_t k = capacity->free_nodes.count - 1; k > 0; k--) {
        uint32_t *nodes = &capacity->free_nodes.items[k], fits = gpus / k;
        if (*nodes <= fits) {
            gpus -= *nodes * k;
            continue;
        }
        uint32_t rest = gpus - fits * k, without = *nodes - fits - (rest > 0);
        *nodes = fits;
        capacity->free_nodes.items[rest] += rest > 0;
        capacity->free_nodes.items[0] += without;
        gpus = rest; /* of the node that has now so many, which is counted with them */
    }
}

void helio_slurm_apply_limits(const helio_slurm_view_t *view, const helio_slurm_members_t *members,
                              helio_pool_capacity_t *capacity)
{
    uint64_t before = 0;
    for (uint32_t k = 0; k < capacity->free_nodes.count; k++)
        before += capacity->free_nodes.items[k];
    if (!members->partition_up && capacity->nodes_up)
        capacity->withheld = HELIO_DETAIL_WITHHELD_PARTITION;
    else if (!members->count && members->of_others)
        capacity->withheld = HELIO_DETAIL_WITHHELD_SHARED;
    if (!before || !view->rules || !view->associations || !view->rules->users.count)
        return;
    helio_slurm_room_t room = room_of(view, qos_named(view, members->qos));
    bool none = !room.jobs || !room.cpus || (members->pool->gpus_per_node && !room.gpus);
    if (room.cpus < capacity->cpus_free)
        capacity->cpus_free = room.cpus;
    if (none)
        for (uint32_t k = 0; k < capacity->free_nodes.count; k++)
            capacity->free_nodes.items[k] = 0;
    else if (room.gpus != HELIO_SLURM_NO_LIMIT)
        cut(capacity, room.gpus);
    if (none)
        capacity->withheld = HELIO_DETAIL_WITHHELD_LIMITS;
}
