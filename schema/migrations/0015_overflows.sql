-- Overflow groups: ordered lists of places for the jobs of a queue (queue '' = of all) and a tenant (the same).
create table helio.overflows (
    name   text primary key,
    queue  text not null,
    tenant text not null check (queue <> '' or tenant <> ''),
    steps  text not null,
    set_at timestamptz not null
);
comment on column helio.overflows.steps is 'as in federation/policy/overflow.h: home-*; cloud,after=30m,max-price=3';
