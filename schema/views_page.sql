-- Generates docs/reference/views.md from the comments of the views; tests/pgtap.sh compares both (HELIO_GOLDEN_WRITE=1 writes the page).
with view as (
    select c.oid, c.relname as name, coalesce(obj_description(c.oid, 'pg_class'), '') as says
    from pg_class c where c.relnamespace = 'helio_report'::regnamespace and c.relkind = 'v'
), line as (
    select '' as view, -1 as at, e'# Views\n\n<!-- Generated from schema/report by tests/pgtap.sh. -->\n\n'
        || e'The schema `helio_report` is the stable interface for dashboards: columns are only added. The login `helio_reader` can read this\n'
        || e'schema and nothing else. Its limits are 20 connections and, by default, read-only sessions and 30 s per query. Times are\n'
        || e'`timestamptz`; units are in the column names.\n\n'
        || e'The login has no password. A superuser of the database sets one (`alter role helio_reader password ''…''`), or `pg_hba.conf`\n'
        || e'admits the login by `peer`.\n\n'
        || e'`helio-broker reader add NAME --tenant T` creates a login with the same limits that sees only the rows of its tenants\n'
        || '([dashboards of one tenant](../tenants.md#dashboards-of-one-tenant)). Each view says whether its rows belong to tenants or to sites.' as text
    union all
    select name, 0, format(e'\n## %s\n\n%s\n\n| column | type | description |\n|---|---|---|', name, says) from view
    union all
    select v.name, a.attnum, format('| `%s` | %s | %s |', a.attname,
        replace(replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz'), 'double precision', 'float8'),
        replace(coalesce(col_description(v.oid, a.attnum), ''), '|', '\|'))
    from view v join pg_attribute a on a.attrelid = v.oid and a.attnum > 0 and not a.attisdropped
)
select regexp_replace(text, ' +\|$', ' |') from line order by view collate "C", at;
