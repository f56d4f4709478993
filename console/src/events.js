// Server-sent events over fetch, since EventSource cannot send the token in a header.
import { isFinal, rest } from "./patience.js";

// Splits text that arrives in pieces into events {id, event, data}; comments and `retry` are passed over.
export class EventParser {
  #rest = "";
  #lines = [];
  #id = "";

  push(text) {
    const events = [];
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) this.#take(line.replace(/\r$/, ""), events);
    return events;
  }

  #take(line, events) {
    if (line) {
      this.#lines.push(line);
      return;
    }
    const event = { id: this.#id, event: "message", data: "" };
    const data = [];
    for (const field of this.#lines) {
      const [, name, value] = /^([^:]*):? ?(.*)$/.exec(field);
      if (name === "id") event.id = this.#id = value;
      else if (name === "event") event.event = value;
      else if (name === "data") data.push(value);
    }
    this.#lines = [];
    event.data = data.join("\n");
    if (data.length) events.push(event);
  }
}

// Follows the events until `signal` aborts. take gets each event, tell the state: "live" or "waiting".
export async function follow({ request, signal, take, tell }) {
  let last = "";
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const answer = await request("events", { headers, signal });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      tell("live");
      failures = 0;
      for (let part = await reader.read(); !part.done; part = await reader.read())
        for (const event of parser.push(part.value)) {
          last = event.id || last;
          take(event);
        }
    } catch (error) {
      if (signal.aborted || isFinal(error)) return;
    }
    tell("waiting");
    await rest(failures);
  }
}
