#include "broker/store/session.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *helio_sql_query(const char *name)
{
    for (const helio_sql_file_t *query = helio_sql_queries; query->name; query++)
        if (strcmp(query->name, name) == 0)
            return query->text;
    assert(!"a query of this name is embedded");
    return NULL;
}

/*  What stands before dbname is a default that the connection string may overrule. */
static const char *const keywords[] = {"connect_timeout",
                                       "keepalives_idle",
                                       "keepalives_interval",
                                       "keepalives_count",
                                       "tcp_user_timeout",
                                       "fallback_application_name",
                                       "dbname",
                                       NULL};

static void connection_values(const char *conninfo, const char *application, const char *values[8])
{
    const char *const defaults[8] = {"10", "10", "5", "3", "30000", application, conninfo, NULL};
    memcpy(values, defaults, sizeof defaults);
}

/*  libpq ends its texts with a newline and may spread them over several lines. */
static void one_line(const char *text, char *ret_line, size_t capacity)
{
    (void)helio_text_copy(helio_text_of(text ? text : ""), ret_line, capacity);
    for (char *at = ret_line; *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
    for (size_t size = strlen(ret_line); size && ret_line[size - 1] == ' ';)
        ret_line[--size] = '\0';
}

static void ignore_notice(void *arg, const PGresult *result)
{
    (void)arg;
    (void)result;
}

PGconn *helio_session_connect(const char *conninfo, const char *application, helio_error_t *err)
{
    const char *values[8];
    connection_values(conninfo, application, values);
    PGconn *connection = PQconnectdbParams(keywords, values, 1);
    if (PQstatus(connection) != CONNECTION_OK) {
        char line[400];
        one_line(PQerrorMessage(connection), line, sizeof line);
        (void)helio_fail(err, HELIO_UNAVAILABLE, "database: %s", line);
        PQfinish(connection);
        return NULL;
    }
    (void)PQsetNoticeReceiver(connection, ignore_notice, NULL);
    return connection;
}

PGconn *helio_session_connect_start(const char *conninfo, const char *application)
{
    const char *values[8];
    connection_values(conninfo, application, values);
    PGconn *connection = PQconnectStartParams(keywords, values, 1);
    if (connection)
        (void)PQsetNoticeReceiver(connection, ignore_notice, NULL);
    return connection;
}

void helio_session_holder(char ret_name[HELIO_SESSION_HOLDER_SIZE])
{
    char host[64] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    (void)snprintf(ret_name, HELIO_SESSION_HOLDER_SIZE, "%s/%ld", host, (long)getpid());
}

void helio_session_clear_result(PGresult **result_p)
{
    PQclear(*result_p);
    *result_p = NULL;
}

void helio_session_finish(PGconn **connection_p)
{
    if (*connection_p)
        PQfinish(*connection_p);
    *connection_p = NULL;
}

static bool state_begins(const char *sqlstate, const char *prefix)
{
    return strncmp(sqlstate, prefix, strlen(prefix)) == 0;
}

/*  Classes of SQLSTATE that say something of the server or of the moment, not of the statement. */
static helio_rc outcome_of_state(const char *sqlstate)
{
    static const char *const passing[] = {"08", "40", "53", "57P", "58", "55", "25006", "XX"};
    if (strcmp(sqlstate, "HE001") == 0)
        return HELIO_FENCED;
    if (strcmp(sqlstate, "57014") == 0)
        return HELIO_TIMEOUT;
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        if (state_begins(sqlstate, passing[i]))
            return HELIO_UNAVAILABLE;
    return HELIO_INVALID;
}

helio_rc helio_session_outcome(PGconn *connection, const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_SINGLE_TUPLE ||
        status == PGRES_PIPELINE_SYNC)
        return HELIO_OK;
    const char *sqlstate = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    if (!sqlstate || PQstatus(connection) != CONNECTION_OK)
        return HELIO_UNAVAILABLE;
    return outcome_of_state(sqlstate);
}

helio_rc helio_session_check(PGconn *connection, const PGresult *result, const char *what, helio_error_t *err)
{
    helio_rc rc = helio_session_outcome(connection, result);
    if (rc == HELIO_OK)
        return rc;
    const char *sqlstate = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
    const char *primary = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    const char *constraint = result ? PQresultErrorField(result, PG_DIAG_CONSTRAINT_NAME) : NULL;
    char line[300];
    one_line(primary ? primary : PQerrorMessage(connection), line, sizeof line);
    if (sqlstate && strcmp(sqlstate, "HE003") == 0) /* a function of the schema speaks to people */
        return helio_fail(err, rc, "%s", line);
    return helio_fail(err, rc, "database: %s: %s (%s%s%s)", what, line, sqlstate ? sqlstate : "connection",
                      constraint ? ", " : "", constraint ? constraint : "");
}

helio_rc helio_session_query(PGconn *connection, const char *name, int count, const char *const *values,
                             PGresult **ret_result, helio_error_t *err)
{
    PGresult *result = PQexecParams(connection, helio_sql_query(name), count, NULL, values, NULL, NULL, 0);
    helio_rc rc = helio_session_check(connection, result, name, err);
    if (rc != HELIO_OK || !ret_result)
        PQclear(result);
    else
        *ret_result = result;
    return rc;
}

helio_rc helio_session_run(PGconn *connection, const char *what, const char *text, helio_error_t *err)
{
    HELIO_AUTO(helio_session_clear_result) PGresult *result = PQexec(connection, text);
    return helio_session_check(connection, result, what, err);
}
