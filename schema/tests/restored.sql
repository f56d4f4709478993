-- A new incarnation awaits every site, except one that was attested or never joined and has no key in force.
begin;
select plan(12);

insert into helio.tenants (tenant) values ('demo');
insert into helio.sites (site, state, draining, latitude, longitude, pue, carbon_g_per_kwh, electricity_usd_per_kwh, containers, leases)
select s.site, s.state, false, 0, 0, 1, 0, 0, false, true
from (values ('north', 1), ('new', 0), ('keyless', 0), ('attested', 4), ('gone', 4)) as s (site, state);
insert into helio.site_keys (public_key, site, created_at, revoked_at)
values ('k0', 'new', now(), null), ('k1', 'attested', now(), null), ('k2', 'gone', now(), now()), ('k3', 'gone', now(), now());

-- A leader's session has a search path of its own.
create function pg_temp.lead(who text, out leads boolean, out epoch bigint, out incarnation bigint) language plpgsql as $$
declare
    path text := current_setting('search_path');
begin
    select l.leads, l.epoch, l.incarnation into leads, epoch, incarnation from helio.lead(who) l;
    perform set_config('search_path', path, true);
end $$;

select is((select count(*) from helio.sites where unreconciled_at is not null), 0::bigint, 'no site is awaited at first');
select ok((select leads from pg_temp.lead('first')), 'the first broker leads');
select is((select count(*) from helio.sites where unreconciled_at is not null), 0::bigint, 'the first leader of all restores nothing');
select is((select restored_job from helio.federation), null, 'nor has it jobs of a copy');

create temporary table before as select incarnation from helio.federation;
select ok((select leads from pg_temp.lead('second')), 'a leader of the same database follows');
select is((select count(*) from helio.sites where unreconciled_at is not null), 0::bigint, 'it awaits no site');

update helio.federation set home = 'another copy';
select ok((select incarnation from pg_temp.lead('third')) > (select incarnation from before), 'another copy begins an incarnation');
select is((select string_agg(site, ' ' order by site) from helio.sites where unreconciled_at is not null), 'attested new north',
    'and awaits every site that can come back');

-- A promoted standby. The row below is of the timeline before this server's.
select ok(not helio.is_recovered_to_target(), 'this server was not told where to stop its recovery');
update helio.federation set timeline = timeline - 1;
select ok(not helio.recognize(false, 0, 0, 0), 'a later timeline is another copy');
select ok(helio.recognize(true, incarnation, broker_epoch, last_batch), 'unless the standby kept all') from helio.federation;
select ok(not helio.recognize(true, incarnation, broker_epoch, last_batch + 1), 'and nothing is missing that was durable')
from helio.federation;

select * from finish();
rollback;
