-- Which process of a site's agent was in session: a new leader admits no other one while that one may be alive.
alter table helio.sites add column agent_process text;
comment on column helio.sites.agent_process is
    'The boot_id of the agent''s process that is in session, or was when its leader ended; null = the session ended.';
