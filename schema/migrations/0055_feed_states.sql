-- Whether the feed of a series failed, and since when it gave nothing: as data. Before, agents wrote it into the text of the source.
create function helio.feed_state_word(state smallint) returns text language sql immutable parallel safe
    return (array ['current', 'last_good', 'no_data'])[state];

-- A source as people read it: the feed's name, what replaces its values, and since when.
create function helio.source_text(source text, state smallint, last_value_at timestamptz) returns text
    language sql stable parallel safe
    return source || coalesce(case state when 2 then ', last good ' when 3 then ', no data since ' end
        || to_char(last_value_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24"Z"'), '');

alter table helio.series_now add column feed_state smallint, add column last_value_at timestamptz;
alter table helio.series add column feed_state smallint, add column last_value_at timestamptz;
alter table helio.actuals add column feed_state smallint, add column last_value_at timestamptz;
alter table helio.rates
    add column pue_feed_state smallint, add column pue_last_value_at timestamptz,
    add column price_feed_state smallint, add column price_last_value_at timestamptz,
    add column electricity_feed_state smallint, add column electricity_last_value_at timestamptz,
    add column carbon_feed_state smallint, add column carbon_last_value_at timestamptz;

do $comments$
declare
    c record;
begin
    for c in select * from (values ('series_now', ''), ('series', ''), ('actuals', ''), ('rates', 'pue_'), ('rates', 'price_'),
            ('rates', 'electricity_'), ('rates', 'carbon_')) as t (name, prefix) loop
        execute format('comment on column helio.%I.%I is %L', c.name, c.prefix || 'feed_state',
            'State of the feed, as helio.feed_state_word names it; null: the site''s agent did not report it, or no feed is used.');
        execute format('comment on column helio.%I.%I is %L', c.name, c.prefix || 'last_value_at',
            'Time of the last value of a feed that failed; of one that never gave any, when it was first asked. Null: it did not fail.');
    end loop;
end $comments$;
