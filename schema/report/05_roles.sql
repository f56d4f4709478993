-- Roles. Every migration run creates those that are missing: roles and passwords belong to the server, so that a database restored to
-- another server has none. If the owner of the database may not create roles, the database works without them; an operator can create
-- them later and run `helio-broker migrate` again.
do $$
declare
    wanted record;
begin
    for wanted in select * from (values ('helio_owner', 'nologin'), ('helio_broker', 'login'), ('helio_reader', 'login'))
                  as r (name, login) loop
        if not exists (select from pg_roles where rolname = wanted.name) then
            begin
                execute format('create role %I %s', wanted.name, wanted.login);
            exception
                when insufficient_privilege then
                    raise notice 'role % not created: % may not create roles; let a superuser run `create role % %`, and run '
                        '`helio-broker migrate` again', wanted.name, current_user, wanted.name, wanted.login;
                when duplicate_object or unique_violation then
                    null; -- another database of this server was migrated at the same time
            end;
        end if;
    end loop;
end
$$;
