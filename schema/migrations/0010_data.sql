-- Where data lies, what leads from site to site, and what bringing a job's data takes.

create table helio.data (
    prefix text primary key check (prefix <> ''),
    sites  text[] not null check (cardinality(sites) > 0),
    set_at timestamptz not null
);
comment on table helio.data is 'The sites that hold what lies under a URI prefix; of several prefixes the longest counts.';

create table helio.links (
    from_site               text not null check (from_site <> ''),
    to_site                 text not null check (to_site <> ''),
    mbps                    bigint not null check (mbps > 0),
    egress_micro_usd_per_gb bigint not null check (egress_micro_usd_per_gb >= 0),
    rtt_ms                  integer not null check (rtt_ms >= 0),
    set_at                  timestamptz not null,
    primary key (from_site, to_site)
);
comment on table helio.links is '* is any site; of several that fit the most specific counts.';

alter table helio.placements
    add column transfer_ms bigint not null default 0,
    add column transfer_micro_usd bigint not null default 0,
    add column transfer_j bigint not null default 0,
    add column transfer_carbon_mg bigint not null default 0;
comment on column helio.placements.transfer_micro_usd is 'egress; the planned figures contain it, as they do energy and carbon';

alter table helio.candidates
    add column transfer_ms bigint not null default 0,
    add column egress_micro_usd bigint not null default 0,
    add column transfer_j bigint not null default 0,
    add column transfer_carbon_mg bigint not null default 0;
comment on column helio.candidates.egress_micro_usd is
    'part of transfer_micro_usd; cost_micro_usd, energy_j and carbon_mg are those of the run alone';

-- An attempt's transfer is a row of its own in the hour of its start.
alter table helio.ledger
    drop constraint ledger_pkey,
    add column part smallint not null default 0,
    add constraint ledger_pkey primary key (job_id, task, epoch, hour, part);
comment on column helio.ledger.part is '0: the run; 1: bringing its data (provenance transfer)';
