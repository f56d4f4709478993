-- A site whose agent is refused is told of, with the reason.
alter table helio.sites add column refused text, add column refused_at timestamptz;
comment on column helio.sites.refused is 'Why the site''s agent was refused last; null = it was not of late.';
comment on column helio.sites.refused_at is 'Since when it is refused for that reason.';
