-- Lists of jobs for GET /v1/jobs. Internal to schema helio: not a stable interface.

-- The smallest id of a time. Ids begin with the millisecond of the submission, and ascend.
create or replace function helio.id_floor(ms bigint) returns uuid language sql immutable parallel safe strict
    return (lpad(to_hex(greatest(least(ms, 281474976710655), 0)), 12, '0') || repeat('0', 20))::uuid;

create or replace function helio.id_ms(job uuid) returns bigint language sql immutable parallel safe strict
    return ('x' || left(translate(job::text, '-', ''), 12))::bit(48)::bigint;

-- An array as one entry of a list: what helio.task_object says of a task, of all of its tasks. It reads their states and no attempts, as an
-- array has up to 10,000 tasks; what a task waits for is that of the first one that waits.
create or replace function helio.array_object(job uuid) returns json language sql stable
    begin atomic
        select json_build_object(
            'id', helio.job_text(j.job_id, -1), 'name', j.name, 'tenant', j.tenant, 'user', j.user_name,
            'queue', coalesce(e.queue, j.queue), 'priority', coalesce(e.priority, 0), 'kind', helio.kind_word(j.kind),
            'tier', helio.tier_word(coalesce(e.tier, j.tier)),
            'state', case
                when a.live > 0 then 'running'
                when a.queued > 0 then 'queued'
                when a.held > 0 then 'held'
                when a.failed > 0 then 'failed'
                when a.timeout > 0 then 'timeout'
                when a.lost > 0 then 'lost'
                when a.cancelled > 0 then 'cancelled'
                else 'succeeded' end,
            'site', a.site, 'pool', null, 'home_site', j.home_site, 'epoch', a.epoch, 'attempts', a.attempts,
            'submitted_at', helio.rfc3339(j.submitted_at), 'started_at', helio.rfc3339(a.started_at),
            'finished_at', case when a.live + a.queued + a.held = 0 then helio.rfc3339(a.finished_at) end,
            'exit_code', case when a.live + a.queued + a.held = 0 then a.exit_code end,
            'gpus', j.gpus, 'nodes', j.nodes, 'gpu_model', j.gpu_model,
            'time_limit_s', coalesce(e.time_limit_ms, j.time_limit_ms) / 1000,
            'gpu_seconds', a.gpu_ms / 1000.0::float8, 'cost_usd', a.cost_micro_usd / 1000000.0::float8,
            'energy_kwh', a.energy_j / 3600000.0::float8, 'carbon_g', a.carbon_mg / 1000.0::float8, 'units_done', helio.bounded(a.units_done),
            'wait_seconds', helio.seconds_between(j.submitted_at, coalesce(a.started_at, a.finished_at, now())),
            'run_seconds', null, 'saved_seconds', nullif(a.saved_ms, 0) / 1000.0::float8,
            'reason', w.reason, 'detail', w.detail, 'details', w.details, 'expected_start', helio.rfc3339(w.expected_at),
            'labels', helio.labels_json(j.job_id),
            'tasks_total', a.total,
            'tasks', (select json_object_agg(helio.state_word(c.state::smallint), c.tasks order by c.state)
                      from unnest(a.counts) with ordinality as n (tasks, place) cross join lateral (select n.place - 1 as state, n.tasks) c
                      where c.tasks > 0))
        from helio.jobs j
        left join helio.edits e on e.job_id = j.job_id
        cross join lateral (
            select count(*) as total,
                count(*) filter (where n.state between 1 and 7) as live, count(*) filter (where n.state = 0) as queued,
                count(*) filter (where n.state = 13) as held, count(*) filter (where n.state = 9) as failed,
                count(*) filter (where n.state = 10) as timeout, count(*) filter (where n.state = 11) as cancelled,
                count(*) filter (where n.state = 12) as lost,
                array [count(*) filter (where n.state = 0), count(*) filter (where n.state = 1), count(*) filter (where n.state = 2),
                    count(*) filter (where n.state = 3), count(*) filter (where n.state = 4), count(*) filter (where n.state = 5),
                    count(*) filter (where n.state = 6), count(*) filter (where n.state = 7), count(*) filter (where n.state = 8),
                    count(*) filter (where n.state = 9), count(*) filter (where n.state = 10), count(*) filter (where n.state = 11),
                    count(*) filter (where n.state = 12), count(*) filter (where n.state = 13)] as counts,
                case when count(distinct n.site) = 1 then max(n.site) end as site, coalesce(max(n.epoch), 0) as epoch,
                coalesce(max(n.attempts), 0) as attempts, min(n.started_at) as started_at, max(n.finished_at) as finished_at,
                max(n.exit_code) as exit_code, coalesce(sum(n.gpu_ms), 0) as gpu_ms, coalesce(sum(n.cost_micro_usd), 0) as cost_micro_usd,
                coalesce(sum(n.energy_j), 0) as energy_j, coalesce(sum(n.carbon_mg), 0) as carbon_mg,
                coalesce(sum(n.units_done), 0) as units_done, sum(n.saved_ms) as saved_ms,
                min(n.task) filter (where n.state = 0) as first_queued
            from (select t.task, coalesce(s.state, 0::smallint) as state, s.site, s.epoch, s.attempts, s.started_at, s.finished_at, s.exit_code,
                      s.gpu_ms, s.cost_micro_usd, s.energy_j, s.carbon_mg, s.units_done, s.saved_ms
                  from unnest(j.tasks) as t (task)
                  left join (select * from helio.job_state o where o.job_id = j.job_id offset 0) s on s.task = t.task) n
        ) a
        left join lateral (select x.reason, x.detail, x.details, x.expected_at from helio.tasks_now x
                           where x.job_id = j.job_id and x.task = a.first_queued) w on true
        where j.job_id = job;
    end;

