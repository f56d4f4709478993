/*  rows.h -- what the broker makes durable, and what it rebuilds itself from. One record = one kind of row.
 *
 *  The store writes a ROW effect through the named query "put_<name>" (schema/queries/put.sql): field i is array
 *  parameter $i (a KEY is two: job, task), unnested; it reads "load_<name>" back, column by column in field order.
 *  Conventions: times are Unix ms (0 = null), text "" = null, enums are their stored value.
 */
#ifndef HELIO_BROKER_MODEL_ROWS_H
#define HELIO_BROKER_MODEL_ROWS_H

#include "broker/model/rows_account.h"
#include "broker/model/rows_decision.h"
#include "broker/model/rows_job.h"
#include "broker/model/rows_policy.h"
#include "broker/model/rows_site.h"

/*  Read at takeover only. */
#define HELIO_ROW_FEDERATION_FIELDS(F, R)                                                                    \
    F(R, U64, incarnation, 0, _)                                                                             \
    F(R, U64, broker_epoch, 0, _)                                                                            \
    F(R, U64, last_transition_seq, 0, _)                                                                     \
    F(R, U64, last_decision_id, 0, _)                                                                        \
    F(R, U64, seed, 0, _)                                                                                    \
    F(R, UUID, newest_job, 0, _) /* the largest id there is; all zero when there is no job */                \
    F(R, U64, leases_left_ms, 0, _) /* for so long leases of former leaders may run yet, by their own length */ \
    F(R, I64, restored_ms, 0, _) /* when it was found to be another copy than a leader before wrote: it may know less \
                                    than sites that were not seen since. 0: not in the last day */
HELIO_RECORD_DECLARE(helio_row_federation, HELIO_ROW_FEDERATION_FIELDS)

#define HELIO_ROW_AUDIT_FIELDS(F, R)                                                                         \
    F(R, I64, at_ms, 0, _)                                                                                   \
    F(R, TEXT, actor, 96, _)                                                                                 \
    F(R, TEXT, action, 32, _)                                                                                \
    F(R, TEXT, object, 96, _)                                                                                \
    F(R, TEXT, detail, 512, _)
HELIO_RECORD_DECLARE(helio_row_audit, HELIO_ROW_AUDIT_FIELDS)

/*  Tokens, site keys: public part and hash only. revoked_ms 0 = in force. */
#define HELIO_ROW_TOKEN_FIELDS(F, R)                                                                         \
    F(R, TEXT, token_id, 32, _)                                                                              \
    F(R, BYTES, hash, 32, _) /* SHA-256 of the secret part */                                                \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, TEXT, role, 16, _) /* user | operator | admin */                                                    \
    F(R, I64, created_ms, 0, _)                                                                              \
    F(R, I64, expires_ms, 0, _)                                                                              \
    F(R, I64, revoked_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_token, HELIO_ROW_TOKEN_FIELDS)

/*  A user of a tenant. Upserted; disabled: none of its tokens opens anything until it is enabled again.
 * UNIQUE (tenant, user). */
#define HELIO_ROW_PRINCIPAL_FIELDS(F, R)                                                                     \
    F(R, TEXT, tenant, 32, _)                                                                                \
    F(R, TEXT, user, 64, _)                                                                                  \
    F(R, I64, disabled_ms, 0, _) /* 0 = enabled */
HELIO_RECORD_DECLARE(helio_row_principal, HELIO_ROW_PRINCIPAL_FIELDS)

#define HELIO_ROW_SITE_KEY_FIELDS(F, R)                                                                      \
    F(R, TEXT, public_key, 40, _) /* Z85 */                                                                  \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _)                                                                 \
    F(R, I64, created_ms, 0, _)                                                                              \
    F(R, I64, revoked_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_site_key, HELIO_ROW_SITE_KEY_FIELDS)

#endif
