/*  rows.h -- what the broker makes durable, and from what it rebuilds its state. Each kind of row is one record.
 *
 *  The store writes a ROW effect through the named query "put_<name>" (schema/queries/put.sql): field i is array
 *  parameter $i, unnested (a KEY is two parameters: job, task). It reads rows back through "load_<name>", column by
 *  column in field order.
 *
 *  Conventions: times are Unix ms (0 = null), durations are ms, energy is J, carbon is mg, money is micro-dollars; text
 *  "" = null; an enumeration is its stored value. "Upserted" rows replace the row of the same UNIQUE key. */
#ifndef HELIO_BROKER_MODEL_ROWS_H
#define HELIO_BROKER_MODEL_ROWS_H

#include "broker/model/rows_account.h"
#include "broker/model/rows_decision.h"
#include "broker/model/rows_job.h"
#include "broker/model/rows_policy.h"
#include "broker/model/rows_site.h"

/*  Where sums of what sites report end, and minus this: many are added up, and must fit a bigint. As helio.bounded() has
 *  it. */
#define HELIO_ROW_SUM_MAX INT64_C(9000000000000000000)

/*  Read at takeover only. */
#define HELIO_ROW_FEDERATION_FIELDS(F, R)                                                                              \
    F(R, U64, incarnation, 0, _)                                                                                       \
    F(R, U64, broker_epoch, 0, _)                                                                                      \
    F(R, U64, last_transition_seq, 0, _)                                                                               \
    F(R, U64, last_decision_id, 0, _)                                                                                  \
    F(R, U64, seed, 0, _)                                                                                              \
    F(R, UUID, newest_job, 0, _)    /* the largest job id; all zero without any job */                                 \
    F(R, U64, leases_left_ms, 0, _) /* how much longer leases that former leaders granted can last */                  \
    F(R, I64, restored_ms, 0, _)    /* when a leader found the database to be another copy than before: sites may know
                                     * of attempts that it lacks; 0: not in the last day */ \
    F(R, UUID, restored_job, 0, _)  /* the newest job of that copy; all zero: there was no restore */
HELIO_RECORD_DECLARE(helio_row_federation, HELIO_ROW_FEDERATION_FIELDS)

#define HELIO_ROW_AUDIT_FIELDS(F, R)       \
    F(R, I64, at_ms, 0, _)                 \
    F(R, TEXT, actor, HELIO_ACTOR_MAX, _)  \
    F(R, TEXT, action, 32, _)              \
    F(R, TEXT, object, HELIO_ACTOR_MAX, _) \
    F(R, TEXT, detail, 512, _)
HELIO_RECORD_DECLARE(helio_row_audit, HELIO_ROW_AUDIT_FIELDS)

/*  Tokens and site keys: only the public part and the hash. revoked_ms 0 = in force. */
#define HELIO_ROW_TOKEN_FIELDS(F, R)                          \
    F(R, TEXT, token_id, 32, _)                               \
    F(R, BYTES, hash, 32, _) /* SHA-256 of the secret part */ \
    F(R, TEXT, tenant, 32, _)                                 \
    F(R, TEXT, user, 64, _)                                   \
    F(R, TEXT, role, 16, _) /* user | operator | admin */     \
    F(R, I64, created_ms, 0, _)                               \
    F(R, I64, expires_ms, 0, _)                               \
    F(R, I64, revoked_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_token, HELIO_ROW_TOKEN_FIELDS)

/*  A user of a tenant. Upserted. While it is disabled, the broker accepts none of its tokens. UNIQUE (tenant, user). */
#define HELIO_ROW_PRINCIPAL_FIELDS(F, R) \
    F(R, TEXT, tenant, 32, _)            \
    F(R, TEXT, user, 64, _)              \
    F(R, I64, disabled_ms, 0, _) /* 0 = enabled */
HELIO_RECORD_DECLARE(helio_row_principal, HELIO_ROW_PRINCIPAL_FIELDS)

#define HELIO_ROW_SITE_KEY_FIELDS(F, R)      \
    F(R, TEXT, public_key, 40, _) /* Z85 */  \
    F(R, TEXT, site, HELIO_SITE_NAME_MAX, _) \
    F(R, I64, created_ms, 0, _)              \
    F(R, I64, revoked_ms, 0, _)
HELIO_RECORD_DECLARE(helio_row_site_key, HELIO_ROW_SITE_KEY_FIELDS)

#endif
