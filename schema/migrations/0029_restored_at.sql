-- Whether sites have spoken since a database was restored is not over with the leader that began the incarnation: the next
-- one, a second later, knows as little. So the moment is kept, and a site has spoken when it was seen after it.

alter table helio.federation add column restored_at timestamptz;
comment on column helio.federation.restored_at is 'when a leader found that this is another copy of the database than the one before wrote';

create or replace function helio.lead(who text, out leads boolean, out epoch bigint, out incarnation bigint)
    language plpgsql
    as $$
begin
    perform helio.session_rules();
    leads := pg_try_advisory_lock(7524442231838172527);
    if not leads then
        return;
    end if;
    perform 1 from helio.federation for update;
    update helio.federation f
    set incarnation = case when now_here.same then f.incarnation
                           else greatest(f.incarnation + 1, extract(epoch from clock_timestamp())::bigint) end,
        restored_at = case when now_here.same or f.holder is null then f.restored_at else clock_timestamp() end,
        timeline = now_here.timeline,
        system_identifier = now_here.system_identifier,
        home = now_here.home,
        broker_epoch = f.broker_epoch + 1,
        holder = who,
        last_batch = 0,
        taken_at = now()
    from (select here.*, coalesce(g.timeline = here.timeline and g.system_identifier = here.system_identifier
                                  and g.home = here.home, false) as same
          from helio.federation g, (select helio.wal_timeline() as timeline, helio.system_identifier() as system_identifier,
                                           helio.database_home() as home) as here) as now_here
    returning f.broker_epoch, f.incarnation into epoch, incarnation;
end
$$;

alter table helio.federation drop column restored;
