/*  columns.h -- rows turned by ninety degrees: one PostgreSQL binary array a column, ready to be a
 * statement's parameters.
 *
 *  Field i of the record is one array, as schema/queries/put.sql wants them; a KEY is two (uuid[], int4[]), and details
 *  (federation/reason) are two texts: their sentences, and their JSON for a column of jsonb.
 * One owner. Texts come from outside: what PostgreSQL would refuse (a NUL, bytes that are not UTF-8) is
 * replaced here, so that a hostile text costs its own letters and not the batch.
 */
#ifndef HELIO_BROKER_STORE_COLUMNS_H
#define HELIO_BROKER_STORE_COLUMNS_H

#include "federation/base/record.h"

enum {
    HELIO_COLUMNS_MAX = 32,
    HELIO_COLUMNS_ROWS_MAX = 20000,   /* of one statement: more go into a second one */
    HELIO_COLUMNS_BYTES_MAX = 8 << 20 /* the same; a single row may stand above it */
};

/*  How an empty text or list travels: as it is, for the statement to make a null of where its column wants
 * one, or as the null that it stands for. The second spares the database a comparison per row, for statements
 * all of whose empty texts mean null. */
typedef enum helio_columns_empty {
    HELIO_COLUMNS_EMPTY_IS_TEXT,
    HELIO_COLUMNS_EMPTY_IS_NULL
} helio_columns_empty_t;

typedef struct helio_columns helio_columns_t;

helio_columns_t *helio_columns_new(const helio_record_type_t *type, helio_columns_empty_t empty);
void helio_columns_destroy(helio_columns_t **self_p);
void helio_columns_reset(helio_columns_t *self); /* empties, keeps the memory */

void helio_columns_append(helio_columns_t *self, const void *record); /* copies */
bool helio_columns_full(const helio_columns_t *self);
uint32_t helio_columns_rows(const helio_columns_t *self);

/*  The parameters; valid until the next append or reset. values: HELIO_COLUMNS_MAX places. Returns how many.
 */
int helio_columns_params(helio_columns_t *self, const char *ret_values[HELIO_COLUMNS_MAX],
                         int ret_lengths[HELIO_COLUMNS_MAX]);

#endif
