-- What a site was at the end of each quarter of an hour (/v1/history) is one sample in fifteen, which an index finds without the others.

-- Whether the time is in the last two minutes of a quarter of an hour, the end with it and the beginning not. Pools are sampled a minute
-- after their last sample, or some seconds later: one that reports has a sample in these two.
create function helio.ends_quarter(at timestamptz) returns boolean language sql immutable parallel safe
    return at - date_bin('15 minutes', at, '2000-01-01 00:00:00.000001+00') > interval '13 minutes' - interval '1 microsecond';

create index capacity_samples_quarter on helio.capacity_samples (site, pool, at) where helio.ends_quarter(at);
