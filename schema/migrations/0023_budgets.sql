-- What tenants may spend in a day, a week or a month: of a tenant in all its queues (queue '') or in one of them, and (tenant
-- '*') of each tenant in a queue.
create function helio.budget_kind_word(kind smallint) returns text language sql immutable parallel safe
    return (array ['gpu', 'money', 'carbon'])[kind + 1];

create function helio.period_word(period smallint) returns text language sql immutable parallel safe
    return (array ['', 'day', 'week', 'month'])[period + 1];

create table helio.budgets (
    tenant text not null check (tenant <> ''),
    queue  text not null check (queue <> '' or tenant <> '*'),
    kind   smallint not null check (kind between 0 and 2),
    period smallint not null check (period between 0 and 3),
    amount bigint not null check (amount >= 0),
    set_at timestamptz not null,
    constraint budgets_pkey primary key (tenant, queue, kind)
);
comment on column helio.budgets.amount is 'GPU milliseconds, micro-dollars or milligrams, by kind (helio.budget_kind_word)';
comment on column helio.budgets.period is 'helio.period_word; 0: no budget, also where each tenant has one in the queue';

-- The ledger by day (UTC), tenant and queue: always its sum, since every row that is written adds itself. So what is spent of a
-- period is known at once, however long the ledger is. Sums that a bigint cannot hold stay at the largest: a confused site
-- must not fail a commit.
create table helio.ledger_days (
    day            timestamptz not null,
    gpu_ms         bigint not null,
    carbon_mg      bigint not null,
    cost_micro_usd bigint not null,
    tenant         text not null,
    queue          text not null,
    constraint ledger_days_pkey primary key (tenant, day, queue)
) with (fillfactor = 50);
create index ledger_days_day on helio.ledger_days (day);
comment on column helio.ledger_days.queue is 'empty: not known, of attempts of jobs that were over when their end was told';

create function helio.bounded(sum numeric) returns bigint language sql immutable parallel safe
    return least(greatest(sum, -9e18), 9e18)::bigint;

create function helio.add_ledger_days() returns trigger language plpgsql as $$
begin
    insert into helio.ledger_days as d (day, gpu_ms, carbon_mg, cost_micro_usd, tenant, queue)
    select date_trunc('day', l.hour, 'UTC'), helio.bounded(sum(l.gpu_ms)), helio.bounded(sum(l.carbon_mg)),
        helio.bounded(sum(l.cost_micro_usd)), l.tenant, coalesce(l.queue, '')
    from written l
    group by 1, 5, 6
    on conflict (tenant, day, queue) do update set gpu_ms = helio.bounded(d.gpu_ms::numeric + excluded.gpu_ms),
        carbon_mg = helio.bounded(d.carbon_mg::numeric + excluded.carbon_mg),
        cost_micro_usd = helio.bounded(d.cost_micro_usd::numeric + excluded.cost_micro_usd);
    return null;
end
$$;
create trigger add_days after insert on helio.ledger referencing new table as written
    for each statement execute function helio.add_ledger_days();

insert into helio.ledger_days (day, gpu_ms, carbon_mg, cost_micro_usd, tenant, queue)
select date_trunc('day', l.hour, 'UTC'), helio.bounded(sum(l.gpu_ms)), helio.bounded(sum(l.carbon_mg)),
    helio.bounded(sum(l.cost_micro_usd)), l.tenant, coalesce(l.queue, '')
from helio.ledger l group by 1, 5, 6;
