-- A pool that is no longer in the site file: its row stays, and no view of today shows it.
begin;
select plan(3);
insert into helio.sites (site, state, draining, latitude, longitude, pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases)
values ('pools-site', 1, false, 0, 0, 1, 0, 0, false, true);
insert into helio.pools (site, pool, gpu, gpu_memory_bytes, nodes, max_nodes, gpus_per_node, cpus_per_node, memory_bytes_per_node,
    interconnect, sharing, owned, price_usd_per_gpu_h, idle_w, base_w, slope_w, host_w)
select 'pools-site', pool, 'H100', 0, nodes, most, 8, 0, 0, 0, 0, true, 0, 0, 0, 0, 0
from (values ('here', 2, 2), ('elastic', 0, 4), ('gone', 0, 0)) v (pool, nodes, most);
insert into helio.capacity_now (site, pool, at, nodes_up, gpus_total, gpus_allocated, gpus_free, gpus_reserved, largest_block_gpus,
    jobs_running, jobs_queued, site_power_w)
select 'pools-site', pool, now(), 2, 16, 16, 0, 0, 0, 2, 0, -1 from unnest('{here,gone}'::text[]) pool;
select set_eq($$select pool from helio.pools_now where site = 'pools-site'$$, '{here,elastic}'::text[], 'pools of today');
select is(gpus_total, 16, 'GPUs of a site are those of its pools of today') from helio.sites_now where site = 'pools-site';
select is((select count(*)::integer from helio.pools where site = 'pools-site'), 3, 'the row stays, for what ran there');
select * from finish();
rollback;
