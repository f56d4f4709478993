-- Former names of internal tables, views and functions. Schema helio is no contract, so nothing keeps them. They are dropped last, when the views
-- that used them have been replaced. What an operator has based on one stays.
do $$
declare
    former text;
begin
    foreach former in array array ['view helio.tasks_in_sight', 'view helio.jobs_in_sight', 'view helio.sight',
        'table helio.ledger_days_before', 'function helio.build_walls()', 'function helio.missing_walls()', 'function helio.reader_wall(text)'] loop
        if (case when former ~ '^(view|table) ' then to_regclass(split_part(former, ' ', 2))::oid
                else to_regprocedure(substr(former, 10))::oid end) is not null then
            begin
                execute 'drop ' || former;
            exception
                when dependent_objects_still_exist then
                    raise notice '% stays: other objects of this database use it', former;
            end;
        end if;
    end loop;
end
$$;
