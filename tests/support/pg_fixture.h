/*  pg_fixture.h -- a throw-away PostgreSQL for a test program, and a fresh migrated database for each test.
 *
 *      static int up(void **state)   { *state = helio_pg_up(); return 0; }
 *      static int down(void **state) { helio_pg_down((helio_pg_t **)state); return 0; }
 *      static void store__x(void **state)
 *      {
 *          const char *conninfo = helio_pg_database(*state);   a new database, migrated, nothing in it but the queues
 *      …   cmocka_run_group_tests(tests, up, down);
 *
 *  Link with helio_pg_fixture (the tests of broker/ are). Starting takes about two seconds, a database a tenth of one.
 *  The server is real: fsync on, 127.0.0.1 and a unix socket only; it goes away with the test program, however that
 *  ends. Whatever fails here fails the test with a text on standard error. One thread.
 */
#ifndef HELIO_TESTS_PG_FIXTURE_H
#define HELIO_TESTS_PG_FIXTURE_H

typedef struct helio_pg helio_pg_t;

helio_pg_t *helio_pg_up(void);
void helio_pg_down(helio_pg_t **self_p);

/*  Connection strings; each lives until helio_pg_down. */
const char *helio_pg_database(helio_pg_t *self);       /* fresh and migrated */
const char *helio_pg_empty_database(helio_pg_t *self); /* fresh, no schema helio */

/*  Crashes the whole server (kill -9 of the postmaster), and restarts it with recovery. */
void helio_pg_kill(helio_pg_t *self);
void helio_pg_start(helio_pg_t *self);

/*  For setup and assertions. exec: any statements. value: first column of the first row as text ("" if NULL or no row),
 *  freed by the caller. */
void helio_pg_exec(const char *conninfo, const char *sql);
char *helio_pg_value(const char *conninfo, const char *sql);

#endif
