/*  follower.c -- the connection of a broker that follows. */
#include "broker/store/follower.h"

#include <stdlib.h>
#include <string.h>

#include "broker/store/access.h"
#include "federation/base/clock.h"

enum { LOOK_MS = 4000 /* longer than its statement_timeout: it detects a dead connection */ };

struct helio_follower {
    char *conninfo;
    PGconn *connection;
    uint32_t host;  /* the last one that let it in */
    PGresult *look; /* the last one: what was returned points into it */
    char *version;  /* of the tokens and users that were read over this connection; NULL = none were */
};

helio_follower_t *helio_follower_new(const char *conninfo)
{
    helio_follower_t *self = helio_new(1, sizeof *self);
    self->conninfo = helio_strdup(conninfo);
    return self;
}

/*  The next connection can be to another copy of the database, in which the same version is another one. */
static void hang_up(helio_follower_t *self)
{
    helio_session_finish(&self->connection);
    free(self->version);
    self->version = NULL;
}

void helio_follower_destroy(helio_follower_t **self_p)
{
    helio_follower_t *self = *self_p;
    if (!self)
        return;
    helio_session_clear_result(&self->look);
    hang_up(self);
    free(self->conninfo);
    free(self);
    *self_p = NULL;
}

static helio_rc ensure_connection(helio_follower_t *self, helio_error_t *err)
{
    if (self->connection)
        return HELIO_OK;
    self->connection = helio_session_connect(self->conninfo, "helio-broker follows", &self->host, err);
    return self->connection ? helio_session_query(self->connection, "follow_settings", 0, NULL, NULL, err)
                            : HELIO_UNAVAILABLE;
}

static helio_rc look(helio_follower_t *self, helio_error_t *err)
{
    helio_rc rc = ensure_connection(self, err);
    if (rc != HELIO_OK)
        return rc;
    if (!PQsendQueryParams(self->connection, helio_sql_query("follow"), 0, NULL, NULL, NULL, NULL, 0))
        return helio_session_lost(self->connection, "", err);
    helio_session_clear_result(&self->look);
    rc = helio_session_take(self->connection, -1, LOOK_MS, &self->look, err);
    if (rc == HELIO_OK)
        rc = helio_session_check(self->connection, self->look, "follow", err);
    if (rc == HELIO_OK && PQntuples(self->look) != 1)
        rc = helio_fail(err, HELIO_UNAVAILABLE, "database: helio.federation has %d rows", PQntuples(self->look));
    return rc;
}

/*  The version is that of the look before the rows: a change between the two is read again at the next look. */
static helio_rc read_access(helio_follower_t *self, const helio_follower_visitor_t *visitor, const char *version,
                            helio_error_t *err)
{
    if (self->version && strcmp(self->version, version) == 0)
        return HELIO_OK;
    visitor->on_begin(visitor->arg);
    helio_rc rc = helio_access_each_user(self->connection, visitor->on_user, visitor->arg, err);
    if (rc == HELIO_OK)
        rc = helio_access_each_token(self->connection, visitor->on_token, visitor->arg, err);
    if (rc != HELIO_OK)
        return rc;
    visitor->on_end(visitor->arg);
    free(self->version);
    self->version = helio_strdup(version);
    return HELIO_OK;
}

static uint64_t number_at(const helio_follower_t *self, int column)
{
    return strtoull(PQgetvalue(self->look, 0, column), NULL, 10);
}

helio_rc helio_follower_look(helio_follower_t *self, const helio_follower_visitor_t *visitor, bool *ret_leads,
                             helio_leader_t *ret_leader, helio_error_t *err)
{
    int64_t looked_ms = helio_clock_boot_ms();
    helio_rc rc = look(self, err);
    if (rc == HELIO_OK)
        rc = read_access(self, visitor, PQgetvalue(self->look, 0, 5), err);
    if (rc != HELIO_OK) {
        hang_up(self);
        return rc;
    }
    *ret_leads = PQgetvalue(self->look, 0, 0)[0] == '1';
    uint64_t epoch = number_at(self, 3);
    *ret_leader = (helio_leader_t){.name = PQgetvalue(self->look, 0, 1),
                                   .http = PQgetvalue(self->look, 0, 2),
                                   .epoch = epoch,
                                   .last_seq = number_at(self, 4),
                                   .last = {number_at(self, 6), epoch, number_at(self, 7)},
                                   .looked_ms = looked_ms};
    return HELIO_OK;
}
