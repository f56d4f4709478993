/*  bootstrap.c -- what an operator writes straight into the database, without a broker. Each call is one transaction
 *  with one row of the audit. */
#include "broker/store/batch.h"

#include <string.h>

#include "broker/store/session.h"
#include "broker/store/store.h"
#include "federation/base/clock.h"

static helio_rc put_rows(PGconn *connection, uint32_t kind, const void *record, helio_error_t *err)
{
    const char *values[HELIO_COLUMNS_MAX];
    int lengths[HELIO_COLUMNS_MAX];
    int formats[HELIO_COLUMNS_MAX];
    for (int i = 0; i < HELIO_COLUMNS_MAX; i++)
        formats[i] = 1;
    const char *name = helio_batch_put_name(kind);
    HELIO_AUTO(helio_columns_destroy)
    helio_columns_t *columns = helio_columns_new(helio_broker_effects[kind].type, HELIO_COLUMNS_EMPTY_IS_TEXT);
    helio_columns_append(columns, record);
    int count = helio_columns_params(columns, values, lengths);
    HELIO_AUTO(helio_session_clear_result)
    PGresult *result = PQexecParams(connection, helio_sql_query(name), count, NULL, values, lengths, formats, 0);
    return helio_session_check(connection, result, name, err);
}

static PGconn *begin(const char *conninfo, helio_rc *ret_rc, helio_error_t *err)
{
    PGconn *connection = helio_session_connect(conninfo, "helio-broker", NULL, err);
    *ret_rc = connection ? helio_session_verify(connection, err) : HELIO_UNAVAILABLE;
    if (*ret_rc == HELIO_OK)
        *ret_rc = helio_session_run(connection, "begin", "begin", err);
    return connection;
}

/*  For rows that a running broker also writes: waits for its batch, and lets the next one wait. */
static PGconn *begin_rows(const char *conninfo, helio_rc *ret_rc, helio_error_t *err)
{
    PGconn *connection = begin(conninfo, ret_rc, err);
    if (*ret_rc == HELIO_OK)
        *ret_rc = helio_session_query(connection, "session_take_turn", 0, NULL, NULL, err);
    return connection;
}

static helio_rc end(PGconn *connection, const char *action, helio_text_t object, helio_text_t detail,
                    helio_error_t *err)
{
    const helio_row_audit_t audit = {.at_ms = helio_clock_wall_ms(),
                                     .actor = HELIO_TEXT("bootstrap"),
                                     .action = helio_text_of(action),
                                     .object = object,
                                     .detail = detail};
    helio_rc rc = put_rows(connection, HELIO_BROKER_FX_ROW_AUDIT, &audit, err);
    return rc == HELIO_OK ? helio_session_run(connection, "commit", "commit", err) : rc;
}

/*  A query whose answer is one digit. */
static helio_rc ask(PGconn *connection, const char *query, const char *first, const char *second, char *ret_digit,
                    helio_error_t *err)
{
    HELIO_AUTO(helio_session_clear_result) PGresult *result = NULL;
    helio_rc rc = helio_session_query(connection, query, 2, (const char *const[]){first, second}, &result, err);
    if (rc == HELIO_OK)
        *ret_digit = PQgetvalue(result, 0, 0)[0];
    return rc;
}

/*  Putting what stands again is not audited. */
helio_rc helio_store_put_tenant(const char *conninfo, const char *tenant, const char *home_site, helio_put_t *ret_put,
                                helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = begin_rows(conninfo, &rc, err);
    char stands = '0';
    if (rc == HELIO_OK)
        rc = ask(connection, "tenant_stands", tenant, home_site, &stands, err);
    if (ret_put)
        *ret_put = stands == '0' ? HELIO_PUT_NEW : stands == '1' ? HELIO_PUT_SAME : HELIO_PUT_CHANGED;
    if (rc != HELIO_OK || stands == '1')
        return rc;
    const helio_row_tenant_t row = {helio_text_of(tenant), helio_text_of(home_site), false};
    rc = put_rows(connection, HELIO_BROKER_FX_ROW_TENANT, &row, err);
    return rc == HELIO_OK ? end(connection, "tenant-set", helio_text_of(tenant), helio_text_of(home_site), err) : rc;
}

