-- A job is no longer placed again for ever after attempts that sites lost: they count beside the losses of sites.
comment on column helio.job_state.losses is
    'attempts that sites lost, or stopped although nobody asked, and attempts given up because their site was lost, since the job made progress; with the twentieth the job is held, or lost if its site was';
