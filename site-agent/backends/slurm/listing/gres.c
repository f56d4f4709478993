/*  gres.c -- GPUs as Slurm writes them: the GRES of nodes, and what jobs request. */
#include <ctype.h>
#include <string.h>

#include "site-agent/backends/slurm/listing/internal.h"

enum { COUNT_MAX = 1 << 20 }; /* a larger number is not a count of GPUs */

/*  "gpu:h100:8(S:0-1)", "gpu:(null):2(IDX:0,3)", "gpu", "shard:h100:4(2/4,2/4)" */
typedef struct gres_item {
    helio_text_t name, type, more; /* from the parentheses at the end */
    uint32_t count;
    bool counted; /* it had a count */
} gres_item_t;

/*  A comma within parentheses does not end an item. */
static helio_text_t next_item(helio_text_t *rest)
{
    uint32_t depth = 0, i = 0;
    for (; i < rest->size && (depth || rest->data[i] != ','); i++)
        if (rest->data[i] == '(')
            depth++;
        else if (rest->data[i] == ')' && depth)
            depth--;
    helio_text_t item = {rest->data, i};
    *rest = helio_slurm_skip(*rest, i + 1);
    return item;
}

/*  Slurm can abbreviate 2048 as 2K. */
static bool read_count(helio_text_t text, uint32_t *ret_count)
{
    uint64_t value, unit = 1;
    if (text.size > 1 && (text.data[text.size - 1] == 'K' || text.data[text.size - 1] == 'M')) {
        unit = text.data[text.size - 1] == 'K' ? 1024 : 1024 * 1024;
        text.size--;
    }
    if (!helio_slurm_u64(text, &value))
        return false;
    *ret_count = value > COUNT_MAX / unit ? COUNT_MAX : (uint32_t)(value * unit);
    return true;
}

/*  The position of the parentheses at the end; "(null)" in place of a type does not count. */
static uint32_t tail_start(helio_text_t item)
{
    for (uint32_t i = 0; i < item.size; i++)
        if (item.data[i] == '(' && !helio_slurm_starts(helio_slurm_skip(item, i), "(null)"))
            return i;
    return item.size;
}

static bool split_item(helio_text_t text, gres_item_t *item)
{
    *item = (gres_item_t){.count = 1};
    uint32_t end = tail_start(text);
    if (end < text.size) {
        item->more = helio_slurm_skip(text, end + 1);
        if (!item->more.size || item->more.data[item->more.size - 1] != ')')
            return false;
        item->more.size--;
    }
    helio_text_t rest = {text.data, end}, part;
    bool more = helio_slurm_cut(&rest, ':', &item->name);
    while (more) {
        more = helio_slurm_cut(&rest, ':', &part);
        if (!more && read_count(part, &item->count))
            item->counted = true;
        else if (part.size && !helio_text_is(part, "no_consume"))
            item->type = helio_slurm_or_empty(part);
    }
    return item->name.size > 0;
}

static bool is_slice(helio_text_t type)
{
    /* "<digits>g.<digits>gb" anywhere in the type */
    for (uint32_t i = 1; i + 1 < type.size; i++) {
        if (type.data[i] != 'g' || type.data[i + 1] != '.' || !isdigit((unsigned char)type.data[i - 1]))
            continue;
        uint32_t k = i + 2;
        while (k < type.size && isdigit((unsigned char)type.data[k]))
            k++;
        if (k > i + 2 && k + 1 < type.size && type.data[k] == 'g' && type.data[k + 1] == 'b')
            return true;
    }
    return false;
}

static bool is_share(helio_text_t name)
{
    return helio_text_is(name, "shard") || helio_text_is(name, "mps");
}

helio_slurm_part_t helio_slurm_part_of(helio_text_t type)
{
    return is_share(type) ? HELIO_SLURM_SHARE : is_slice(type) ? HELIO_SLURM_SLICE : HELIO_SLURM_WHOLE;
}

static helio_slurm_gres_t *kind_of(helio_slurm_node_t *node, helio_text_t type)
{
    for (uint32_t i = 0; i < node->gpu_kinds; i++)
        if (helio_text_equal(node->gpus[i].type, type))
            return &node->gpus[i];
    return NULL;
}

