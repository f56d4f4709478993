/*  transfers.h -- what the transfer of a job's data to a pool costs. */
#ifndef HELIO_BROKER_CORE_FORECAST_TRANSFERS_H
#define HELIO_BROKER_CORE_FORECAST_TRANSFERS_H

#include "broker/core/state/nouns.h"
#include "broker/model/rows_job.h"
#include "federation/energy/account.h"
#include "federation/policy/requirement.h"
#include "federation/policy/transfer.h"
#include "federation/reason/detail.h"

void core_transfer_load(helio_broker_core_t *self, const helio_row_transfer_t *row); /* after the states */
/*  Of all its data to the pool, at the intensities of that hour (Unix ms). *ret_no_link: some data cannot reach the
 *  site. */
helio_transfer_t core_transfer(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                               const pool_t *pool, int64_t at_ms, bool *ret_no_link);
/*  What is transferred from where, and what is not in the catalogue. */
helio_details_t core_transfer_details(helio_broker_core_t *self, const helio_requirement_t *want, const site_t *site,
                                      const pool_t *pool);
/*  Adds the money, energy and carbon of a transfer to an account. */
void core_transfer_charge(helio_account_t *account, const helio_transfer_t *transfer);

#endif
