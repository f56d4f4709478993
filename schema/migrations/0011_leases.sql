-- A leader may grant shorter leases than the one before it. Until the longest of the former ones has run out, what a silent
-- site holds under a lease is not placed again.

alter table helio.federation
    add column lease_ms     bigint not null default 0,
    add column leases_until timestamptz;
comment on column helio.federation.lease_ms is 'what the leader grants; 0: a broker that did not say';
comment on column helio.federation.leases_until is 'no lease of a former leader runs longer, without the margins';

-- Becomes leader; whoever led before may have granted until this moment. Written before the first grant.
create function helio.lead(who text, grants_ms bigint, out leads boolean, out epoch bigint, out incarnation bigint)
    language plpgsql
    as $$
begin
    select l.leads, l.epoch, l.incarnation into leads, epoch, incarnation from helio.lead(who) l;
    if leads then
        update helio.federation f
        set leases_until = greatest(f.leases_until, now() + f.lease_ms * interval '1 millisecond'),
            lease_ms = grants_ms;
    end if;
end
$$;
