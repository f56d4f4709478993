/*  batch.h -- the rows of one transaction, gathered by kind. One owner and one thread; copies what it is given.
 *
 *  The statements come in the fixed order of the effect table, each within the limits of columns.h. STATE rows of one
 *  key collapse to the last: PostgreSQL refuses a key twice in one upsert, and a hot row is written once. */
#ifndef HELIO_BROKER_STORE_BATCH_H
#define HELIO_BROKER_STORE_BATCH_H

#include "broker/model/effects.h"
#include "broker/store/columns.h"

/*  The number of ROW kinds, which come first in the effect table. */
enum { HELIO_BATCH_KINDS = HELIO_BROKER_FX_REPLY };

typedef struct helio_batch helio_batch_t;

helio_batch_t *helio_batch_new(void);
void helio_batch_destroy(helio_batch_t **self_p);
/*  Removes all rows, and keeps some of the memory. */
void helio_batch_reset(helio_batch_t *self);

void helio_batch_append(helio_batch_t *self, const helio_effect_t *effect); /* only an effect of a ROW kind */
uint32_t helio_batch_rows(const helio_batch_t *self);
size_t helio_batch_bytes(const helio_batch_t *self); /* of its rows, and of older versions of STATE rows */

/*  After this call no more rows can be appended, and the statements are final. Calling it again has no effect. */
void helio_batch_finish(helio_batch_t *self);
/*  Walks the statements of a finished batch, index 0 up; NULL after the last. *ret_kind: the ROW kind, and so the put.
 *  The batch keeps the ownership of the columns. */
helio_columns_t *helio_batch_statement(const helio_batch_t *self, uint32_t index, uint32_t *ret_kind);

/*  "put_job" for ROW_JOB: the name of the block in schema/queries/put.sql. Static. */
const char *helio_batch_put_name(uint32_t kind);

#endif
