/*  session.c -- connecting to PostgreSQL, running named queries, and sorting its errors by what the caller can do. */
#include "broker/store/session.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/base/clock.h"

/*  The server names no SQLSTATE where it cannot be asked; these are the standard's. */
static const char CANNOT_CONNECT[] = "08001", LOST[] = "08006";

const char *helio_sql_query(const char *name)
{
    for (const helio_sql_file_t *query = helio_sql_queries; query->name; query++)
        if (strcmp(query->name, name) == 0)
            return query->text;
    assert(!"a query of this name is embedded");
    return NULL;
}

/*  libpq ends its texts with a newline and can spread them over several lines. */
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

static uint32_t count_items(const char *list)
{
    uint32_t count = list && *list;
    for (; list && *list; list++)
        count += *list == ',';
    return count;
}

/*  The nth item of a list, or its only one. */
static const char *item_of(const char *list, uint32_t nth, char *ret_item, size_t capacity)
{
    uint32_t count = count_items(list);
    if (!count)
        return NULL;
    for (nth = count > 1 ? nth % count : 0; nth; nth--)
        list = strchr(list, ',') + 1;
    size_t size = strcspn(list, ",");
    if (size >= capacity)
        return NULL;
    memcpy(ret_item, list, size);
    ret_item[size] = '\0';
    return ret_item;
}

