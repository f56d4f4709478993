-- Those who act: users of tenants, by their tokens, and sites, by their keys. A user can be disabled, with every token that there
-- is or will be.
do $$
begin
    if to_regclass('helio.principals') is not null then
        drop view helio.principals; -- what there was of them: told by their tokens and keys
    end if;
end
$$;

create function helio.user_principal(tenant text, name text) returns text language sql immutable parallel safe
    return 'user:' || tenant || '/' || name;
create function helio.site_principal(site text) returns text language sql immutable parallel safe
    return 'site:' || site;

create table helio.principals (
    principal   text primary key,
    kind        text not null check (kind in ('user', 'site')),
    tenant      text,
    name        text not null,
    created_at  timestamptz not null,
    disabled_at timestamptz,
    constraint principals_named check (principal = case kind when 'user' then helio.user_principal(tenant, name)
        else helio.site_principal(name) end),
    constraint principals_users_have_tenants check ((kind = 'user') = (tenant is not null)),
    constraint principals_users_are_disabled check (kind = 'user' or disabled_at is null)
);
comment on column helio.principals.disabled_at is 'no token of it opens anything; of users only';

insert into helio.principals (principal, kind, tenant, name, created_at)
select helio.user_principal(tenant, user_name), 'user', tenant, user_name, min(created_at) from helio.tokens group by tenant, user_name
union all
select helio.site_principal(site), 'site', null, site, min(created_at) from helio.site_keys group by site;

-- A token or a key makes its principal, whoever writes it.
create function helio.token_principal() returns trigger language plpgsql as $$
begin
    new.principal := helio.user_principal(new.tenant, new.user_name);
    insert into helio.principals (principal, kind, tenant, name, created_at)
    values (new.principal, 'user', new.tenant, new.user_name, new.created_at) on conflict do nothing;
    return new;
end
$$;
create function helio.site_key_principal() returns trigger language plpgsql as $$
begin
    new.principal := helio.site_principal(new.site);
    insert into helio.principals (principal, kind, name, created_at)
    values (new.principal, 'site', new.site, new.created_at) on conflict do nothing;
    return new;
end
$$;

alter table helio.tokens add column principal text references helio.principals;
alter table helio.site_keys add column principal text references helio.principals;
update helio.tokens set principal = helio.user_principal(tenant, user_name);
update helio.site_keys set principal = helio.site_principal(site);
alter table helio.tokens alter column principal set not null;
alter table helio.site_keys alter column principal set not null;
create trigger principal before insert or update of tenant, user_name on helio.tokens
    for each row execute function helio.token_principal();
create trigger principal before insert or update of site on helio.site_keys
    for each row execute function helio.site_key_principal();
