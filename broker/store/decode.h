/*  decode.h -- a row of a binary result as a record: column by column in field order, a KEY is two columns.
 *
 *  Details (federation/reason) are one column: their JSON as text, "" for none. Texts and bytes are views into the
 *  result; lists and details are copied into the arena. Whatever does not fit (number
 * of columns, a width, a null) is HELIO_INVALID and names the query: query and record have drifted apart.
 */
#ifndef HELIO_BROKER_STORE_DECODE_H
#define HELIO_BROKER_STORE_DECODE_H

#include "broker/store/session.h"
#include "federation/base/record.h"

HELIO_MUST_CHECK helio_rc helio_decode_row(const PGresult *result, int row, const helio_record_type_t *type,
                                           const char *query, helio_arena_t *arena, void *ret_record,
                                           helio_error_t *err);

/*  Streams a named query without parameters: one call of `visit` a row; what it gets is borrowed for the
 * call. A visit that fails ends the stream. The connection must be idle, blocking, and not in pipeline mode.
 */
typedef helio_rc helio_decode_visit_fn(void *arg, const void *record, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_decode_each(PGconn *connection, const char *query,
                                            const helio_record_type_t *type, helio_decode_visit_fn *visit,
                                            void *arg, helio_error_t *err);

#endif
