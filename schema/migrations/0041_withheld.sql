-- Why a pool offers nothing although its site is ready: strangers have its GPUs, no node is up, its agent cannot look yet.
alter table helio.capacity_now add column withheld text, add column withheld_details jsonb;
comment on column helio.capacity_now.withheld is
    'Why nothing of the pool is offered, beside the federation''s own use; null = something is, or the site has not said.';
comment on column helio.capacity_now.withheld_details is 'The same as data: [{"code", "params"}].';
