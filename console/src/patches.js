// What the stream of events said of jobs since they were read: a list of thousands is not read again for one of them.
export class Patches {
  #known = new Map(); // id → {at, state, site, reason}

  take({ id, to, site, reason }, at = Date.now()) {
    this.#known.set(id, { at, state: to, site: site ?? null, reason: reason || null });
  }

  // A list that was asked for at that time has what came before it.
  forget(before) {
    for (const [id, { at }] of this.#known) if (at < before) this.#known.delete(id);
  }

  // The jobs as they are now, without those that are in none of the states any more.
  apply(jobs, states) {
    if (!this.#known.size) return jobs;
    return jobs.flatMap((job) => {
      const patch = this.#known.get(job.id);
      if (!patch || patch.state === job.state) return [job];
      if (!states.includes(patch.state)) return [];
      return [{ ...job, state: patch.state, site: patch.site ?? job.site, reason: patch.reason, detail: null }];
    });
  }
}