bool helio_slurm_gres_there(helio_text_t gres, helio_slurm_node_t *node)
{
    helio_text_t rest = helio_slurm_or_empty(gres);
    while (rest.size) {
        gres_item_t item;
        if (!split_item(next_item(&rest), &item))
            return false;
        bool share = is_share(item.name);
        if (!helio_text_is(item.name, "gpu") && !share)
            continue;
        if (share)
            item.type = item.name;
        helio_slurm_gres_t *kind = kind_of(node, item.type);
        if (!kind && node->gpu_kinds < HELIO_SLURM_GRES_MAX) {
            kind = &node->gpus[node->gpu_kinds++];
            kind->type = item.type;
        }
        if (kind) /* kinds beyond the eighth of one node are not offered */
            kind->count = item.count > COUNT_MAX - kind->count ? COUNT_MAX : kind->count + item.count;
    }
    return true;
}

static void add_used(helio_slurm_gres_t *kind, uint32_t count)
{
    kind->used = count > kind->count - kind->used ? kind->count : kind->used + count;
}

/*  Use that cannot be assigned to a type counts against each type: fewer GPUs may be offered than exist, never more. */
static void spread_used(helio_slurm_node_t *node, helio_text_t type, uint32_t count)
{
    helio_slurm_gres_t *kind = kind_of(node, type);
    if (!kind && type.size)
        kind = kind_of(node, (helio_text_t){0});
    if (kind) {
        add_used(kind, count);
        return;
    }
    for (uint32_t i = 0; i < node->gpu_kinds; i++)
        if (helio_slurm_part_of(node->gpus[i].type) == HELIO_SLURM_WHOLE)
            add_used(&node->gpus[i], count);
}

/*  The shares of GPUs that jobs have as a whole. */
static void use_shares(helio_slurm_node_t *node, uint32_t gpus)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < node->gpu_kinds; i++)
        all += helio_slurm_part_of(node->gpus[i].type) == HELIO_SLURM_WHOLE ? node->gpus[i].count : 0;
    for (uint32_t i = 0; i < node->gpu_kinds && all; i++)
        if (helio_slurm_part_of(node->gpus[i].type) == HELIO_SLURM_SHARE) {
            uint64_t used = ((uint64_t)node->gpus[i].count * gpus + all - 1) / all;
            add_used(&node->gpus[i], used < COUNT_MAX ? (uint32_t)used : COUNT_MAX);
            node->gpus[i].whole = used < node->gpus[i].count ? (uint32_t)used : node->gpus[i].count;
        }
}

/*  The number of GPUs of which shares are in use: "IDX:0,2-3" lists them, "2/4,0/4" has one entry for each GPU. Without
 *  either (after a restart of the controller) every share is assumed to lie on a GPU of its own. */
static uint32_t shared_gpus(const gres_item_t *item)
{
    helio_text_t rest = item->more, part, low;
    uint32_t gpus = 0, from, to;
    bool list = helio_slurm_starts(rest, "IDX:");
    if (list)
        rest = helio_slurm_skip(rest, 4);
    for (bool more = rest.size > 0; more;) {
        more = helio_slurm_cut(&rest, ',', &part);
        if (list) {
            bool range = helio_slurm_cut(&part, '-', &low);
            if (!helio_slurm_u32(low, &from) || (range && (!helio_slurm_u32(part, &to) || to < from)))
                return item->count;
            uint32_t run = range ? to - from : 0;
            gpus += run < COUNT_MAX ? run + 1 : COUNT_MAX;
        } else if (helio_slurm_cut(&part, '/', &low) && helio_slurm_u32(low, &from)) {
            gpus += from > 0;
        } else {
            return item->count;
        }
        if (gpus > COUNT_MAX)
            return COUNT_MAX;
    }
    return item->more.size ? gpus : item->count;
}