helio_rc helio_store_has_home(const char *conninfo, const char *tenant, bool *ret_has, helio_error_t *err)
{
    HELIO_AUTO(helio_session_finish)
    PGconn *connection = helio_session_connect(conninfo, "helio-broker", NULL, err);
    HELIO_AUTO(helio_session_clear_result) PGresult *result = NULL;
    helio_rc rc = connection
                      ? helio_session_query(connection, "tenant_home", 1, (const char *const[]){tenant}, &result, err)
                      : HELIO_UNAVAILABLE;
    if (rc == HELIO_OK)
        *ret_has = PQgetvalue(result, 0, 0)[0] != '\0';
    return rc;
}

helio_rc helio_store_declare_restored(const char *conninfo, helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = begin(conninfo, &rc, err);
    HELIO_AUTO(helio_session_clear_result) PGresult *result = NULL;
    if (rc == HELIO_OK)
        rc = helio_session_query(connection, "declare_restored", 0, NULL, &result, err);
    if (rc != HELIO_OK)
        return rc;
    if (PQgetvalue(result, 0, 0)[0] != '1')
        return helio_fail(err, HELIO_BUSY, "a broker is the leader now: stop it first, and start it again afterwards");
    return end(connection, "database-restored", (helio_text_t){0}, (helio_text_t){0}, err);
}

helio_rc helio_store_put_token(const char *conninfo, const helio_row_token_t *token, helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = begin_rows(conninfo, &rc, err);
    char tenant[64], user[128];
    char stands = '0', disabled = '0';
    (void)helio_text_copy(token->tenant, tenant, sizeof tenant);
    (void)helio_text_copy(token->user, user, sizeof user);
    if (rc == HELIO_OK)
        rc = ask(connection, "tenant_stands", tenant, NULL, &stands, err);
    if (rc == HELIO_OK && stands == '0')
        return helio_fail(
            err, HELIO_NOT_FOUND,
            "tenant '%s' does not exist: if the name is right, `helio-broker tenant add %s --home SITE` adds "
            "it (while a broker runs: `helio tenants set %s --home SITE`)",
            tenant, tenant, tenant);
    if (rc == HELIO_OK)
        rc = ask(connection, "user_disabled", tenant, user, &disabled, err);
    if (rc == HELIO_OK && disabled == '1')
        return helio_fail(err, HELIO_CONFLICT,
                          "user '%s' of tenant '%s' is disabled: `helio user enable %s --tenant %s`", user, tenant,
                          user, tenant);
    if (rc == HELIO_OK)
        rc = put_rows(connection, HELIO_BROKER_FX_ROW_TOKEN, token, err);
    return rc == HELIO_OK ? end(connection, "token-add", token->token_id, token->role, err) : rc;
}

/*  A key opens the door of one site, and once revoked that of none: who had it then may have it still. */
static helio_rc check_holder(PGconn *connection, const char *public_key, const char *site, bool *ret_stands,
                             helio_error_t *err)
{
    HELIO_AUTO(helio_session_clear_result) PGresult *result = NULL;
    helio_rc rc =
        helio_session_query(connection, "site_key_holder", 1, (const char *const[]){public_key}, &result, err);
    if (rc != HELIO_OK || PQntuples(result) == 0)
        return rc;
    const char *holder = PQgetvalue(result, 0, 0), *revoked = PQgetvalue(result, 0, 1);
    if (revoked[0])
        return helio_fail(err, HELIO_CONFLICT,
                          "this key was revoked at %s: make a new pair, or admit it with `helio keys add --again`",
                          revoked);
    if (strcmp(holder, site) != 0)
        return helio_fail(err, HELIO_CONFLICT, "this key is in force for site %s: `helio keys revoke %s` first", holder,
                          holder);
    *ret_stands = true;
    return HELIO_OK;
}

