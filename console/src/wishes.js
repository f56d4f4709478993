// What a job wants of its placement, as its file or an edit has it: [[term, value, note]]. Only the page of a single job knows it.
import { duration, instant, intensity, money, number } from "./format.js";

const later = (text, seconds) => new Date(Date.parse(text) + seconds * 1000).toISOString();

function deadlineOf(job, now) {
  const end = Date.parse(job.deadline);
  const done = job.finished_at ? Date.parse(job.finished_at) : null;
  if (done !== null) return done <= end ? " kept" : ` missed by ${duration((done - end) / 1000)}`;
  return end >= now ? ` in ${duration((end - now) / 1000)}` : ` missed by ${duration((now - end) / 1000)} so far`;
}

export function wishesOf(job, now) {
  if (job.goal === undefined) return [];
  return [
    ["Goal", job.goal ?? "prices of its own"],
    job.flexible_s > 0
      ? ["Flexible", duration(job.flexible_s), ` until ${instant(later(job.submitted_at, job.flexible_s), now)}`]
      : ["Flexible", "no", " it starts when it can"],
    ["Deadline", job.deadline ? instant(job.deadline, now) : "none", job.deadline && deadlineOf(job, now)],
    job.max_cost_usd !== null && ["May cost", money(job.max_cost_usd), " at most"],
    job.max_carbon_g_per_kwh !== null && ["Intensity", intensity(job.max_carbon_g_per_kwh), " at most"],
    job.priority !== 0 && ["Priority", number(job.priority), " among its tenant's jobs in the queue"],
  ];
}