bool helio_slurm_gres_used(helio_text_t used, helio_slurm_node_t *node)
{
    helio_text_t rest = helio_slurm_or_empty(used);
    uint64_t whole = 0;
    while (rest.size) {
        gres_item_t item;
        if (!split_item(next_item(&rest), &item))
            return false;
        helio_slurm_gres_t *part = is_share(item.name) ? kind_of(node, item.name) : NULL;
        if (!item.counted || !item.count)
            continue;
        if (part) {
            add_used(part, item.count);
        } else if (is_slice(item.type)) {
            part = kind_of(node, item.type);
            if (part)
                add_used(part, item.count);
            continue;
        }
        if (helio_text_is(item.name, "gpu")) {
            spread_used(node, item.type, item.count);
            whole += item.count;
        } else if (is_share(item.name)) {
            spread_used(node, item.type, shared_gpus(&item));
        }
    }
    use_shares(node, whole < COUNT_MAX ? (uint32_t)whole : COUNT_MAX);
    return true;
}

/* ---- requests of jobs -------------------------------------------------------------------------------------- */

/*  *ret_name: "gpu", "shard" or "mps"; *ret_rest: what follows. */
static bool is_gpu(helio_text_t item, helio_text_t *ret_name, helio_text_t *ret_rest)
{
    static const char *const names[] = {"gpu", "shard", "mps"};
    if (helio_slurm_starts(item, "gres:") || helio_slurm_starts(item, "gres/"))
        item = helio_slurm_skip(item, 5);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint32_t size = (uint32_t)strlen(names[i]);
        if (!helio_slurm_starts(item, names[i]) ||
            (item.size > size && item.data[size] != ':' && item.data[size] != '='))
            continue;
        *ret_name = (helio_text_t){item.data, size};
        *ret_rest = helio_slurm_skip(item, size + 1);
        return true;
    }
    return false;
}

/*  The count of what follows the name, and its type: "h100:2", "2", "h100", "". */
static uint32_t count_of(helio_text_t item, helio_text_t *ret_type)
{
    uint32_t count = 1;
    *ret_type = (helio_text_t){0};
    if (!item.size || read_count(item, &count))
        return count;
    uint32_t end = item.size;
    while (end && item.data[end - 1] != ':' && item.data[end - 1] != '=')
        end--;
    helio_text_t last = helio_slurm_skip(item, end);
    *ret_type = end && read_count(last, &count) ? (helio_text_t){item.data, end - 1} : item;
    return count;
}

static void add_asked(helio_slurm_ask_t *ask, helio_text_t type, uint32_t count, bool *several)
{
    *several = *several || (ask->gpus && !helio_text_equal(ask->type, type));
    ask->type = type;
    ask->gpus = count > COUNT_MAX - ask->gpus ? COUNT_MAX : ask->gpus + count;
}

helio_slurm_ask_t helio_slurm_gpus_asked(helio_text_t tres)
{
    helio_slurm_ask_t whole = {0}, parts = {0};
    helio_text_t rest = tres, item, name, type;
    bool several = false, several_parts = false;
    for (bool more = rest.size > 0; more;) {
        more = helio_slurm_cut(&rest, ',', &item);
        if (!is_gpu(item, &name, &item))
            continue;
        uint32_t count = count_of(item, &type);
        if (is_share(name))
            type = name;
        if (helio_slurm_part_of(type) == HELIO_SLURM_WHOLE)
            add_asked(&whole, type, count, &several);
        else
            add_asked(&parts, type, count, &several_parts);
    }
    if (several)
        whole.type = (helio_text_t){0};
    whole.parts = parts.gpus > 0;
    if (whole.gpus || several_parts) /* parts of several kinds, or beside GPUs, are not followed */
        return whole;
    parts.parts = whole.parts;
    return parts;
}

uint32_t helio_slurm_tres_count(helio_text_t tres, const char *name)
{
    helio_text_t rest = tres, item, key;
    for (bool more = rest.size > 0; more;) {
        uint32_t count;
        more = helio_slurm_cut(&rest, ',', &item);
        if (helio_slurm_cut(&item, '=', &key) && helio_text_is(key, name) && read_count(item, &count))
            return count;
    }
    return 0;
}
