/*  data.h -- where data lies, and what bringing it costs (data.c). */
#ifndef HELIO_BROKER_CORE_DATA_H
#define HELIO_BROKER_CORE_DATA_H

#include "broker/core/nouns.h"
#include "federation/energy/account.h"

void core_on_data(helio_broker_core_t *self, const helio_ev_data_t *event);
void core_on_link(helio_broker_core_t *self, const helio_ev_link_t *event);
void core_data_load(helio_broker_core_t *self, const helio_row_data_t *row);
void core_link_load(helio_broker_core_t *self, const helio_row_link_t *row);
void core_transfer_load(helio_broker_core_t *self, const helio_row_transfer_t *row); /* after the states */
void core_data_free(helio_broker_core_t *self);
/*  Of all its data to the pool, at the intensities of that hour. */
helio_transfer_t core_transfer(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                               const pool_t *pool, int64_t at_ms, bool *ret_no_link);
/*  "brings 2 TB from oregon in 53 min; s3://x: not in the catalogue"; "" = there is nothing to say. */
const char *core_transfer_text(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                               const pool_t *pool);
void core_transfer_charge(helio_account_t *account, const helio_transfer_t *transfer);

#endif
