// A job's log as it grows. The text that is kept is bounded; the site keeps the whole.
export const KEPT = 200000; // characters

export function appended(text, more) {
  const all = text + more;
  if (all.length <= KEPT) return { text: all, cut: false };
  const from = all.indexOf("\n", all.length - KEPT) + 1;
  return { text: all.slice(from || all.length - KEPT), cut: true };
}

// Follows the log until the job is over or `signal` aborts. take (text) gets what is new; restart () says that it
// begins anew; epochNow () is the job's attempt: an offset into the log of an earlier one means nothing.
export async function followLog({ request, id, signal, take, restart, epochNow, rest }) {
  let place = null;
  while (!signal.aborted) {
    const resume = place && place.epoch === epochNow();
    if (!resume) restart();
    const search = resume ? `&offset=${place.offset}&epoch=${place.epoch}` : "";
    try {
      const answer = await request(`jobs/${id}/logs?follow=1${search}`, { signal, headers: { Accept: "text/plain" } });
      const header = (name) => Number(answer.headers.get(`X-Helio-Log-${name}`) ?? 0);
      place = { epoch: header("Epoch"), offset: header("Offset") };
      const reader = answer.body.getReader();
      const decoder = new TextDecoder();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        place.offset += part.value.length;
        take(decoder.decode(part.value, { stream: true }));
      }
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (error.status && error.status < 500 && error.status !== 429) throw error;
    }
    await rest();
  }
}
