-- What the writer says besides its rows.

-- name: session_lead
-- $4: a promoted standby has every commit; $5 to $7: incarnation, epoch and number of a batch that was durable, zeros: none is known.
select leads, epoch, incarnation from helio.lead($1::text, $2::int8, $3::text, $4::boolean, $5::int8, $6::int8, $7::int8)

-- name: declare_restored
select helio.declare_restored()::integer

-- name: session_resume
select leads, same_epoch, same_database, last_batch from helio.resume($1::int8, $2::boolean, $3::int8, $4::int8)

-- name: standby_settings
-- Whether commits wait for a standby now.
select (current_setting('synchronous_standby_names') <> '')::integer

-- name: session_limits
-- Of the writer's session alone: ms. No statement waits longer for a lock, even if its broker is gone meanwhile.
select set_config('lock_timeout', $1::text, false)

-- name: session_idle
-- Of the writer's session alone: ms.
select set_config('idle_session_timeout', $1::text, false), set_config('idle_in_transaction_session_timeout', $1::text, false)

-- name: session_end_still
-- $1: ms. Ends the leader's session if the server has waited for the rest of a batch for so long: that leader stands still. No
-- time-out of the server does it, because a session amid a batch is not idle. Only a session of the same role can be ended.
select count(pg_terminate_backend(a.pid))
from pg_locks l join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and (l.classid::bigint << 32 | l.objid::bigint) = 7524442231838172527
    and a.usename = current_user and a.wait_event = 'ClientRead'
    and a.state_change < clock_timestamp() - $1::bigint * interval '1 ms'

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

-- name: migrate_blockers
-- $1: the process of a session. Which sessions it waits for, as a text; '' = it waits for none.
select coalesce(string_agg(b.text, ', ' order by b.pid), '')
from (select a.pid, format('process %s (user %s, application %s)', a.pid, coalesce(a.usename, '?'),
          coalesce(nullif(a.application_name, ''), 'unnamed')) as text
      from pg_stat_activity a where a.pid = any (pg_blocking_pids($1::integer)) order by a.pid limit 4) b

-- name: migrate_note
insert into helio.schema_migrations (name, sha256) values ($1::text, decode($2::text, 'hex'))

-- name: tenant_stands
-- $1 tenant; $2 home site, null = any. 0: there is no such tenant; 1: that is what is stored; 2: it is stored with another home site.
select coalesce((select case when $2::text is null or coalesce(t.home_site, '') = $2::text then 1 else 2 end
                 from helio.tenants t where t.tenant = $1::text), 0)

-- name: site_key_holder
-- $1 public key. The site that it was last added for, and since when it is revoked there; '' = it is in force.
select k.site, coalesce(helio.rfc3339(k.revoked_at), '') from helio.site_keys k where k.public_key = $1::text

-- name: user_disabled
-- $1 tenant; $2 user. 1: the user is disabled, and none of its tokens is accepted.
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

-- name: open_privileges
-- Rights on this server that nobody needs: a sentence each, and the SQL by which a superuser revokes the right; null where the
-- sentence says what to do, as for databases of others, which are theirs. The broker can revoke none of them by itself: what it can,
-- migrate has revoked.
select 'open to every login of this database', m from helio.missing_privilege_checks() m
union all
select format('role %I of dashboards has no limits', r.rolname), helio.reader_limits(r.rolname)
from pg_roles r
where (r.rolname = 'helio_reader' or r.rolname in (select o.reader from helio.readers o)) and not helio.reader_has_limits(r.rolname)
union all
select format('the broker''s role %I is a superuser: let it own its database and no more', r.rolname), null
from pg_roles r where r.rolname = current_user and r.rolsuper
union all
select format('dashboards'' logins can create temporary tables in database %1$I of this server; let its owner run: '
    'revoke temporary on database %1$I from public;', d.datname), null
from pg_database d
where d.datallowconn and d.datname <> current_database()
  and exists (select from pg_roles r where (r.rolname = 'helio_reader' or r.rolname in (select o.reader from helio.readers o))
      and has_database_privilege(r.oid, d.oid, 'connect') and has_database_privilege(r.oid, d.oid, 'temporary'))

-- name: each_token
-- Revoked ones, too: a broker that follows has known some of them in force.
select token_id, hash, tenant, user_name, role, helio.time_ms(created_at), helio.time_ms(expires_at),
    helio.time_ms(revoked_at)
from helio.tokens order by token_id

-- name: each_user
-- Enabled ones, too, for the same reason.
select tenant, name, helio.time_ms(disabled_at) from helio.principals where kind = 'user' order by principal

-- name: follow
-- What a broker that does not lead asks several times a second: whether another one leads, which one, the last transition, a
-- number that changes with any token and any user, and which batch is durable.
select helio.is_led()::integer, coalesce(f.holder, ''), f.http, f.broker_epoch,
    coalesce((select max(seq) from helio.transitions), 0),
    (select a.version from helio.access_version a), f.incarnation, f.last_batch
from helio.federation f

-- name: follow_settings
-- Of the session of such a broker alone.
select set_config('default_transaction_read_only', 'on', false), set_config('statement_timeout', '3000', false),
    set_config('search_path', 'pg_catalog', false), set_config('jit', 'off', false)

-- name: each_site_key
select public_key, site, helio.time_ms(created_at), helio.time_ms(revoked_at)
from helio.site_keys where revoked_at is null order by public_key
