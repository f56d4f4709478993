-- The use of attempts whose end nobody saw is an estimate: from the start to the last proof of life.

alter table helio.ledger add column estimated boolean not null default false;
comment on column helio.ledger.estimated is 'The GPU time is an estimate, to the last proof of life: the end of the attempt was not seen.';
