/*  columns.h -- the parameters of a statement: rows as columns, one PostgreSQL binary array for each.
 *
 *  Field i of the record is one array, as schema/queries/put.sql expects it. A KEY is two arrays (uuid[], int4[]).
 *  Details (federation/reason) are two texts: the sentences, and their JSON for a column of jsonb. One owner and one
 *  thread.
 *
 *  Texts come from outside. What PostgreSQL would refuse (NUL, bytes that are not UTF-8) is replaced here, so that a
 *  hostile text loses its own characters and not the whole batch. */
#ifndef HELIO_BROKER_STORE_COLUMNS_H
#define HELIO_BROKER_STORE_COLUMNS_H

#include "federation/base/record.h"

enum {
    HELIO_COLUMNS_MAX = 32,
    HELIO_COLUMNS_ROWS_MAX = 20000,   /* of one statement: further rows go into a second one */
    HELIO_COLUMNS_BYTES_MAX = 8 << 20 /* of one statement, too; only a single row can exceed it */
};

/*  How an empty text or list is sent: as an empty value, which the statement turns into null where its column wants
 *  one; or as null. Null spares the database one comparison for each row, in statements where every empty text means
 *  null. */
typedef enum helio_columns_empty { HELIO_COLUMNS_EMPTY_IS_TEXT, HELIO_COLUMNS_EMPTY_IS_NULL } helio_columns_empty_t;

typedef struct helio_columns helio_columns_t;

/*  type: static. See helio_columns_empty_t for `empty`. */
helio_columns_t *helio_columns_new(const helio_record_type_t *type, helio_columns_empty_t empty);
/*  One more column, the last one: the text of the record's first field, which is a UUID. Before the first row. */
void helio_columns_add_id_text(helio_columns_t *self);
void helio_columns_destroy(helio_columns_t **self_p);
void helio_columns_reset(helio_columns_t *self); /* removes the rows, keeps the memory */

void helio_columns_append(helio_columns_t *self, const void *record); /* copies */
bool helio_columns_full(const helio_columns_t *self);
uint32_t helio_columns_rows(const helio_columns_t *self);
size_t helio_columns_bytes(const helio_columns_t *self); /* of the parameters, with their headers */

/*  The parameters, in ret_values and ret_lengths; they are valid until the next append or reset. Returns their
 *  number. */
int helio_columns_params(helio_columns_t *self, const char *ret_values[HELIO_COLUMNS_MAX],
                         int ret_lengths[HELIO_COLUMNS_MAX]);

#endif
