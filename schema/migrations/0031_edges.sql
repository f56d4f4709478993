-- Four transitions that no release has taken are listed no more. An accepted job whose backend fails is queued again or held, never
-- failed. A suspect job whose site is back takes its former state before it ends, so that its history shows both.
-- The constraint on helio.transitions is not valid (0022), so that rows of earlier releases are not held to this.
create or replace function helio.edge_listed(from_state smallint, to_state smallint) returns boolean
    language sql immutable parallel safe
    return coalesce(to_state between 0 and 13 and
        ((array [10242, 221, 8409, 10193, 10209, 208, 3969, 6271, 0, 0, 0, 0, 0, 2049])[from_state + 1]
            >> to_state::integer) & 1 = 1, false);
