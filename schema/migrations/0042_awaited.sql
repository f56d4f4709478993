-- Which jobs of a restored database wait for which sites, so that every reader says so of a waiting job, and not only a leader.
-- `on_site_loss` of the document: 0 strict, 1 lease, 2 eager.
alter table helio.jobs add column on_site_loss smallint check (on_site_loss between 0 and 2);
comment on column helio.jobs.on_site_loss is
    'As the document sets it: 0 strict, 1 lease, 2 eager; null = submitted before this column was added, and shown as strict.';
alter table helio.sites add column awaited_by smallint not null default 0 check (awaited_by between 0 and 2);
comment on column helio.sites.awaited_by is
    'Restored jobs whose on_site_loss is below this wait until the site has reported: 0 = none, 1 = strict ones, 2 = lease ones too.';
