/*  reader_testing.h -- a database with a small federation, and a reader of it: the JSON of reads, prefixes, pages,
 *  failures, and a server that goes away. */
#ifndef HELIO_TESTS_BROKER_STORE_READER_TESTING_H
#define HELIO_TESTS_BROKER_STORE_READER_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/store/reader.h"
#include "federation/base/id.h"
#include "federation/policy/quota.h"
#include "tests/support/pg_fixture.h"

/*  A federation of one site, five jobs in all kinds of states, and what led there. Job n ends in …000n. */
static const char world[] =
    "insert into helio.tenants (tenant, home_site) values ('acme', 'lulea'), ('other', 'oregon');"
    "insert into helio.sites values ('lulea', 1, false, null, 'slurm', 'SE', 65.6, 22.1, 'Europe/Stockholm', "
    "1.1, 20, 0.05,"
    "  true, true, '0.1.0', now() - interval '3 s');"
    "insert into helio.pools values ('lulea', 'h100', 'H100', 80000000000, 4, 4, 8, 96, 1000000000000, 2, 0, "
    "true, 0, 60,"
    "  100, 200, 100);"
    "insert into helio.capacity_now values ('lulea', 'h100', now(), 4, 32, 16, 12, 4, 8, 2, 1, 9000);"
    "insert into helio.capacity_samples select 'lulea', 'h100', now() - interval '1 minute' * i, 4, 32, 16, "
    "12, 4, 8, 2, 1,"
    "  9000 from generate_series(1, 90) i;"
    "insert into helio.series_now values ('lulea', '', 3, 'average', 'lifecycle', 'test', false, now() - "
    "interval '90 min',"
    "  now() - interval '90 min', 3600, '{10, 12, 14}', '{9, 11, 13}', null);"
    "insert into helio.series select * from helio.series_now;"
    "insert into helio.actuals values ('lulea', '', 3, date_trunc('hour', now() - interval '1 minute', 'UTC'), 12, "
    "now(), false, 'average', 'lifecycle', 'test');"
    "insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, "
    "user_name, queue,"
    "  name, home_site, gpu_model, spec_hash, source, tasks)"
    "select ('0199aaaa-0000-7000-8000-00000000000' || i)::uuid, now() - interval '1 hour', 3600000, i, 16, "
    "2, 1, 0,"
    "  case i when 5 then 'other' else 'acme' end, 'ada', 'standard', 'job' || i, 'lulea', 'H100', 'h', 's',"
    "  case i when 4 then array[0, 1, 2] end from generate_series(1, 5) i;"
    "update helio.federation set open_from = (select job_id from helio.jobs where name = 'job2');"
    "insert into helio.job_tails select helio.id_tail(job_id), job_id from helio.jobs where name = 'job1';"
    "insert into helio.job_state select ('0199aaaa-0000-7000-8000-00000000000' || n)::uuid, t, 1, s, 0, 0, "
    "1, 0, 0, x,"
    "  now() - interval '50 min', f, now(), 3600000, 1500000, 7200000, 2500, 12, 'lulea', 'h100', r"
    "  from (values (1, -1, 8, 0, now() - interval '20 min', null), (2, -1, 4, null, null, null),"
    "    (4, 0, 9, 3, now(), 'exit code 3'), (4, 1, 4, null, null, null)) v (n, t, s, x, f, r);"
    "insert into helio.classes values (3, 'acme', 'standard', '16 x H100', 'WaitingForCapacity', 'no 16 "
    "free', 7, now(), now() + interval '1 h');"
    "insert into helio.decisions values (7, now(), 3, 'v1', 'WaitingForCapacity', 'no 16 free', null, null),"
    "  (6, now(), 1, 'v1', null, null, 'lulea', 'h100');"
    "insert into helio.candidates values (7, 0, 'lulea', 'h100', now() + interval '1 h', 5000000, 4000000, "
    "3600000, 1000,"
    "  null, null), (7, 1, 'oregon', 'a', null, 0, 0, 0, 0, 'Forbidden', 'not in sites'),"
    "  (6, 0, 'lulea', 'h100', now(), 5000000, 4000000, 3600000, 1000, null, null);"
    "insert into helio.placements select job_id, -1, 1, 2, 16, 6, 5000000, 4000000, 3600000, 900, now(), "
    "now(), 'lulea',"
    "  'h100' from helio.jobs where name in ('job1', 'job2');"
    "insert into helio.transitions select 2 * i - 1, ('0199aaaa-0000-7000-8000-00000000000' || i)::uuid, -1, "
    "1, 0, 1,"
    "  now(), null, 'broker' from generate_series(1, 2) i;"
    "insert into helio.transitions select 2 * i, ('0199aaaa-0000-7000-8000-00000000000' || i)::uuid, -1, 1, "
    "1, 4, now(),"
    "  null, 'site:lulea' from generate_series(1, 2) i;"
    "insert into helio.attempts values ('0199aaaa-0000-7000-8000-000000000001', -1, 1, 5, true, false, 0, "
    "now() - interval '50 min', now(),"
    "  now(), 1800000, 3600000, 7200000, 12, 'lulea', null, 'l1');"
    "insert into helio.ledger values ('0199aaaa-0000-7000-8000-000000000001', -1, 1, date_trunc('hour', "
    "now()), 3600000,"
    "  7200000, 2500, 1500000, false, 'acme', 'lulea', 'h100', 'H100', 'standard', 'model');"
    "insert into helio.baselines values ('0199aaaa-0000-7000-8000-000000000001', -1, now(), 3600000, 5000, 7200000, "
    "2500,   1500000, 7200000, 2700, 1400000, 1000, 7200000, 4500, 1600000, false, 'acme', 'lulea', 'average "
    "lifecycle', 'oregon', 'average lifecycle');"
    "insert into helio.tokens values ('t1', sha256('x'), 'acme', 'ada', 'user', now());"
    "insert into helio.audit (at, actor, action) values (now(), 'user:ada', 'a'), (now(), 'user:ada', 'b');";

