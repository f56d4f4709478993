/*  bare.c -- the time that PostgreSQL alone needs: rows like a submitted job's, durable, by the fastest plain means:
 *  one table, its key and one index.
 *      bench_bare CONNINFO unnest SECONDS CONNECTIONS     1,000 rows a transaction, binary arrays
 *      bench_bare CONNINFO single SECONDS CONNECTIONS     one row a transaction
 *  Prints rows per second. */
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"

enum { ROWS = 1000, SOURCE = 401 /* like a document of bench_submit */, THREADS_MAX = 128 };

typedef struct work {
    const char *conninfo;
    int64_t until_ms;
    uint64_t rows;
    uint32_t id;
    int single;
} work_t;

static void die(PGconn *connection)
{
    fprintf(stderr, "bench_bare: %s", PQerrorMessage(connection));
    exit(1);
}

static char *put32(char *at, uint32_t value)
{
    unsigned char bytes[4] = {(unsigned char)(value >> 24), (unsigned char)(value >> 16), (unsigned char)(value >> 8),
                              (unsigned char)value};
    memcpy(at, bytes, 4);
    return at + 4;
}

/*  A one-dimensional binary array of `count` values of `size` bytes. */
static size_t array(char *out, uint32_t oid, uint32_t count, uint32_t size, const char *values)
{
    char *at = put32(put32(put32(put32(put32(out, 1), 0), oid), count), 1);
    for (uint32_t i = 0; i < count; i++) {
        at = put32(at, size);
        memcpy(at, values + (size_t)i * size, size);
        at += size;
    }
    return (size_t)(at - out);
}

static void fill_ids(const work_t *work, uint64_t first, char *ids)
{
    for (uint32_t i = 0; i < ROWS; i++) { /* ascending like UUIDv7, distinct per connection */
        char *at = put32(ids + (size_t)i * 16, (uint32_t)((first + i) >> 32));
        at = put32(put32(at, (uint32_t)(first + i)), work->id);
        (void)put32(at, (uint32_t)i * 2654435761U);
    }
}

static void *run(void *arg)
{
    work_t *work = arg;
    PGconn *connection = PQconnectdb(work->conninfo);
    if (PQstatus(connection) != CONNECTION_OK)
        die(connection);
    uint32_t count = work->single ? 1 : ROWS;
    const char *sql = work->single
                          ? "insert into bare (id, tenant, submitted, source) values ($1, 'demo', now(), $2)"
                          : "insert into bare (id, tenant, submitted, source) "
                            "select id, 'demo', now(), source from unnest($1::uuid[], $2::bytea[]) as n (id, source)";
    PQclear(PQprepare(connection, "put", sql, 0, NULL));
    char *ids = malloc(ROWS * 16), *sources = malloc((size_t)ROWS * SOURCE);
    char *id_array = malloc(ROWS * 20 + 20), *source_array = malloc((size_t)ROWS * (SOURCE + 4) + 20);
    memset(sources, 'x', (size_t)ROWS * SOURCE);
    int formats[] = {1, 1};
    while (helio_clock_boot_ms() < work->until_ms) {
        fill_ids(work, work->rows, ids);
        const char *values[] = {ids, sources};
        int lengths[] = {16, SOURCE};
        if (!work->single) {
            lengths[0] = (int)array(id_array, 2950, ROWS, 16, ids);
            lengths[1] = (int)array(source_array, 17, ROWS, SOURCE, sources);
            values[0] = id_array;
            values[1] = source_array;
        }
        PGresult *result = PQexecPrepared(connection, "put", 2, values, lengths, formats, 1);
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            die(connection);
        PQclear(result);
        work->rows += count;
    }
    PQfinish(connection);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: bench_bare CONNINFO unnest|single SECONDS CONNECTIONS\n");
        return 2;
    }
    PGconn *connection = PQconnectdb(argv[1]);
    if (PQstatus(connection) != CONNECTION_OK)
        die(connection);
    PQclear(PQexec(connection,
                   "drop table if exists bare; create table bare (id uuid primary key, tenant text not null, "
                   "submitted timestamptz not null, source bytea not null); "
                   "create index on bare (submitted)"));
    uint32_t threads = (uint32_t)strtoul(argv[4], NULL, 10);
    int64_t seconds = strtoll(argv[3], NULL, 10), began = helio_clock_boot_ms();
    static work_t works[THREADS_MAX];
    static pthread_t ids[THREADS_MAX];
    for (uint32_t i = 0; i < threads && i < THREADS_MAX; i++) {
        works[i] = (work_t){argv[1], began + seconds * 1000, 0, i, strcmp(argv[2], "single") == 0};
        if (pthread_create(&ids[i], NULL, run, &works[i]))
            return 1;
    }
    uint64_t rows = 0;
    for (uint32_t i = 0; i < threads && i < THREADS_MAX; i++) {
        (void)pthread_join(ids[i], NULL);
        rows += works[i].rows;
    }
    printf("%.0f\n", (double)rows * 1000 / (double)(helio_clock_boot_ms() - began));
    PQclear(PQexec(connection, "drop table bare"));
    PQfinish(connection);
    return 0;
}
