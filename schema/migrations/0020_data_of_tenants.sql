-- Names of data may be a tenant's own business.
alter table helio.data add column tenant text not null default '';
comment on column helio.data.tenant is 'whose jobs find it there, and who may read of it; empty: everybody''s';