static const char *option_of(const PQconninfoOption *options, const char *keyword)
{
    for (; options && options->keyword; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val;
    return NULL;
}

uint32_t helio_session_hosts(const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    uint32_t hosts = count_items(option_of(options, "host")), addresses = count_items(option_of(options, "hostaddr"));
    PQconninfoFree(options);
    return hosts > addresses ? hosts : addresses ? addresses : 1;
}

int64_t helio_session_connect_ms(const char *conninfo)
{
    enum { ONE_HOST_MS = 10000, OF_SEVERAL_MS = 3000 };
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    const char *wanted_s = option_of(options, "connect_timeout");
    int64_t wanted_ms = wanted_s ? strtol(wanted_s, NULL, 10) * 1000 : 0;
    PQconninfoFree(options);
    return wanted_ms > 0 ? wanted_ms : helio_session_hosts(conninfo) > 1 ? OF_SEVERAL_MS : ONE_HOST_MS;
}

/*  libpq itself tries the hosts of a list in their order and gives up at the first that accepts a connection and closes
 *  it; where it does not block, one that says nothing takes the time of all. So one host is tried at a time. Keywords
 *  before dbname are defaults, which the connection string can override; those behind it override the string. */
PGconn *helio_session_connect_start(const char *conninfo, const char *application, uint32_t nth)
{
    enum { DEFAULTS = 6, LISTS = 3, ITEM_SIZE = 256 };
    static const char *const lists[LISTS] = {"host", "hostaddr", "port"};
    const char *keys[DEFAULTS + LISTS + 1] = {"keepalives_idle",  "keepalives_interval",       "keepalives_count",
                                              "tcp_user_timeout", "fallback_application_name", "dbname"};
    const char *values[DEFAULTS + LISTS + 1] = {"10", "5", "3", "30000", application, conninfo};
    char items[LISTS][ITEM_SIZE];
    uint32_t count = DEFAULTS;
    PQconninfoOption *options = helio_session_hosts(conninfo) > 1 ? PQconninfoParse(conninfo, NULL) : NULL;
    for (uint32_t i = 0; options && i < LISTS; i++) {
        keys[count] = lists[i];
        values[count] = item_of(option_of(options, lists[i]), nth, items[i], ITEM_SIZE);
        count += values[count] != NULL;
    }
    keys[count] = NULL;
    PQconninfoFree(options);
    PGconn *connection = PQconnectStartParams(keys, values, 1);
    if (!connection)
        abort(); /* out of memory */
    (void)PQsetNoticeReceiver(connection, ignore_notice, NULL);
    return connection;
}

/*  Waits until the connection is made, or has failed. False: it has failed, or not been made by then. */
static bool await_connection(PGconn *connection, int64_t deadline_ms)
{
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (PQstatus(connection) != CONNECTION_BAD) {
        struct pollfd socket = {.fd = PQsocket(connection),
                                .events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        int64_t left_ms = deadline_ms - helio_clock_boot_ms();
        int ready = left_ms > 0 ? poll(&socket, 1, (int)left_ms) : 0;
        if (ready == 0)
            return false;
        if (ready < 0)
            continue; /* a signal */
        status = PQconnectPoll(connection);
        if (status == PGRES_POLLING_OK)
            return true;
        if (status == PGRES_POLLING_FAILED)
            return false;
    }
    return false;
}

PGconn *helio_session_connect(const char *conninfo, const char *application, uint32_t *host_p, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t why = {0};
    const uint32_t hosts = helio_session_hosts(conninfo), first = host_p ? *host_p : 0;
    for (uint32_t i = 0; i < hosts; i++) {
        char line[300];
        PGconn *connection = helio_session_connect_start(conninfo, application, first + i);
        if (await_connection(connection, helio_clock_boot_ms() + helio_session_connect_ms(conninfo))) {
            (void)PQsetnonblocking(connection, 0);
            if (host_p)
                *host_p = (first + i) % hosts;
            return connection;
        }
        one_line(PQerrorMessage(connection), line, sizeof line);
        const char *host = PQhost(connection);
        if (*line)
            helio_buffer_printf(&why, "%s%s", i ? "; " : "", line);
        else
            helio_buffer_printf(&why, "%sno answer from %s port %s", i ? "; " : "", host ? host : "the server",
                                PQport(connection));
        PQfinish(connection);
    }
    (void)helio_fail_sql(err, HELIO_UNAVAILABLE, CANNOT_CONNECT, "database: %s", why.data);
    return NULL;
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

/*  Classes of SQLSTATE that concern the server or the moment, not the statement. */
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

bool helio_session_lacks_room(const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return sqlstate && state_begins(sqlstate, "53");
}

bool helio_session_lacks_lock(const PGresult *result)
{
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return sqlstate && strcmp(sqlstate, "55P03") == 0;
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
    if (sqlstate && strcmp(sqlstate, "HE003") == 0) /* raised by a function of the schema, with a text for operators */
        return helio_fail_sql(err, rc, sqlstate, "%s", line);
    return helio_fail_sql(err, rc, sqlstate ? sqlstate : LOST, "database: %s: %s (%s%s%s)", what, line,
                          sqlstate ? sqlstate : "connection", constraint ? ", " : "", constraint ? constraint : "");
}

helio_rc helio_session_lost(const PGconn *connection, const char *what, helio_error_t *err)
{
    char line[300];
    one_line(connection ? PQerrorMessage(connection) : "", line, sizeof line);
    return helio_fail_sql(err, HELIO_UNAVAILABLE, LOST, "database: %s%s%s", what, *what && *line ? ": " : "", line);
}

static helio_rc await(PGconn *connection, int stop_fd, uint32_t wait_ms, int64_t deadline_ms, helio_error_t *err)
{
    while (PQisBusy(connection)) {
        struct pollfd fds[] = {{.fd = PQsocket(connection), .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
        int64_t left_ms = deadline_ms - helio_clock_boot_ms();
        if (wait_ms && left_ms <= 0)
            return helio_fail_sql(err, HELIO_TIMEOUT, LOST, "database: no answer within %u s", wait_ms / 1000);
        (void)poll(fds, 2, wait_ms ? (int)left_ms : -1);
        if (fds[1].revents)
            return helio_fail(err, HELIO_UNAVAILABLE, "the broker is stopping");
        if (fds[0].revents && !PQconsumeInput(connection))
            return helio_session_lost(connection, "", err);
    }
    return HELIO_OK;
}

helio_rc helio_session_take(PGconn *connection, int stop_fd, uint32_t wait_ms, PGresult **ret_result,
                            helio_error_t *err)
{
    int64_t deadline_ms = helio_clock_boot_ms() + wait_ms;
    PGresult *first = NULL;
    helio_rc rc;
    while ((rc = await(connection, stop_fd, wait_ms, deadline_ms, err)) == HELIO_OK) {
        PGresult *result = PQgetResult(connection);
        if (!result) {
            *ret_result = first;
            return HELIO_OK;
        }
        if (first)
            PQclear(result);
        else
            first = result;
    }
    PQclear(first);
    return rc;
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