helio_rc helio_store_put_site_key(const char *conninfo, const helio_row_site_key_t *key, helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = begin_rows(conninfo, &rc, err);
    char public_key[64], site[64];
    bool stands = false;
    (void)helio_text_copy(key->public_key, public_key, sizeof public_key);
    (void)helio_text_copy(key->site, site, sizeof site);
    if (rc == HELIO_OK && !key->revoked_ms)
        rc = check_holder(connection, public_key, site, &stands, err);
    if (rc != HELIO_OK || stands)
        return rc;
    rc = put_rows(connection, HELIO_BROKER_FX_ROW_SITE_KEY, key, err);
    return rc == HELIO_OK ? end(connection, "key-add", key->site, key->public_key, err) : rc;
}

/*  Runs a function that changes a reader. It returns a script of the statements that this database user has no right to
 *  run. */
static helio_rc change_reader(PGconn *connection, const char *query, int count, const char *const *values,
                              helio_buffer_t *ret_script, helio_error_t *err)
{
    HELIO_AUTO(helio_session_clear_result) PGresult *result = NULL;
    helio_rc rc = helio_session_query(connection, query, count, values, &result, err);
    if (rc != HELIO_OK)
        return rc;
    rc = end(connection, count > 1 ? "reader-add" : "reader-rm", helio_text_of(values[0]),
             helio_text_of(count > 1 ? values[1] : ""), err);
    if (rc == HELIO_OK)
        helio_buffer_text(ret_script, PQgetvalue(result, 0, 0)); /* null reads as "" */
    return rc;
}

helio_rc helio_store_put_reader(const char *conninfo, const char *reader, const char *const *tenants,
                                uint32_t tenant_count, helio_buffer_t *ret_script, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t list = {0};
    for (uint32_t i = 0; i < tenant_count; i++)
        helio_buffer_printf(&list, "%s%s", i ? "," : "", tenants[i]);
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = begin(conninfo, &rc, err);
    const char *const values[] = {reader, list.data};
    return rc == HELIO_OK ? change_reader(connection, "reader_put", 2, values, ret_script, err) : rc;
}

helio_rc helio_store_remove_reader(const char *conninfo, const char *reader, helio_buffer_t *ret_script,
                                   helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = begin(conninfo, &rc, err);
    return rc == HELIO_OK
               ? change_reader(connection, "reader_remove", 1, (const char *const[]){reader}, ret_script, err)
               : rc;
}

helio_rc helio_store_is_synchronous(const char *conninfo, bool *ret_synchronous, helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = begin(conninfo, &rc, err);
    HELIO_AUTO(helio_session_clear_result) PGresult *answer = NULL;
    if (rc == HELIO_OK)
        rc = helio_session_query(connection, "standby_settings", 0, NULL, &answer, err);
    *ret_synchronous = rc == HELIO_OK && PQgetvalue(answer, 0, 0)[0] == '1';
    return rc;
}

helio_rc helio_store_open_privileges(const char *conninfo, helio_store_privilege_fn *visit, void *arg,
                                     helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = begin(conninfo, &rc, err);
    HELIO_AUTO(helio_session_clear_result) PGresult *rows = NULL;
    if (rc == HELIO_OK)
        rc = helio_session_query(connection, "open_privileges", 0, NULL, &rows, err);
    for (int row = 0; rc == HELIO_OK && row < PQntuples(rows); row++)
        visit(arg, PQgetvalue(rows, row, 0), PQgetvalue(rows, row, 1)); /* null reads as "" */
    return rc;
}

helio_rc helio_store_each_reader(const char *conninfo, helio_store_reader_fn *visit, void *arg, helio_error_t *err)
{
    helio_rc rc;
    HELIO_AUTO(helio_session_finish) PGconn *connection = begin(conninfo, &rc, err);
    HELIO_AUTO(helio_session_clear_result) PGresult *readers = NULL;
    if (rc == HELIO_OK)
        rc = helio_session_query(connection, "reader_each", 0, NULL, &readers, err);
    for (int row = 0; rc == HELIO_OK && row < PQntuples(readers); row++)
        visit(arg, PQgetvalue(readers, row, 0), PQgetvalue(readers, row, 1), PQgetvalue(readers, row, 2)[0] == '1');
    return rc;
}
