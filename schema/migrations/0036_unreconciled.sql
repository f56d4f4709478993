-- What a restored database does not know may run at any site. Until a site has sent its inventory, and what that fenced has
-- ended, or an operator attests the site, no second copy of a job of that database begins elsewhere, whichever leader leads.
alter table helio.sites add column unreconciled_at timestamptz;
comment on column helio.sites.unreconciled_at is
    'Since when, after a restore of the database, the site may run attempts that the database does not know; null = it does not.';
alter table helio.federation add column restored_job uuid;
comment on column helio.federation.restored_job is 'the newest job of the copy that was restored last: only this and older jobs can have copies';

-- Of all attempts, what counts against the job when its sites are lost: neither refusals nor preemptions do.
alter table helio.job_state add column losses integer not null default 0;
comment on column helio.job_state.losses is 'attempts that were given up because their site was lost; with the twentieth the job is lost';

update helio.federation f
set restored_job = (select j.job_id from helio.jobs j where j.submitted_at <= f.restored_at order by j.job_id desc limit 1)
where f.restored_at > now() - interval '1 day';
update helio.sites s
set unreconciled_at = f.restored_at
from helio.federation f
where f.restored_at > now() - interval '1 day' and coalesce(s.seen_at, '-infinity') <= f.restored_at;

-- As before, and each site is awaited. A site that was attested and has no key in force cannot have come back since.
create or replace function helio.lead(who text, out leads boolean, out epoch bigint, out incarnation bigint)
    language plpgsql
    as $$
declare
    is_same boolean;
    is_first boolean;
begin
    perform helio.session_rules();
    leads := pg_try_advisory_lock(7524442231838172527);
    if not leads then
        return;
    end if;
    select f.holder is null,
        coalesce(f.timeline = helio.wal_timeline() and f.system_identifier = helio.system_identifier()
                 and f.home = helio.database_home(), false)
    into is_first, is_same
    from helio.federation f for update;
    update helio.federation f
    set incarnation = case when is_same then f.incarnation
                           else greatest(f.incarnation + 1, extract(epoch from clock_timestamp())::bigint) end,
        timeline = helio.wal_timeline(),
        system_identifier = helio.system_identifier(),
        home = helio.database_home(),
        broker_epoch = f.broker_epoch + 1,
        holder = who,
        last_batch = 0,
        taken_at = now()
    returning f.broker_epoch, f.incarnation into epoch, incarnation;
    if is_same or is_first then
        return;
    end if;
    update helio.federation f
    set restored_at = clock_timestamp(),
        restored_job = (select j.job_id from helio.jobs j order by j.job_id desc limit 1);
    update helio.sites s
    set unreconciled_at = clock_timestamp()
    where s.state <> 4 or exists (select from helio.site_keys k where k.site = s.site and k.revoked_at is null);
end
$$;
