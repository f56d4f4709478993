-- What tenants may hold at once, and are owed: of a tenant in all its queues (queue '') or in one of them.
create table helio.quotas (
    tenant          text not null check (tenant <> ''),
    queue           text not null,
    guaranteed_gpus integer not null check (guaranteed_gpus >= 0),
    burst_gpus      integer check (burst_gpus >= guaranteed_gpus),
    weight_milli    integer not null check (weight_milli > 0),
    set_at          timestamptz not null,
    primary key (tenant, queue)
);
comment on column helio.quotas.burst_gpus is 'GPUs held at once over all sites; null: no limit';
comment on column helio.quotas.weight_milli is 'of its share, in thousandths; says nothing where queue is not empty';
