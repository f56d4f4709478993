/*  data.h -- where data lies (catalogue.c), and what bringing it costs (data.c). */
#ifndef HELIO_BROKER_CORE_DATA_H
#define HELIO_BROKER_CORE_DATA_H

#include <uthash.h>

#include "broker/core/nouns.h"
#include "federation/energy/account.h"

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

/* catalogue.c */
void core_on_data(helio_broker_core_t *self, const helio_ev_data_t *event);
void core_on_link(helio_broker_core_t *self, const helio_ev_link_t *event);
void core_data_load(helio_broker_core_t *self, const helio_row_data_t *row);
void core_link_load(helio_broker_core_t *self, const helio_row_link_t *row);
void core_data_free(helio_broker_core_t *self);
/*  For a job of the tenant. NULL = not in the catalogue. */
dataset_t *core_dataset_of(const helio_broker_core_t *self, helio_text_t uri, helio_text_t tenant);
bool core_dataset_lies_at(const dataset_t *dataset, const char *site);
/*  The most specific one: the pair, what leaves `from`, what comes to `to`, any; NULL = none. */
const helio_link_t *core_link_of(const helio_broker_core_t *self, const char *from, const char *to);

/* data.c */
void core_transfer_load(helio_broker_core_t *self, const helio_row_transfer_t *row); /* after the states */
/*  Of all its data to the pool, at the intensities of that hour. */
helio_transfer_t core_transfer(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                               const pool_t *pool, int64_t at_ms, bool *ret_no_link);
/*  "brings 2 TB from oregon in 53 min; s3://x: not in the catalogue"; "" = there is nothing to say. */
const char *core_transfer_text(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                               const pool_t *pool);
void core_transfer_charge(helio_account_t *account, const helio_transfer_t *transfer);

#endif
