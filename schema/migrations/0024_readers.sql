-- Logins of dashboards that see the rows of some tenants only: helio-broker reader. A role without a row here sees no tenant's.
create table helio.readers (
    reader     text not null check (reader <> ''),
    tenant     text not null check (tenant <> ''),
    created_at timestamptz not null default now(),
    primary key (reader, tenant)
);
