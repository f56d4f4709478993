/*  decode.h -- a row of a binary result as a record, column by column in field order. A KEY is two columns.
 *
 *  Details (federation/reason) are one column: their JSON as text, "" for none. Texts and bytes are views into the
 *  result; lists and details are copied into the arena. Where the result does not fit the record (number of columns,
 *  width, null), the result is HELIO_INVALID with the name of the query: query and record have drifted apart. */
#ifndef HELIO_BROKER_STORE_DECODE_H
#define HELIO_BROKER_STORE_DECODE_H

#include "broker/store/session.h"
#include "federation/base/record.h"

/*  Decodes row `row` of a result into *ret_record. query: the name of the query, for the error. */
HELIO_MUST_CHECK helio_rc helio_decode_row(const PGresult *result, int row, const helio_record_type_t *type,
                                           const char *query, helio_arena_t *arena, void *ret_record,
                                           helio_error_t *err);

/*  Streams a named query and calls `visit` once for each row. The record is borrowed for that call. parameter: the
 *  value of $1, NULL if the query has no parameter. If a visit fails, the stream ends with its error. The connection
 *  must be idle, blocking, and not in pipeline mode. */
typedef helio_rc helio_decode_visit_fn(void *arg, const void *record, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_decode_each(PGconn *connection, const char *query, const char *parameter,
                                            const helio_record_type_t *type, helio_decode_visit_fn *visit, void *arg,
                                            helio_error_t *err);

#endif
