-- What the writer says besides its rows.

-- name: session_lead
select leads, epoch, incarnation from helio.lead($1::text, $2::int8)

-- name: declare_restored
select helio.declare_restored()::integer

-- name: session_resume
select leads, same_epoch, same_database, last_batch from helio.resume($1::int8)

-- name: session_take_batch
select helio.take_batch($1::int8, $2::int8, $3::uuid)

-- name: session_take_turn
-- What a batch takes first: who writes beside the broker waits here, and not with rows in hand that a batch wants.
select 1 from helio.federation for update

-- name: session_migrated
select to_regclass('helio.schema_migrations') is not null

-- name: session_migrations
select name, encode(sha256, 'hex') from helio.schema_migrations order by name

-- name: migrate_lock
select pg_advisory_lock(7524442231838172528)

-- name: migrate_note
insert into helio.schema_migrations (name, sha256) values ($1::text, decode($2::text, 'hex'))

-- name: tenant_stands
-- $1 tenant; $2 home site. 1: that is what is stored.
select exists (select from helio.tenants t where t.tenant = $1::text and coalesce(t.home_site, '') = $2::text)::integer

-- name: site_key_stands
-- $1 public key; $2 site. 1: it is in force there.
select exists (select from helio.site_keys k
               where k.public_key = $1::text and k.site = $2::text and k.revoked_at is null)::integer

-- name: user_disabled
-- $1 tenant; $2 user. 1: no token of it opens anything.
select exists (select from helio.principals p
               where p.kind = 'user' and p.tenant = $1::text and p.name = $2::text and p.disabled_at is not null)::integer

-- name: tenant_home
select coalesce((select t.home_site from helio.tenants t where t.tenant = $1::text), '')

-- name: reader_put
-- $1 reader; $2 tenants, separated by commas.
select helio.put_reader($1::text, string_to_array($2::text, ','))

-- name: reader_remove
select helio.drop_reader($1::text)

-- name: reader_each
select reader, string_agg(tenant, ', ' order by tenant), helio.reader_is_ready(reader)::integer
from helio.readers group by reader order by reader

-- name: each_token
select token_id, hash, tenant, user_name, role, helio.time_ms(created_at), helio.time_ms(expires_at),
    helio.time_ms(revoked_at)
from helio.tokens where revoked_at is null order by token_id

-- name: each_disabled
select tenant, name, helio.time_ms(disabled_at) from helio.principals where disabled_at is not null order by principal

-- name: each_site_key
select public_key, site, helio.time_ms(created_at), helio.time_ms(revoked_at)
from helio.site_keys where revoked_at is null order by public_key
