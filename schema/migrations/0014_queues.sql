-- Other priorities of queues: at the hours of a schedule, or (schedule '') until a time; everywhere (region '') or at the
-- sites of a region.
create table helio.queue_rules (
    queue     text not null references helio.queues on delete cascade,
    region    text not null,
    schedule  text not null,
    zone      text not null,
    zone_data bytea not null,
    priority  integer not null check (priority >= 0),
    until_at  timestamptz check ((until_at is null) = (schedule <> '')),
    set_at    timestamptz not null,
    holds     boolean not null,
    primary key (queue, region, schedule, zone)
);
comment on column helio.queue_rules.zone is 'name of the schedule''s time zone; '''' = UTC';
comment on column helio.queue_rules.zone_data is 'what was known of the zone when the rule was set (TZif)';
comment on column helio.queue_rules.holds is 'as of the leading broker''s last look at the clock';
