-- The schema and its vocabulary: stored numbers to words, job ids to text, milliseconds to times.
--
-- The numbers are those of the tables in federation/model (append only); a unit test compares both. Functions have
-- SQL-standard bodies, so that a view that uses them needs no rights of its reader on schema helio.

create schema helio;
create schema helio_report;

comment on schema helio is 'The broker''s own tables. Not a contract: dashboards read helio_report.';
comment on schema helio_report is 'The read contract for dashboards: columns are only ever added.';

create table helio.schema_migrations (
    name       text primary key,
    sha256     bytea not null,
    applied_at timestamptz not null default now()
);

-- ---- words ------------------------------------------------------------------------------------------------

create function helio.state_word(state smallint) returns text language sql immutable parallel safe
    return (array ['queued', 'offered', 'accepted', 'starting', 'running', 'suspended', 'stopping', 'suspect',
        'succeeded', 'failed', 'timeout', 'cancelled', 'lost', 'held'])[state + 1];

create function helio.state_of(word text) returns smallint language sql immutable parallel safe
    return (array_position(array ['queued', 'offered', 'accepted', 'starting', 'running', 'suspended', 'stopping',
        'suspect', 'succeeded', 'failed', 'timeout', 'cancelled', 'lost', 'held'], word) - 1)::smallint;

-- An attempt of the current epoch exists or may exist at a site.
create function helio.state_is_live(state smallint) returns boolean language sql immutable parallel safe
    return state between 1 and 7;

create function helio.state_is_over(state smallint) returns boolean language sql immutable parallel safe
    return state between 8 and 12;

-- Is the transition listed? One bit mask of successors per state, in stored order. Never null: a check would pass it.
create function helio.edge_listed(from_state smallint, to_state smallint) returns boolean
    language sql immutable parallel safe
    return coalesce(to_state between 0 and 13 and
        ((array [10242, 221, 8921, 10193, 10209, 208, 3969, 8063, 0, 0, 0, 0, 0, 2049])[from_state + 1]
            >> to_state::integer) & 1 = 1, false);

create function helio.tier_word(tier smallint) returns text language sql immutable parallel safe
    return (array ['best-effort', 'standard', 'critical'])[tier + 1];

create function helio.kind_word(kind smallint) returns text language sql immutable parallel safe
    return (array ['train', 'infer', 'eval', 'sweep', 'debug', 'service'])[kind + 1];

create function helio.report_word(kind smallint) returns text language sql immutable parallel safe
    return (array ['accepted', 'refused', 'starting', 'running', 'suspended', 'ended', 'stopped', 'lost'])[kind + 1];

create function helio.site_state_word(state smallint) returns text language sql immutable parallel safe
    return (array ['new', 'ready', 'silent', 'draining', 'lost'])[state + 1];

create function helio.signal_word(signal smallint) returns text language sql immutable parallel safe
    return (array ['free_gpus', 'price_usd_per_gpu_h', 'electricity_usd_per_kwh', 'carbon_g_per_kwh', 'pue',
        'power_watts'])[signal + 1];

create function helio.interconnect_word(interconnect smallint) returns text language sql immutable parallel safe
    return (array ['any', 'nvlink', 'ib'])[interconnect + 1];

create function helio.sharing_word(sharing smallint) returns text language sql immutable parallel safe
    return (array ['none', 'mig', 'mps', 'timeslice'])[sharing + 1];

-- ---- times ------------------------------------------------------------------------------------------------

-- Unix milliseconds, 0 = null. A double holds every millisecond until the year 287396.
create function helio.ms_time(ms bigint) returns timestamptz language sql immutable parallel safe
    return to_timestamp(nullif(ms, 0)::double precision / 1000);

-- The same where there is always a time.
create function helio.ms_at(ms bigint) returns timestamptz language sql immutable parallel safe
    return to_timestamp(ms::double precision / 1000);

create function helio.time_ms(at timestamptz) returns bigint language sql stable parallel safe
    return coalesce((date_part('epoch', at) * 1000)::bigint, 0);

-- RFC 3339 in UTC, to the millisecond.
create function helio.rfc3339(at timestamptz) returns text language sql stable parallel safe
    return to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');

create function helio.seconds_between(since timestamptz, until timestamptz) returns double precision
    language sql stable parallel safe
    return round(greatest(date_part('epoch', until) - date_part('epoch', since), 0)::numeric, 3)::double precision;

-- ---- ids --------------------------------------------------------------------------------------------------

-- Crockford base32, lower case: 26 characters of 5 bits, the first of which carries 3. Task -1 = not an array's.
create function helio.job_text(job uuid, task integer) returns text language sql immutable parallel safe
    as $$
    select string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', substring(b.bits from i * 5 + 1 for 5)::integer + 1, 1),
                      '' order by i)
           || case when task >= 0 then '.' || task else '' end
    from (select b'00' || ('x' || translate(job::text, '-', ''))::bit(128) as bits) b, generate_series(0, 25) i
    $$;

-- Null when it is not an id. Any case; i and l read as 1, o as 0; a task after a dot is not looked at. Also hex.
create function helio.job_uuid(id text) returns uuid language plpgsql immutable parallel safe strict
    as $$
declare
    word text := translate(lower(split_part(id, '.', 1)), 'ilo', '110');
    high bigint := 0;
    low bigint := 0;
    digit integer;
begin
    if length(word) = 36 and id ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        return id::uuid;
    end if;
    if word !~ '^[0-7][0-9a-hjkmnp-tv-z]{25}$' then
        return null;
    end if;
    for i in 1..26 loop
        digit := strpos('0123456789abcdefghjkmnpqrstvwxyz', substr(word, i, 1)) - 1;
        high := (high << 5) | ((low >> 59) & 31);
        low := (low << 5) | digit;
    end loop;
    return (lpad(to_hex(high), 16, '0') || lpad(to_hex(low), 16, '0'))::uuid;
end
$$;

-- The task of an id, -1 when it names none.
create function helio.job_task(id text) returns integer language sql immutable parallel safe strict
    return case when split_part(id, '.', 2) ~ '^[0-9]{1,9}$' then split_part(id, '.', 2)::integer else -1 end;

-- The last six characters of an id as a number: what a search by suffix looks up.
create function helio.id_tail(job uuid) returns integer language sql immutable parallel safe
    return ((get_byte(uuid_send(job), 12) & 63) << 24) | (get_byte(uuid_send(job), 13) << 16)
        | (get_byte(uuid_send(job), 14) << 8) | get_byte(uuid_send(job), 15);

-- The smallest (fill '0') or largest (fill 'z') id that begins with a prefix.
create function helio.id_bound(prefix text, fill text) returns uuid language sql immutable parallel safe
    return helio.job_uuid(rpad(prefix, 26, fill));
