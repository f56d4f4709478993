-- Where a site's energy went that no job is charged for, hour by hour, and what its meter says.
create function helio.energy_part_word(part smallint) returns text language sql immutable parallel safe
    return (array ['idle', 'foreign', 'overhead', 'meter'])[part + 1];

create table helio.site_ledger (
    hour      timestamptz not null,
    issued_at timestamptz not null,
    energy_j  bigint not null,
    part      smallint not null,
    estimated boolean not null,
    site      text not null,
    pool      text not null,
    source    text,
    constraint site_ledger_pkey primary key (site, hour, pool, part)
);
create index site_ledger_hour on helio.site_ledger using brin (hour);
comment on table helio.site_ledger is 'One row each hour, pool and part that is over; the meter has no pool. Written once.';
comment on column helio.site_ledger.part is 'helio.energy_part_word; overhead: PUE of idle and foreign, and hosts that no job pays';
create trigger append_only before update or delete or truncate on helio.site_ledger
    for each statement execute function helio.refuse_change();
