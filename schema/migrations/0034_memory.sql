-- Which journal a site's agent had last, and how far it went: an agent whose journal was lost, or replaced by an older
-- copy, cannot prove that a job does not run at its site.
alter table helio.sites add column memory_since_ms bigint, add column memory_mark bigint,
    add column memory_lost_at timestamptz;
comment on column helio.sites.memory_since_ms is
    'When the agent''s journal was made, in ms since 1970 by the site''s clock: it names the journal; null = not reported.';
comment on column helio.sites.memory_mark is 'The highest number that this journal has used, as far as the broker was told.';
comment on column helio.sites.memory_lost_at is
    'Since when jobs of the site are in doubt, because its agent came back with another journal or an older copy of its own; null = no job is.';