-- A page of jobs: {"jobs": […], "next": cursor or null}, newest first, one entry per task, or per array where they are whole.
--
-- What is looked through is chosen by the filters: jobs that may be open where no wanted state is over; otherwise jobs with the first
-- label, or of the user, by their indexes; otherwise, for states that are failures, helio.ended_badly; otherwise all jobs. In each it goes
-- from the newest id on, in portions of 500 to 2,000 tasks, larger where they are read quickly, until the page is full, everything was looked
-- through, or it took too long:
-- then the page is short, or empty, and `next` goes on from there. So no filter, however few jobs it fits, makes one request read all jobs.
-- A portion ends with the job that fills it: an array, of up to 10,000 tasks, can be one by itself. What has no task to look at counts as one,
-- such as an array of another tenant. Where jobs are found by the rows of their tasks, a portion also has a bounded number of these.
-- Entries of whole arrays read all of their tasks, so a page of them is short, too, where they have many.
--
-- Sorted by something else than the submission, it looks through one larger portion, and there is no next page: "looked_to" is the time of
-- the oldest job that was looked at if there are older ones.
--
-- Each query is planned with the values of its parameters, as one plan for all filters would read too much for most of them.
create or replace function helio.list_jobs(of_tenant text, of_states text, of_queue text, of_name text, of_user text, of_site text, since text,
    until text, of_labels text, sorted text, arrays text, after_id text, most text) returns text language plpgsql stable
    set search_path = pg_catalog as $$
