/*  schema.h -- the SQL that is embedded at build time (cmake/embed_sql.cmake): constant tables, terminated by
 *  {NULL}. */
#ifndef HELIO_BROKER_STORE_SCHEMA_H
#define HELIO_BROKER_STORE_SCHEMA_H

typedef struct helio_sql_file {
    const char *name;
    const char *text;
} helio_sql_file_t;

extern const helio_sql_file_t helio_sql_migrations[]; /* ascending by name: 0001_… */
extern const helio_sql_file_t helio_sql_report[];  /* the report views and grants, re-applied by every migration run */
extern const helio_sql_file_t helio_sql_queries[]; /* named statements */

#endif
