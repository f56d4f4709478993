// Jobs in groups, and jobs that a text is found in.
import { shortId } from "./format.js";

const waits = ({ state }) => state === "queued" || state === "held";
const asked = ({ gpus, gpu_model: model }) => (gpus ? `${gpus} × ${model ?? "GPU"}` : "no GPU");

// By what: [title, the group of a job].
export const groupings = {
  queue: ["Queue", (job) => job.queue],
  user: ["User", (job) => job.user ?? "–"],
  tenant: ["Tenant", (job) => job.tenant],
  name: ["Name", (job) => job.name ?? "unnamed"],
  array: ["Array or job", (job) => (job.id.includes(".") ? `${job.name ?? "unnamed"} ${shortId(job.id.split(".")[0])}` : `${job.name ?? "unnamed"} ${shortId(job.id)}`)],
  asks: ["GPUs asked for", asked],
  site: ["Site", (job) => job.site ?? "none"],
  reason: ["Reason", (job) => (waits(job) ? (job.reason ?? "Queued") : "does not wait")],
};

// [{group, jobs, waiting, gpus_waiting, running, gpus_running, oldest}], the largest first. oldest: when its eldest job was submitted.
export function groupsOf(jobs, by) {
  const of = groupings[by][1];
  const groups = new Map();
  for (const job of jobs) {
    const name = of(job);
    let group = groups.get(name);
    if (!group) groups.set(name, (group = { group: name, jobs: 0, waiting: 0, gpus_waiting: 0, running: 0, gpus_running: 0, oldest: job.submitted_at }));
    group.jobs++;
    const kind = waits(job) ? "waiting" : "running";
    group[kind]++;
    group[`gpus_${kind}`] += job.gpus;
    if (job.submitted_at < group.oldest) group.oldest = job.submitted_at;
  }
  return [...groups.values()].sort((a, b) => b.jobs - a.jobs || String(a.group).localeCompare(String(b.group), "en", { numeric: true }));
}

export const isIn = (job, by, group) => groupings[by][1](job) === group;

// What is searched, once for each job: a search of ten thousand jobs runs at each key.
const texts = new WeakMap();
function textOf(job) {
  let text = texts.get(job);
  if (text === undefined) {
    const { name, id, user, tenant, queue, state, site, gpu_model: model, reason, detail } = job;
    texts.set(job, (text = [name, id, user, tenant, queue, state, site, model, reason, detail].filter(Boolean).join("\n").toLowerCase()));
  }
  return text;
}

// Every word has to be found somewhere.
export function found(jobs, words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return wanted.length ? jobs.filter((job) => wanted.every((word) => textOf(job).includes(word))) : jobs;
}
