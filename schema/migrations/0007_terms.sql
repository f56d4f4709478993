-- What a score is the sum of, which forecast a decision rests on, and when a class is expected to start.

alter table helio.decisions add column forecast_at timestamptz;
comment on column helio.decisions.forecast_at is 'issue of the chosen site''s carbon series; null: it sends none';

alter table helio.candidates
    add column carbon_micro_usd bigint not null default 0,
    add column wait_micro_usd bigint not null default 0,
    add column risk_micro_usd bigint not null default 0,
    add column shadow_micro_usd bigint not null default 0,
    add column move_micro_usd bigint not null default 0,
    add column transfer_micro_usd bigint not null default 0;
comment on column helio.candidates.score_micro_usd is 'cost + carbon + wait + risk + shadow + move + transfer';

alter table helio.classes add column expected_at timestamptz;
comment on column helio.classes.expected_at is 'when the first of its waiting jobs is expected to start; null: not foreseen';
