-- What a budget of money is charged of a row of the ledger is never below zero (broker/core/state/budgets.c): a site that states a
-- negative tariff must not add to budgets. The ledger and its sums have the true cost. Rows that count differently are few: those below
-- zero, and reversals of such rows. Their index is small, and a leader that begins finds them without reading the ledger.
create index ledger_uncharged on helio.ledger (tenant, hour)
    where case when part = 3 then cost_micro_usd > 0 else cost_micro_usd < 0 end;

create or replace view helio.ledger_days as
select u.day, helio.bounded(sum(u.gpu_ms)) as gpu_ms, helio.bounded(sum(u.carbon_mg)) as carbon_mg,
    helio.bounded(sum(u.cost_micro_usd)) as cost_micro_usd, u.tenant, u.queue,
    helio.bounded(sum(u.cost_micro_usd) - coalesce((
        select sum(l.cost_micro_usd) from helio.ledger l
        where l.tenant = u.tenant and coalesce(l.queue, '') = u.queue and l.hour >= u.day and l.hour < u.day + interval '24 hours'
          and case when l.part = 3 then l.cost_micro_usd > 0 else l.cost_micro_usd < 0 end), 0)) as charged_micro_usd
from helio.usage_days u group by u.tenant, u.day, u.queue;