/*  What the task that failed leaves. */
static const char failure[] =
    "insert into helio.attempts values ('0199aaaa-0000-7000-8000-000000000004', 0, 1, 5, true, false, 3, "
    "now() - interval '50 min', now(), now(), 0, 0, 0, 0, 'lulea', 'exit code 3', 'l4');";

/*  Another priority of a queue: for a while, everywhere and in the EU; at hours that are not now. */
static const char rules[] =
    "insert into helio.queue_rules values ('batch', '', '', '', '', 700, now() + interval '1 hour', now(), true), "
    "('batch', 'EU', '', '', '', 900, now() + interval '1 hour', now() - interval '1 hour', true), "
    "('batch', 'US', '20:00-08:00', '', '', 650, null, now(), true);";

static const char *conninfo;
static helio_reader_t *reader;

typedef struct asked {
    helio_read_t read;
    sem_t answered;
    helio_rc rc;
    char *json; /* owned; NULL unless rc is OK */
    helio_error_t err;
} asked_t;

static inline void done(helio_read_t *read, helio_rc rc, helio_text_t json, const helio_error_t *err)
{
    asked_t *asked = read->arg;
    asked->rc = rc;
    if (err)
        asked->err = *err;
    if (rc == HELIO_OK) {
        asked->json = helio_new(json.size + 1, 1);
        memcpy(asked->json, json.data, json.size);
    }
    (void)sem_post(&asked->answered);
}

static inline asked_t ask_of(helio_reader_t *of, const char *query, const char *const *params, uint32_t count)
{
    asked_t asked = {.read = {.query = query, .param_count = count, .done = done}};
    asked.read.arg = &asked;
    for (uint32_t i = 0; i < count; i++)
        asked.read.params[i] = params[i];
    (void)sem_init(&asked.answered, 0, 0);
    assert_int_equal(helio_reader_post(of, &asked.read), HELIO_OK);
    while (sem_wait(&asked.answered) != 0)
        ;
    (void)sem_destroy(&asked.answered);
    return asked;
}

#define ASK(query, ...)                                       \
    ask_of(reader, query, (const char *const[]){__VA_ARGS__}, \
           sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/*  `path` is an SQL expression over j, the answer as jsonb. Frees the answer. */
static inline void assert_json(asked_t asked, const char *path, const char *expected)
{
    if (asked.rc != HELIO_OK)
        fail_msg("%s: %s", asked.read.query, asked.err.text);
    helio_buffer_t sql = {0};
    helio_buffer_printf(&sql, "select %s from (select $helio$%s$helio$::jsonb as j) a", path, asked.json);
    char *value = helio_pg_value(conninfo, sql.data);
    if (strcmp(value, expected) != 0)
        fail_msg("%s: %s is \"%s\", not \"%s\" in %s", asked.read.query, path, value, expected, asked.json);
    free(value);
    free(asked.json);
    helio_buffer_clear(&sql);
}

static inline void assert_rc(asked_t asked, helio_rc rc)
{
    free(asked.json);
    assert_int_equal(asked.rc, rc);
}

/*  The text of job n's id. */
static inline const char *id_of(int n)
{
    static char ids[8][HELIO_ID_SIZE];
    char sql[128];
    (void)snprintf(sql, sizeof sql, "select helio.job_text('0199aaaa-0000-7000-8000-00000000000%d', -1)", n);
    char *id = helio_pg_value(conninfo, sql);
    (void)snprintf(ids[n], sizeof ids[n], "%s", id);
    free(id);
    return ids[n];
}

static inline int up(void **state)
{
    *state = helio_pg_up();
    conninfo = helio_pg_database(*state);
    helio_pg_exec(conninfo, world);
    helio_pg_exec(conninfo, failure);
    helio_pg_exec(conninfo, rules);
    reader = helio_reader_new(conninfo, 3);
    return 0;
}

static inline int down(void **state)
{
    helio_reader_destroy(&reader);
    helio_pg_down((helio_pg_t **)state);
    return 0;
}

#endif