declare
    portion integer := 500; -- tasks; of jobs that are not in memory it takes a hundred times as long
    portion_most constant integer := 2000;
    rows_per_task constant integer := 10; -- of job_state or ended_badly, which are read in their order
    whole_tasks constant integer := 30000; -- of the arrays of a page
    quick constant interval := '25 milliseconds';
    portion_began timestamptz;
    sorted_portion constant integer := 10000;
    patience constant interval := '150 milliseconds';
    began constant timestamptz := clock_timestamp();
    page_rows constant integer := least(greatest(most::integer, 1), 1000);
    whole constant boolean := arrays is not null and arrays = 'whole';
    by_key constant text := case sorted when 'started' then 's.started_at' when 'finished' then 's.finished_at' when 'gpus' then 'j.gpus'
        when 'cost' then 's.cost_micro_usd' when 'energy' then 's.energy_j' when 'carbon' then 's.carbon_mg' end;
    from_job uuid := least(coalesce(helio.job_uuid(after_id), 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
        coalesce(helio.id_floor(until::bigint), 'ffffffff-ffff-ffff-ffff-ffffffffffff'));
    from_task integer := coalesce(helio.job_task(after_id), 2147483647);
    least_job constant uuid := coalesce(helio.id_floor(since::bigint), '00000000-0000-0000-0000-000000000000');
    mark constant uuid := helio.open_from();
    settled constant uuid := helio.settled_to();
    states smallint[];
    labels constant text[] := string_to_array(of_labels, ',');
    per_job text := '';
    per_task text := '';
    placed boolean; -- only tasks with a row of their state can fit
    arms text[] := '{}'; -- of "x.job_id from … where …": what is looked through
    rows_of text[] := '{}'; -- of "b.job_id from … where …": the rows of tasks by which arms find their jobs
    before text; -- how ids to look through compare with from_job
    of_arms text;
    weight text := '1'; -- the tasks of job u to look at
    bottom uuid;
    page_end integer;
    recent text; -- jobs from a mark on that can have a wanted state
    of_tasks text; -- those of job j
    query text;
    cut uuid; -- the last job of the portion if there may be others after it
    filled_by uuid;
    page_jobs uuid[] := '{}';
    page_tasks integer[] := '{}';
    found_jobs uuid[];
    found_tasks integer[];
    next_id text;
    entries text;
begin
    if of_states is not null then
        select coalesce(array_agg(helio.state_of(w)), '{}') into states from unnest(string_to_array(of_states, ',')) w;
        states := array_remove(states, null);
        per_task := per_task || format(' and coalesce(s.state, 0::smallint) = any (%L::smallint[])', states);
    end if;
    per_job := concat(case when of_tenant is not null then format(' and j.tenant = %L', of_tenant) end,
        case when of_name is not null then format(' and j.name = %L', of_name) end,
        case when of_user is not null then format(' and j.user_name = %L', of_user) end,
        case when of_queue is not null then
            format(' and coalesce((select e.queue from helio.edits e where e.job_id = j.job_id), j.queue) = %L', of_queue) end,
        (select string_agg(format(' and exists (select from helio.labels l where l.job_id = j.job_id and l.key = %L%s)',
             split_part(w, '=', 1), case when w ~ '=' then format(' and l.value = %L', substr(w, strpos(w, '=') + 1)) end), '')
         from unnest(labels) w));
    if of_site is not null then
        per_task := per_task || format(' and s.site = %L', of_site);
    end if;

    -- what has a row of its state is found by it; a task that was never placed has none
    recent := case when states is not null and not 0 = any (states)
        then format('(select distinct b.job_id from helio.job_state b where b.job_id >= %%L and b.state = any (%L::smallint[]) and b.job_id <= $1 '
             'and b.job_id >= $2 order by b.job_id desc) x where true', states)
        else 'helio.jobs x where x.job_id >= %L' end;
    if states is not null and not exists (select from unnest(states) w where helio.state_is_over(w)) then
        arms := array [format(recent, mark), format('helio.unsettled x where x.job_id < %L', mark)];
        rows_of := array [format('helio.job_state b where b.job_id >= %L', mark)];
    elsif labels is not null then
        arms := array [format('helio.labels x where x.key = %L%s', split_part(labels[1], '=', 1),
            case when labels[1] ~ '=' then format(' and x.value = %L', substr(labels[1], strpos(labels[1], '=') + 1)) end)];
    elsif of_user is not null then
        arms := array [format('helio.jobs x where x.user_name = %L', of_user)];
    elsif states is not null and not 8 = any (states) then
        arms := array [format(recent, settled),
            format('helio.unsettled x where x.job_id < %L', settled)]
            || array (select format('(select distinct b.job_id from helio.ended_badly b where b.state = %s and b.job_id < %L and b.job_id <= $1 '
                'and b.job_id >= $2 order by b.job_id desc) x where true', w, settled) from unnest(states) w where helio.state_is_over(w));
        rows_of := format('helio.job_state b where b.job_id >= %L', settled)
            || array (select format('helio.ended_badly b where b.state = %s and b.job_id < %L', w, settled)
                      from unnest(states) w where helio.state_is_over(w));
    else
        arms := array ['helio.jobs x where true'];
    end if;
    if 0 = any (states) then
        rows_of := '{}';
    end if;
    if per_task <> '' or by_key is not null then
        weight := format('coalesce((select cardinality(j.tasks) from helio.jobs j where j.job_id = u.job_id and j.tasks is not null%s), 1)', per_job);
    end if;
    if by_key is not null then
        portion := sorted_portion;
    end if;

    placed := of_site is not null or states is not null and not 0 = any (states);
    of_tasks := case when whole and by_key is null and per_task = '' then '(select -1) as t (task)'
        when per_task = '' and by_key is null then $u$unnest(coalesce(j.tasks, '{-1}'::integer[])) as t (task)$u$
        else format('(select %s as task%s from %s where true%s%s) t',
            case when whole and by_key is null then '-1' when placed then 's.task' else 'u.task' end,
            case when by_key is not null then format(', %s as by_key', by_key) end,
            case when placed then '(select * from helio.job_state o where o.job_id = d.job_id offset 0) s'
                else $u$unnest(coalesce(j.tasks, '{-1}'::integer[])) as u (task) left join lateral $u$
                    || '(select * from helio.job_state o where o.job_id = d.job_id and o.task = u.task limit 1) s on true' end,
            per_task, case when whole and by_key is null then ' limit 1' end) end;
    -- nothing is left of a job whose last task was on the page before
    if whole and by_key is null or not exists (select from helio.jobs j where j.job_id = from_job and j.tasks[cardinality(j.tasks)] > from_task) then
        from_task := 2147483647;
    end if;
    loop
        portion_began := clock_timestamp();
        cut := null;
        bottom := least_job;
        before := case when from_task = 2147483647 then '<' else '<=' end;
        if rows_of <> '{}' then
            execute (select format('select r.job_id from (%s) r order by r.job_id desc limit 1', string_agg(format('(select b.job_id from %s '
                         'and b.job_id %s $1 and b.job_id >= $2 order by b.job_id desc offset %s limit 1)', a, before, portion * rows_per_task),
                         ' union all '))
                     from unnest(rows_of) a)
                into cut using from_job, least_job;
            bottom := coalesce(cut, least_job);
        end if;
        -- a page that takes the first jobs that come needs no end
        if per_job <> '' or per_task <> '' or by_key is not null then
            of_arms := (select string_agg(format('(select x.job_id from %s and x.job_id %s $1 and x.job_id >= $2 order by x.job_id desc limit %s)',
                            a, before, portion), ' union ') from unnest(arms) a);
            execute format('select w.job_id from (select u.job_id, sum(%s) over (order by u.job_id desc) as passed from (select o.job_id from (%s) o '
                        'order by o.job_id desc limit %s) u) w where w.passed >= %s order by w.job_id desc limit 1', weight, of_arms, portion, portion)
                into filled_by using from_job, bottom;
            cut := coalesce(filled_by, cut);
        end if;
        query := (select string_agg(format('(select d.job_id, t.task%s from (select x.job_id from %s and x.job_id %s $1 and x.job_id >= $2 '
                      'order by x.job_id desc) d cross join lateral (select * from helio.jobs k where k.job_id = d.job_id offset 0) j '
                      'cross join lateral %s where (d.job_id < $1 or t.task > $3)%s order by %s d.job_id desc, t.task limit %s)',
                      case when by_key is not null then ', t.by_key' end, a, before, of_tasks, per_job,
                      case when by_key is not null then 't.by_key desc nulls last,' end, page_rows + 1), ' union ')
                  from unnest(arms) a);
        query := format('select coalesce(array_agg(v.job_id order by v.place), $l${}$l$), coalesce(array_agg(v.task order by v.place), $l${}$l$) from '
            '(select u.job_id, u.task, row_number() over (order by %s u.job_id desc, u.task) as place from (%s) u order by 3 limit %s) v',
            case when by_key is not null then 'u.by_key desc nulls last,' end, query, page_rows + 1 - cardinality(page_jobs));
        execute query into found_jobs, found_tasks using from_job, coalesce(cut, least_job), from_task;
        page_jobs := page_jobs || found_jobs;
        page_tasks := page_tasks || found_tasks;
        exit when by_key is not null or cut is null or cardinality(page_jobs) > page_rows or clock_timestamp() - began > patience;
        from_job := cut;
        from_task := 2147483647;
        portion := case when clock_timestamp() - portion_began < quick then least(portion * 4, portion_most) else greatest(portion / 2, 500) end;
    end loop;

    if by_key is null then
        next_id := case when cardinality(page_jobs) > page_rows then helio.job_text(page_jobs[page_rows], page_tasks[page_rows])
            when cut is not null then helio.job_text(cut, case when not whole then
                coalesce((select j.tasks[cardinality(j.tasks)] from helio.jobs j where j.job_id = cut), -1) else -1 end) end;
    end if;
    page_jobs := page_jobs[:page_rows];
    page_tasks := page_tasks[:page_rows];
    if whole and by_key is null then
        select w.place into page_end
        from (select u.place, sum(coalesce((select cardinality(j.tasks) from helio.jobs j where j.job_id = u.job_id and j.tasks is not null), 1))
                  over (order by u.place) as passed
              from unnest(page_jobs) with ordinality as u (job_id, place)) w
        where w.passed >= whole_tasks
        order by w.place
        limit 1;
        if page_end < cardinality(page_jobs) then
            next_id := helio.job_text(page_jobs[page_end], -1);
            page_jobs := page_jobs[:page_end];
            page_tasks := page_tasks[:page_end];
        end if;
    end if;
    select string_agg(x.entry, ', ' order by k.place) into entries
    from (select u.job_id, array_agg(u.task) as tasks from unnest(page_jobs, page_tasks) u (job_id, task) group by u.job_id) p
    cross join lateral (
        select case when p.tasks = '{-1}' and j.tasks is not null then -1 else t.task end as task,
            case when p.tasks = '{-1}' and j.tasks is not null then helio.array_object(p.job_id) else helio.task_object(t) end::text as entry
        from helio.jobs j
        left join helio.tasks_now t on t.job_id = p.job_id and t.task = any (p.tasks)
        where j.job_id = p.job_id
        offset 0
    ) x
    join unnest(page_jobs, page_tasks) with ordinality as k (job_id, task, place) on k.job_id = p.job_id and k.task = x.task;
    return concat('{"jobs" : [', entries, '], "next" : ', coalesce(to_json(next_id)::text, 'null'),
        case when by_key is not null then ', "looked_to" : '
            || coalesce(to_json(helio.rfc3339(helio.ms_at(helio.id_ms(cut))))::text, 'null') end,
        case when entries is null and of_user is not null and next_id is null and not exists (select from helio.tokens k where k.user_name = of_user
                and (of_tenant is null or k.tenant = of_tenant)) then ', "users" : '
            || (select coalesce(json_agg(u.user_name order by u.user_name), '[]')::text
                from (select distinct k.user_name from helio.tokens k where of_tenant is null or k.tenant = of_tenant order by 1 limit 200) u) end,
        '}');
end
$$;
