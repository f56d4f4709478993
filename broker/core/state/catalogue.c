/*  catalogue.c -- which sites hold data, and the links between sites. */
#include "broker/core/state/catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "broker/core/state/core.h"
#include "federation/base/char.h"

struct catalogue {
    dataset_t *datasets;                         /* by prefix */
    uint32_t of_size[HELIO_DATA_PREFIX_MAX + 1]; /* number of prefixes of this many bytes */
    uint32_t longest;                            /* of all prefixes since the start */
    link_entry_t *links;
};

catalogue_t *core_catalogue_new(void)
{
    return helio_new(1, sizeof(catalogue_t));
}

void core_catalogue_destroy(catalogue_t **self_p)
{
    catalogue_t *self = *self_p;
    dataset_t *dataset, *next;
    HASH_ITER(hh, self->datasets, dataset, next)
    {
        HASH_DEL(self->datasets, dataset);
        free(dataset->prefix);
        free(dataset->sites);
        free(dataset);
    }
    link_entry_t *entry, *next_entry;
    HASH_ITER(hh, self->links, entry, next_entry)
    {
        HASH_DEL(self->links, entry);
        free(entry);
    }
    free(self);
    *self_p = NULL;
}

dataset_t *core_dataset_find(const helio_broker_core_t *self, helio_text_t prefix)
{
    dataset_t *dataset;
    HASH_FIND(hh, self->catalogue->datasets, prefix.data, prefix.size, dataset);
    return dataset;
}

uint32_t core_dataset_count(const helio_broker_core_t *self)
{
    return HASH_COUNT(self->catalogue->datasets);
}

uint32_t core_link_count(const helio_broker_core_t *self)
{
    return HASH_COUNT(self->catalogue->links);
}

void core_link_drop(helio_broker_core_t *self, link_entry_t *entry)
{
    HASH_DEL(self->catalogue->links, entry);
    free(entry);
}

/* ---- looking up ------------------------------------------------------------------------------------------ */

/*  Users choose the URIs, up to hundreds of them with hundreds of slashes each. So the table is searched only where a
 *  prefix of the catalogue can end. */
dataset_t *core_dataset_of(const helio_broker_core_t *self, helio_text_t uri, helio_text_t tenant)
{
    dataset_t *dataset = NULL;
    uint32_t size = (uri.size < self->catalogue->longest ? uri.size : self->catalogue->longest) + 1;
    while (self->catalogue->datasets && !dataset && helio_prefix_next(uri, &size))
        if (self->catalogue->of_size[size]) {
            HASH_FIND(hh, self->catalogue->datasets, uri.data, size, dataset);
            if (dataset && dataset->tenant[0] && !helio_text_is(tenant, dataset->tenant))
                dataset = NULL; /* and the tenant does not learn that it exists */
        }
    return dataset;
}

bool core_dataset_lies_at(const dataset_t *dataset, const char *site)
{
    for (uint32_t i = 0; i < dataset->site_count; i++)
        if (strcmp(dataset->sites[i], site) == 0)
            return true;
    return false;
}

link_entry_t *core_link_at(const helio_broker_core_t *self, helio_text_t from, helio_text_t to)
{
    link_key_t key;
    memset(&key, 0, sizeof key);
    (void)helio_text_copy(from, key.from, sizeof key.from);
    (void)helio_text_copy(to, key.to, sizeof key.to);
    link_entry_t *entry;
    HASH_FIND(hh, self->catalogue->links, &key, sizeof key, entry);
    return entry;
}

/*  The most specific link: the pair, from `from` to any, from any to `to`, any to any. */
const helio_link_t *core_link_of(const helio_broker_core_t *self, const char *from, const char *to)
{
    helio_text_t any = HELIO_TEXT("*"), a = helio_text_of(from), b = helio_text_of(to);
    const helio_text_t ways[][2] = {{a, b}, {a, any}, {any, b}, {any, any}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const link_entry_t *entry = core_link_at(self, ways[i][0], ways[i][1]);
        if (entry)
            return &entry->link;
    }
    return NULL;
}

static void drop_dataset(helio_broker_core_t *self, dataset_t *dataset)
{
    HASH_DEL(self->catalogue->datasets, dataset);
    self->catalogue->of_size[strlen(dataset->prefix)]--;
    free(dataset->prefix);
    free(dataset->sites);
    free(dataset);
}

/*  Replaces the sites of the prefix. The names are checked already; a repeated one counts once. */
dataset_t *core_dataset_keep(helio_broker_core_t *self, helio_text_t prefix, helio_text_t tenant,
                             const helio_string_t *sites, uint32_t count)
{
    dataset_t *dataset = core_dataset_find(self, prefix);
    if (dataset)
        drop_dataset(self, dataset);
    if (!count)
        return NULL;
    dataset = helio_new(1, sizeof *dataset);
    dataset->prefix = helio_new(prefix.size + 1, 1);
    memcpy(dataset->prefix, prefix.data, prefix.size);
    (void)helio_text_copy(tenant, dataset->tenant, sizeof dataset->tenant);
    dataset->sites = helio_new(count, sizeof *dataset->sites);
    for (uint32_t i = 0; i < count; i++) {
        char name[33];
        (void)helio_text_copy(sites[i].text, name, sizeof name);
        if (!core_dataset_lies_at(dataset, name))
            memcpy(dataset->sites[dataset->site_count++], name, sizeof name);
    }
    HASH_ADD_KEYPTR(hh, self->catalogue->datasets, dataset->prefix, prefix.size, dataset);
    self->catalogue->of_size[prefix.size]++;
    self->catalogue->longest = prefix.size > self->catalogue->longest ? prefix.size : self->catalogue->longest;
    return dataset;
}

link_entry_t *core_link_get(helio_broker_core_t *self, helio_text_t from, helio_text_t to)
{
    link_entry_t *entry = core_link_at(self, from, to);
    if (entry)
        return entry;
    entry = helio_new(1, sizeof *entry);
    (void)helio_text_copy(from, entry->key.from, sizeof entry->key.from);
    (void)helio_text_copy(to, entry->key.to, sizeof entry->key.to);
    HASH_ADD(hh, self->catalogue->links, key, sizeof entry->key, entry);
    return entry;
}

/* ---- a new leader ---------------------------------------------------------------------------------------- */

void core_data_load(helio_broker_core_t *self, const helio_row_data_t *row)
{
    helio_string_t sites[HELIO_DATA_SITES_MAX];
    uint32_t count = 0, from = 0;
    for (uint32_t i = 0; i <= row->sites.size && count < HELIO_DATA_SITES_MAX; i++) {
        if (i < row->sites.size && row->sites.data[i] != ' ')
            continue;
        if (i > from)
            sites[count++].text = (helio_text_t){row->sites.data + from, i - from};
        from = i + 1;
    }
    if (row->prefix.size <= HELIO_DATA_PREFIX_MAX)
        (void)core_dataset_keep(self, row->prefix, row->tenant, sites, count);
}

void core_link_load(helio_broker_core_t *self, const helio_row_link_t *row)
{
    core_link_get(self, row->from, row->to)->link =
        (helio_link_t){row->mbps, row->egress_micro_usd_per_gb, row->rtt_ms};
}
