-- Comments in words that need no knowledge of the code.
comment on schema helio is 'The broker''s own tables. They change between releases; dashboards read helio_report.';
comment on schema helio_report is 'The interface for dashboards: columns are added, and never removed or renamed.';
comment on column helio.tokens.hash is 'SHA-256 of the secret part; the secret itself is not stored.';
comment on column helio.sites.carbon_g_per_kwh is 'The constant figure of the site file; below 0: unknown.';
comment on column helio.federation.open_from is 'No job with a smaller id is open, so a new leader starts reading here.';
comment on table helio.job_tails is 'The last characters of the ids of jobs that have an ended task: a job is found by them.';
comment on column helio.dependencies.after is 'What the job waits for: 0: the other job succeeds, 1: it ends, 2: it ends without success.';
comment on column helio.decisions.forecast_at is 'When the carbon forecast of the chosen site was issued; null: the site sends none.';
comment on column helio.candidates.score_micro_usd is 'The sum of cost and the terms carbon, wait, risk, shadow, move and transfer.';
comment on column helio.classes.expected_at is 'When its first waiting job is expected to start; null: unknown.';
comment on column helio.quotas.burst_gpus is 'GPUs that the tenant may use at once, over all sites; null: no limit.';
comment on column helio.quotas.weight_milli is 'Weight of its fair share, in thousandths; unused in rows of one queue.';
comment on column helio.rates.carbon_issued_at is 'When this intensity was issued; null: it is the constant figure of the site file.';
comment on column helio.rates.electricity_source is 'Where the electricity price is from; null: the rent includes electricity.';
comment on column helio.ledger.rates_id is 'The prices and the intensity that applied; null: from before these were stored.';
comment on column helio.actuals.estimated is 'The source calls it an estimate, or it was issued before the hour began and never confirmed.';
comment on table helio.baselines is 'For each job: what it used, what it would have used at its home site at once, and where it could have started first.';
comment on column helio.baselines.home_carbon_kind is
    'Kind and factor of the intensity of both figures; mixed: they differ; null: one of them is unknown.';
comment on table helio.data is 'The sites that hold the data below a URI prefix. The longest matching prefix counts.';
comment on table helio.links is 'Rates and egress prices between sites; *: any site. The most specific matching row counts.';
comment on column helio.placements.transfer_micro_usd is 'Egress. The planned cost, energy and carbon include the transfer.';
comment on column helio.candidates.egress_micro_usd is
    'Egress, part of transfer_micro_usd; cost_micro_usd, energy_j and carbon_mg are those of the run alone.';
comment on column helio.federation.lease_ms is 'The length of the leases that the leader grants; 0: unknown.';
comment on column helio.federation.leases_until is 'No lease of a former leader is valid after this time, without the safety margin.';
comment on column helio.job_state.evictions is 'How often the job was preempted for other tenants; from five times on it is not preempted again.';
comment on column helio.jobs.expected_ms is 'The expected run time on an A100; null: unknown, so the time limit is used.';
comment on column helio.jobs.expected_high_ms is 'Nine runs in ten are not longer than this.';
comment on column helio.jobs.expected_basis is 'What the expected run time rests on: 1: runs of the same tenant, user and name; 2: of the user; 3: of the kind.';
comment on column helio.placements.expected_ms is 'The run time for which planned_* were computed; null: the time limit.';
comment on column helio.queue_rules.zone is 'The time zone of the schedule; empty: UTC.';
comment on column helio.queue_rules.zone_data is 'The rules of that zone (TZif) when the rule was set.';
comment on column helio.queue_rules.holds is 'Whether the rule applied when the leader last looked.';
comment on column helio.job_state.saved_ms is
    'Run time that checkpoints have saved, summed over the attempts; at most the time limit.';
comment on column helio.sites.refused is 'Why the site''s agent was refused last; null: it was not refused lately.';
comment on column helio.sites.refused_at is 'Since when the agent is refused for that reason.';
comment on table helio.site_ledger is 'One row for each ended hour, pool and part. The meter of the site has no pool. Written once.';
comment on column helio.site_ledger.part is
    'helio.energy_part_word. Overhead is the PUE of idle GPUs and of jobs from outside, and hosts that no job pays for.';
comment on column helio.data.tenant is 'The tenant whose jobs find the data here and whose users see it; empty: all tenants.';
comment on column helio.job_state.moves is 'How often the job was told to migrate to a better site.';
comment on table helio.edits is 'One row for each edited job: what it asks for now.';
comment on column helio.edits.priority is 'Priority among the jobs of its tenant in its queue.';
comment on column helio.edits.prices_set is 'The prices of the document apply, not those of the goal.';
comment on table helio.edited is 'Who changed what of a job, from which value to which.';
comment on column helio.edited.seq is 'The transition that records the edit; its two states are equal.';
comment on column helio.budgets.period is 'helio.period_word; 0: no budget here, even if the queue has one for each tenant.';
comment on column helio.ledger_days.queue is 'Empty: unknown, because the job had ended before the end of the attempt was reported.';
comment on column helio.principals.disabled_at is 'Since when the user is disabled: none of the user''s tokens is accepted. Null for sites.';
comment on column helio.federation.home is
    'The database and table in which this row was written. After a dump is loaded elsewhere they differ from the current ones.';
comment on column helio.federation.restored_at is
    'When a leader found that this database is another copy than the last leader wrote to. A site seen since then has reported.';
comment on column helio.settled.looked is 'The unsettled job that was checked last: they are checked in turn.';
comment on table helio.unsettled is 'Old jobs that still had an open task when they were checked.';
comment on table helio.totals is 'Sums over the tasks of settled jobs. Ended tasks never change, so the sums stay true.';
comment on column helio.retention.oldest_at is 'The oldest row that was left at the last check; null: none.';
comment on column helio.retention.passed is 'Of idempotency keys: jobs with smaller ids have none, except some that were open then.';
comment on table helio.utilization is 'Sums over the samples of each hour that retention deleted: a share is the quotient of two sums.';
comment on table helio.access_version is 'Rises with each change of tokens or users, so that followers know when to read them again.';
comment on column helio.usage_days.queue is 'Empty: unknown, because the job had ended before the end of the attempt was reported.';
comment on column helio.usage_days.units_done is 'Null: unknown for every attempt of the group.';
comment on column helio.savings_days.carbon_kind is 'Empty: unknown.';
