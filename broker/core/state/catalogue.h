/*  catalogue.h -- where data lies, and the links between sites. */
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
    char tenant[33]; /* whose jobs find it there; "" = everybody's */
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

dataset_t *core_dataset_find(const helio_broker_core_t *self, helio_text_t prefix); /* of exactly that prefix */
uint32_t core_dataset_count(const helio_broker_core_t *self);
uint32_t core_link_count(const helio_broker_core_t *self);
void core_link_drop(helio_broker_core_t *self, link_entry_t *entry);
void core_data_load(helio_broker_core_t *self, const helio_row_data_t *row);
void core_link_load(helio_broker_core_t *self, const helio_row_link_t *row);
/*  For a job of the tenant. NULL = not in the catalogue. */
dataset_t *core_dataset_of(const helio_broker_core_t *self, helio_text_t uri, helio_text_t tenant);
bool core_dataset_lies_at(const dataset_t *dataset, const char *site);
/*  The most specific one: the pair, what leaves `from`, what comes to `to`, any; NULL = none. */
const helio_link_t *core_link_of(const helio_broker_core_t *self, const char *from, const char *to);
/*  Of exactly that pair; NULL = none. */
link_entry_t *core_link_at(const helio_broker_core_t *self, helio_text_t from, helio_text_t to);
/*  In place of what was said of the prefix before; no sites: drops it. */
dataset_t *core_dataset_keep(helio_broker_core_t *self, helio_text_t prefix, helio_text_t tenant,
                             const helio_string_t *sites, uint32_t count);
/*  Made when new. */
link_entry_t *core_link_get(helio_broker_core_t *self, helio_text_t from, helio_text_t to);

#endif
