/*  flight.c -- the batch in flight: sends it as one pipeline from BEGIN to Sync, and records its commit. */
#include <inttypes.h>
#include <stdio.h>

#include "broker/store/internal.h"
#include "federation/base/clock.h"

enum {
    ROWS_PER_MS_LEAST = 10,
    DOUBLINGS_MAX = 6,
    NUMBER_SIZE = 24,
    HEAD_START_ROWS = 200 /* from this size on, the first statements are sent before the rest is ready */
};

void helio_store_expect(helio_store_t *self, const char *statement)
{
    if (self->expected_count == self->expected_capacity) {
        self->expected_capacity = self->expected_capacity ? self->expected_capacity * 2 : 64;
        self->expected = helio_grow(self->expected, self->expected_capacity, sizeof *self->expected);
    }
    self->expected[self->expected_count++] = statement;
}

/*  Pipeline mode begins with the first batch, because the reads at the start need the plain mode. */
static bool enter_pipeline(PGconn *connection)
{
    return PQpipelineStatus(connection) == PQ_PIPELINE_ON ||
           (PQsetnonblocking(connection, 1) == 0 && PQenterPipelineMode(connection) == 1);
}

static bool send_plain(helio_store_t *self, const char *statement)
{
    helio_store_expect(self, statement);
    return PQsendQueryParams(self->connection, statement, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

static bool send_take_batch(helio_store_t *self)
{
    char epoch[NUMBER_SIZE], number[NUMBER_SIZE];
    (void)snprintf(epoch, sizeof epoch, "%" PRIu64, self->epoch);
    (void)snprintf(number, sizeof number, "%" PRIu64, self->open_number - 1);
    helio_store_expect(self, "session_take_batch");
    const char *const values[] = {epoch, number, (const char *)self->flight_open_from.bytes};
    return PQsendQueryPrepared(self->connection, "session_take_batch", 3, values,
                               (const int[]){0, 0, sizeof self->flight_open_from.bytes}, (const int[]){0, 0, 1},
                               0) == 1;
}

static bool send_put(helio_store_t *self, uint32_t kind, helio_columns_t *columns)
{
    const char *values[HELIO_COLUMNS_MAX];
    int lengths[HELIO_COLUMNS_MAX];
    int formats[HELIO_COLUMNS_MAX];
    for (int i = 0; i < HELIO_COLUMNS_MAX; i++)
        formats[i] = 1;
    int count = helio_columns_params(columns, values, lengths);
    const char *name = helio_batch_put_name(kind);
    helio_store_expect(self, name);
    return PQsendQueryPrepared(self->connection, name, count, values, lengths, formats, 0) == 1;
}

/*  A batch that grew while the database was away takes longer than an ordinary one, and is the same at every try. So
 *  the deadline grows with its rows and its tries: a deadline that it can never meet would stop all commits. */
static int64_t flight_deadline_ms(const helio_store_t *self)
{
    uint32_t doublings = self->sent_times < DOUBLINGS_MAX ? self->sent_times : DOUBLINGS_MAX;
    return (int64_t)((self->commit_deadline_ms << doublings) + helio_batch_rows(self->flight) / ROWS_PER_MS_LEAST);
}

bool helio_store_send_flight(helio_store_t *self, int64_t now_ms)
{
    self->expected_count = self->answered = 0;
    self->doubtful = false;
    self->deadline_ms = now_ms + flight_deadline_ms(self);
    self->sent_times++;
    bool undo = self->refused;
    self->refused = false;
    if (!enter_pipeline(self->connection) || (undo && !send_plain(self, "rollback")) || !send_plain(self, "begin") ||
        !send_take_batch(self))
        return false;
    /* The database begins its work while the rows of a large batch are still being copied. */
    if (helio_batch_rows(self->flight) >= HEAD_START_ROWS && PQflush(self->connection) < 0)
        return false;
    uint32_t kind = 0;
    helio_columns_t *columns;
    for (uint32_t i = 0; (columns = helio_batch_statement(self->flight, i, &kind)); i++)
        if (!send_put(self, kind, columns))
            return false;
    if (!send_plain(self, "commit") || PQpipelineSync(self->connection) != 1)
        return false;
    int flushed = PQflush(self->connection);
    self->unflushed = flushed == 1;
    return flushed >= 0;
}

void helio_store_flight_committed(helio_store_t *self)
{
    self->in_flight = false;
    self->lacks_room = self->waits = false;
    self->sent_times = 0;
    self->committed = self->open_number - 1;
    self->seen.batch = self->committed;
    self->deadline_ms = INT64_MAX;
    self->backoff_ms = 0;
    self->figures.batches_total++;
    self->figures.rows_total += helio_batch_rows(self->flight);
    self->figures.commit_us_last = (uint64_t)(helio_clock_boot_us() - self->sealed_us);
    self->figures.commit_us_sum += self->figures.commit_us_last;
    helio_batch_reset(self->flight);
}

int64_t helio_store_beat_every_ms(const helio_store_t *self)
{
    enum { BEATS = 5 }; /* within the idle time: two late ones do no harm */
    return (int64_t)(self->idle_ms / BEATS);
}

bool helio_store_send_beat(helio_store_t *self, int64_t now_ms)
{
    self->beat_ms = now_ms + helio_store_beat_every_ms(self);
    if (!enter_pipeline(self->connection) || PQpipelineSync(self->connection) != 1)
        return false;
    int flushed = PQflush(self->connection);
    self->unflushed = flushed == 1;
    self->beating = true;
    self->deadline_ms = now_ms + (int64_t)self->commit_deadline_ms;
    return flushed >= 0;
}
