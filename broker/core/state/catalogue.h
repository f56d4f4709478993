/*  catalogue.h -- which sites hold data, and the links between sites. */
#ifndef HELIO_BROKER_CORE_STATE_CATALOGUE_H
#define HELIO_BROKER_CORE_STATE_CATALOGUE_H

#include <uthash.h>

#include "broker/core/state/nouns.h"
#include "broker/model/rows_policy.h"
#include "federation/base/memory.h"
#include "federation/model/job.h"
#include "federation/policy/transfer.h"

struct dataset {
    char *prefix;
    char tenant[33]; /* the tenant whose jobs can use it; "" = all tenants */
    char (*sites)[33];
    uint32_t site_count;
    UT_hash_handle hh;
};

typedef struct link_key {
    char from[33], to[33];
} link_key_t;

struct link_entry {
    link_key_t key;
    helio_link_t link;
    UT_hash_handle hh;
};

catalogue_t *core_catalogue_new(void);
void core_catalogue_destroy(catalogue_t **self_p);

dataset_t *core_dataset_find(const helio_broker_core_t *self, helio_text_t prefix); /* of exactly this prefix */
uint32_t core_dataset_count(const helio_broker_core_t *self);
uint32_t core_link_count(const helio_broker_core_t *self);
void core_link_drop(helio_broker_core_t *self, link_entry_t *entry);
void core_data_load(helio_broker_core_t *self, const helio_row_data_t *row);
void core_link_load(helio_broker_core_t *self, const helio_row_link_t *row);
/*  The longest prefix of the URI that a job of the tenant can use. NULL = not in the catalogue. */
dataset_t *core_dataset_of(const helio_broker_core_t *self, helio_text_t uri, helio_text_t tenant);
/*  Whether the site holds the data. */
bool core_dataset_lies_at(const dataset_t *dataset, const char *site);
/*  The most specific link: the pair, from `from` to any, from any to `to`, any to any. NULL = none. */
const helio_link_t *core_link_of(const helio_broker_core_t *self, const char *from, const char *to);
/*  The link of exactly this pair; NULL = none. */
link_entry_t *core_link_at(const helio_broker_core_t *self, helio_text_t from, helio_text_t to);
/*  Replaces the sites of the prefix; no sites: removes it and returns NULL. */
dataset_t *core_dataset_keep(helio_broker_core_t *self, helio_text_t prefix, helio_text_t tenant,
                             const helio_string_t *sites, uint32_t count);
/*  Created when new. */
link_entry_t *core_link_get(helio_broker_core_t *self, helio_text_t from, helio_text_t to);

#endif
