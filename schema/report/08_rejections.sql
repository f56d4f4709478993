-- The catalogue of rejections (federation/reason/page.c), for people. Internal to schema helio: not a stable interface.

-- What a rejection means, for candidates without a detail of their own: helio_rejection_sentence (federation/reason/page.c), which tests
-- compare with this. A word of a newer release is returned as it is.
create or replace function helio.rejection_sentence(word text) returns text language sql immutable parallel safe
    return case word
        when 'SitePattern' then '`placement.sites` excludes the site'
        when 'Residency' then '`placement.regions` excludes the site''s region'
        when 'Backend' then '`placement.backends` lacks the site''s backend, or the job has keys for another backend'
        when 'NoSuchGPU' then 'the pool has no GPU of a requested model, or with the requested memory'
        when 'TooSmall' then 'the pool is too small for it, even empty: too few nodes, or too few GPUs or CPUs or too little memory in a node'
        when 'NoInterconnect' then 'the pool''s nodes do not have the `interconnect` that the job requests'
        when 'NoSharing' then 'the pool shares its GPUs among jobs, and the job requests GPUs of its own'
        when 'NoContainerRuntime' then 'the job has an `image`, and the site declares no container runtime'
        when 'NoLeases' then 'the site cannot stop a job whose lease has expired, which `on_site_loss: lease` requires'
        when 'NoSpot' then 'the provider can take the nodes of that spot pool away at any time, and the job declares no checkpoint, or says `placement.spot: never`'
        when 'NoUserMapping' then 'the site has no Unix user for the job''s tenant, so it could not start it'
        when 'NoSuchName' then 'the job''s `slurm` part names a partition or a feature that the pool''s cluster does not have'
        when 'NoLink' then 'no link is set over which the job''s data could reach the site'
        when 'Deadline' then 'more than one run in ten is expected to end after `deadline`; if no similar runs are known, a run that takes its whole time limit would'
        when 'CostCap' then 'a run of p90 length (or of the time limit, if no similar runs are known) costs more there than `max_cost`'
        when 'CarbonCap' then 'the mean carbon intensity of the run there is above `max_carbon`, or unknown'
        when 'Quota' then 'its tenant, or the tenant''s queue, holds as many GPUs as its quota allows'
        when 'Budget' then 'the rest of a budget of its tenant, or of the tenant''s queue, is less than the expected cost of the start'
        when 'Draining' then 'an operator drains the site: it gets no new jobs'
        when 'SiteSilent' then 'the site has no session, or has not reported its free capacity'
        when 'NoCapacity' then 'it does not fit now: the GPUs are in use or reserved for a waiting gang, or the site has just refused it'
        when 'Overflow' then 'an overflow group of the queue or the tenant opens the site only after a longer wait, or below a certain price'
        when 'Curtailed' then 'an operator has curtailed the site, often because the grid asked for it: with the job, its GPUs would use more power than they may'
        else nullif(word, '') end;

create or replace view helio.rejections as
select w.word, helio.rejection_sentence(w.word) as sentence
from unnest(array [
    'SitePattern', 'Residency', 'Backend', 'NoSuchGPU', 'TooSmall', 'NoInterconnect', 'NoSharing', 'NoContainerRuntime', 'NoLeases',
    'NoSpot', 'NoUserMapping', 'NoSuchName', 'NoLink', 'Deadline', 'CostCap', 'CarbonCap', 'Quota', 'Budget', 'Draining', 'SiteSilent',
    'NoCapacity', 'Overflow', 'Curtailed'
]) w (word);
