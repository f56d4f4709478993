-- Where other brokers reach the one that leads: they forward what only a leader can do.
alter table helio.federation add column http text not null default '';
comment on column helio.federation.http is
    'URL at which the other brokers reach the API of the leader; empty: it did not say, and nothing is forwarded to it.';

create function helio.lead(who text, grants_ms bigint, at_http text, out leads boolean, out epoch bigint, out incarnation bigint)
    language plpgsql
    as $$
begin
    select l.leads, l.epoch, l.incarnation into leads, epoch, incarnation from helio.lead(who, grants_ms) l;
    if leads then
        update helio.federation f set http = at_http;
    end if;
end
$$;

-- Whether some session leads now. The two halves of the lock's number are as pg_locks shows them.
create function helio.is_led() returns boolean language sql stable
    return exists (select from pg_locks l
                   where l.locktype = 'advisory' and l.classid = 1751920727 and l.objid = 4188628335 and l.objsubid = 1
                       and l.granted
                       and l.database = (select d.oid from pg_database d where d.datname = current_database()));

-- Counts the changes of tokens and users, in the transaction of each change: a follower that sees the same count has them all. No
-- sequence: that would rise before the change can be seen.
create table helio.access_version (
    one     boolean primary key default true check (one),
    version bigint not null default 0
);
insert into helio.access_version default values;
comment on table helio.access_version is 'How often tokens or users have changed: what a broker that follows compares.';

create function helio.access_changed() returns trigger language plpgsql as $$
begin
    update helio.access_version a set version = a.version + 1;
    return null;
end
$$;
create trigger changed after insert or update or delete or truncate on helio.tokens
    for each statement execute function helio.access_changed();
create trigger changed after insert or update or delete or truncate on helio.principals
    for each statement execute function helio.access_changed();
