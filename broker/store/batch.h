/*  batch.h -- the rows of one transaction, gathered by kind. One owner; copies what it is given.
 *
 *  Statements come out in a fixed order (the order of the effect table), each at most as large as columns.h
 * says. STATE rows of one key collapse to the last: PostgreSQL would refuse a key twice in one upsert, and a
 * hot row is written once.
 */
#ifndef HELIO_BROKER_STORE_BATCH_H
#define HELIO_BROKER_STORE_BATCH_H

#include "broker/model/effects.h"
#include "broker/store/columns.h"

/*  ROW kinds come first in the effect table. */
enum { HELIO_BATCH_KINDS = HELIO_BROKER_FX_REPLY }; /* the kinds of rows are the first */

typedef struct helio_batch helio_batch_t;

helio_batch_t *helio_batch_new(void);
void helio_batch_destroy(helio_batch_t **self_p);
void helio_batch_reset(helio_batch_t *self);

void helio_batch_append(helio_batch_t *self, const helio_effect_t *effect); /* a ROW */
uint32_t helio_batch_rows(const helio_batch_t *self);

/*  No more rows from here on: the statements are final. May be called again. */
void helio_batch_finish(helio_batch_t *self);
/*  Walks the statements of a finished batch; NULL after the last. ret_kind: which put. */
helio_columns_t *helio_batch_statement(const helio_batch_t *self, uint32_t index, uint32_t *ret_kind);

/*  "put_job" for ROW_JOB: the name of the block in schema/queries/put.sql. */
const char *helio_batch_put_name(uint32_t kind);

#endif
