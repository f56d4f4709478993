// SPDX-License-Identifier: Apache-2.0
// A client of a Heliostat federation for Node 20 or later and for browsers, by fetch alone.
import { Operations } from "./api.js";
import type { Asked, Details, Event, Job, SubmitJobsAnswer, Text } from "./api.js";

export * from "./api.js";

const FIRST_WAIT_MS = 250; // doubled by each further attempt
const LONGEST_WAIT_MS = 4000;
const RETRY_AFTER_MOST_MS = 30000;
const LEAST_ATTEMPTS = 3;
const STREAM_SILENCE_MS = 45000; // the broker sends a comment every 15 s
const LOG_SILENCE_MS = 60000; // after which a log without a new byte is asked for anew
const POLL_MS = 2000; // without a stream of events
const POLL_BESIDE_STREAM_MS = 60000;
const ARRAY_PAUSE_MS = 1000; // a large array sends thousands of events
const TRANSIENT = new Set([429, 502, 503, 504]);
const NOT_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** The states in which a job has ended. */
export const TERMINAL: ReadonlySet<string> = new Set(["succeeded", "failed", "timeout", "cancelled", "lost"]);

/** Anything that this module throws by itself. */
export class HeliostatError extends Error {
  override name = "HeliostatError";
}

/** No broker answered. If the request changes something, nothing of it was sent. */
export class Unreachable extends HeliostatError {
  override name = "Unreachable";
}

/** The request was sent and its answer was lost: it may have been carried out. It was not repeated. */
export class OutcomeUnknown extends HeliostatError {
  override name = "OutcomeUnknown";
}

/** The job had not ended when the time was over. It is not affected. */
export class WaitTimeout extends HeliostatError {
  override name = "WaitTimeout";
}

/** The broker refuses the request (RFC 9457). Branch on `reason`, and within it on `code`; `detail` is for people. */
export class Problem extends HeliostatError {
  override name = "Problem";
  readonly reason: string;
  readonly code: string;
  readonly detail: string;
  readonly details: NonNullable<Details>;
  /** What to do about it; "" if nothing is known. */
  readonly remedy: string;
  /** Of an abbreviated id: the jobs that have it. */
  readonly ambiguous: string[];

  constructor(
    readonly status: number,
    readonly body: Record<string, unknown>,
    /** Milliseconds after which to try again. */
    readonly retryAfterMs?: number,
  ) {
    const detail = String(body["detail"] ?? body["title"] ?? `HTTP status ${status}`);
    super(detail);
    this.detail = detail;
    this.reason = String(body["reason"] ?? "Unknown");
    this.details = (body["details"] ?? []) as NonNullable<Details>;
    this.code = this.details[0]?.code ?? "";
    this.remedy = String(body["hint"] ?? this.details[0]?.params["remedy"] ?? "");
    this.ambiguous = (body["ambiguous"] ?? []) as string[];
  }
}

export interface ClientOptions {
  /** The URL of a broker, or of several of one federation: any of them serves every request. */
  broker: string | string[];
  token?: string;
  /** The longest time that one request may take (30 s). */
  timeoutMs?: number;
  /** How long a request that is safe to repeat is repeated while no broker answers (30 s); it has three attempts at least. */
  patienceMs?: number;
  /** In place of the global fetch, for certificates of one's own or for a proxy. */
  fetch?: typeof fetch;
}

/** Members of an event of /v1/events. At `resync` some events are missing: read the jobs themselves. */
export interface ServerEvent {
  id: string;
  kind: string;
  data: Partial<Event>;
}

/** One attempt without an answer. */
class Failure extends Error {
  constructor(
    message: string,
    readonly sent: boolean,
  ) {
    super(message);
  }
}

const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = (): void => {
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(end, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", stop, { once: true });
  });

/** The waits double, and the lower half of each is random, so that clients do not come together. */
function backoffMs(count: number, leastMs = 0): number {
  const longest = Math.min(FIRST_WAIT_MS * 2 ** (count - 1), LONGEST_WAIT_MS);
  return Math.max(longest * (0.5 + Math.random() / 2), Math.min(leastMs, RETRY_AFTER_MOST_MS));
}

const retryAfterMs = (answer: Response): number | undefined => {
  const text = answer.headers.get("Retry-After");
  return text && /^\d+$/.test(text) ? Number(text) * 1000 : undefined;
};

const why = (error: unknown): { text: string; code: string } => {
  const cause = (error as { cause?: { code?: string; message?: string } }).cause;
  return { text: cause?.message || cause?.code || String((error as Error).message ?? error), code: cause?.code ?? "" };
};

/** Server-sent events from the text of a stream. */
class Lines {
  private rest = "";

  *feed(text: string): Generator<ServerEvent> {
    const blocks = (this.rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields: Record<string, string> = {};
      for (const line of block.split("\n")) {
        const colon = line.indexOf(":");
        if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
      }
      if (fields["data"] !== undefined)
        yield { id: fields["id"] ?? "", kind: fields["event"] ?? "message", data: JSON.parse(fields["data"]) as Partial<Event> };
    }
  }
}

/** A method for each operation of the API, and what takes more than one request: submit, wait, jobs, logs, events. */
export class Client extends Operations {
  private readonly brokers: string[];
  private at = 0; // the broker that answered last
  private readonly timeoutMs: number;
  private readonly patienceMs: number;
  private readonly fetch: typeof fetch;

  constructor(private readonly options: ClientOptions) {
    super();
    this.brokers = [options.broker].flat().map((url) => url.replace(/\/+$/, ""));
    if (!this.brokers.length || !this.brokers.every((url) => /^https?:\/\/[!-~]+$/.test(url)))
      throw new HeliostatError("the broker must be a URL such as https://broker.example");
    this.timeoutMs = options.timeoutMs ?? 30000;
    this.patienceMs = options.patienceMs ?? 30000;
    this.fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  }

  // ---- requests

  private target(asked: Asked): string {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(asked.query ?? {}))
      if (value !== undefined) query.set(name, Array.isArray(value) ? value.join(",") : String(value));
    return `${this.brokers[this.at % this.brokers.length]}${asked.path}${query.size ? `?${query}` : ""}`;
  }

  private async send(asked: Asked, signal: AbortSignal): Promise<Response> {
    const text = asked.body !== null && typeof asked.body === "object" && "contentType" in asked.body && "text" in asked.body ? (asked.body as Text) : undefined;
    const headers = new Headers();
    for (const [name, value] of Object.entries(asked.headers ?? {})) if (value !== undefined) headers.set(name, String(value));
    if (this.options.token) headers.set("Authorization", `Bearer ${this.options.token}`);
    if (asked.body !== undefined) headers.set("Content-Type", text?.contentType ?? "application/json");
    const body = asked.body === undefined ? undefined : text ? (text.text as BodyInit) : JSON.stringify(asked.body);
    try {
      return await this.fetch(this.target(asked), { method: asked.method, headers, body, signal, redirect: "error" });
    } catch (error) {
      asked.signal?.throwIfAborted();
      const { text: said, code } = why(error);
      throw new Failure(`${this.brokers[this.at % this.brokers.length]}: ${signal.aborted ? `no answer within ${this.timeoutMs} ms` : said}`, !NOT_SENT.has(code));
    }
  }

  /** One attempt, with its whole body unless the answer is a stream. */
  private async attempt(asked: Asked): Promise<{ answer: Response; body?: Uint8Array }> {
    const control = new AbortController();
    const timer = setTimeout(() => control.abort(), this.timeoutMs);
    const signal = asked.signal ? AbortSignal.any([asked.signal, control.signal]) : control.signal;
    try {
      const answer = await this.send(asked, signal);
      if (asked.answer === "response" && answer.ok) return { answer };
      return { answer, body: new Uint8Array(await answer.arrayBuffer()) };
    } catch (error) {
      asked.signal?.throwIfAborted();
      throw error instanceof Failure ? error : new Failure(`the answer broke off: ${why(error).text}`, true);
    } finally {
      clearTimeout(timer);
    }
  }

  private problem(answer: Response, body: Uint8Array): Problem {
    let found: unknown;
    try {
      found = JSON.parse(new TextDecoder().decode(body));
    } catch {
      found = {};
    }
    return new Problem(answer.status, (found ?? {}) as Record<string, unknown>, retryAfterMs(answer));
  }

  /** The answer, and whether an earlier attempt may have been carried out. Repeats what may be repeated. */
  private async call(asked: Asked, patienceMs = this.patienceMs): Promise<{ value: unknown; repeated: boolean }> {
    const safe = asked.safe ?? (asked.method === "GET" || asked.method === "PUT" || asked.method === "DELETE" || !!asked.headers?.["Idempotency-Key"]);
    const end = Date.now() + patienceMs;
    let repeated = false;
    for (let count = 1; ; count++) {
      let failed: HeliostatError;
      let leastMs: number | undefined;
      let busy = false;
      try {
        const { answer, body } = await this.attempt(asked);
        if (!body) return { value: answer, repeated };
        if (answer.ok) {
          const text = new TextDecoder().decode(body);
          return { value: asked.answer === "text" ? text : text ? JSON.parse(text) : undefined, repeated };
        }
        const problem = this.problem(answer, body);
        busy = problem.status === 429; // it has changed nothing, whatever the method
        if (!TRANSIENT.has(problem.status) || !(safe || busy)) throw Object.assign(problem, { repeated });
        failed = problem;
        leastMs = problem.retryAfterMs;
        repeated = true;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.sent && !safe) throw new OutcomeUnknown(`${error.message}; it is unknown whether the request was carried out`);
        failed = new Unreachable(error.message);
        repeated ||= error.sent;
      }
      const elsewhere = !busy && this.brokers.length > 1;
      if (elsewhere) this.at++;
      const wait = elsewhere && count % this.brokers.length ? 0 : backoffMs(count, leastMs);
      if (Date.now() + wait > end && (count >= LEAST_ATTEMPTS || wait > patienceMs)) throw Object.assign(failed, { repeated });
      await sleep(wait, asked.signal);
    }
  }

  protected override async ask(asked: Asked): Promise<unknown> {
    return (await this.call(asked)).value;
  }

  // ---- what takes more than one request

  /**
   * Stores one job, or all of several, durably. job: a job file as an object, an array of them, or a text of YAML, sent as it is. Without a key a new
   * one is made, so that this stores the jobs once even if an answer is lost.
   */
  submit(job: Record<string, unknown> | Record<string, unknown>[] | string, options: { idempotencyKey?: string; signal?: AbortSignal } = {}): Promise<SubmitJobsAnswer> {
    const body = typeof job === "string" ? { text: job, contentType: "application/yaml" } : Array.isArray(job) ? { jobs: job } : job;
    return this.submitJobs(body, { ...options, idempotencyKey: options.idempotencyKey ?? crypto.randomUUID() });
  }

  /** All jobs, newest first; pages are asked for as they are needed. */
  async *jobs(options: Parameters<Operations["listJobs"]>[0] = {}): AsyncGenerator<Job> {
    let cursor: string | undefined;
    do {
      const page = await this.listJobs({ ...options, cursor });
      yield* page.jobs;
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
  }

  /** As the operation; if its answer was lost and the job has been cancelled, that is no conflict. */
  override async cancelJob(...[id, options]: Parameters<Operations["cancelJob"]>): ReturnType<Operations["cancelJob"]> {
    try {
      return await super.cancelJob(id, options);
    } catch (error) {
      if (error instanceof Problem && error.status === 409 && (error as { repeated?: boolean }).repeated) {
        const job = await this.showJob(id, options);
        if (job.state === "cancelled") return { id: job.id, status: "cancelled" };
      }
      throw error;
    }
  }

  /** The bytes of a stream; a silence of so many ms ends it with a Failure. */
  private async *bytes(answer: Response, silenceMs: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
    let late: ReturnType<typeof setTimeout> | undefined;
    const stop = (): void => void reader.cancel().catch(() => undefined);
    signal?.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        const silence = new Promise<never>((_, reject) => (late = setTimeout(() => reject(new Failure("it is silent", true)), silenceMs)));
        const piece = await Promise.race([reader.read(), silence]).finally(() => clearTimeout(late));
        signal?.throwIfAborted();
        if (piece.done) return;
        yield piece.value;
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof Failure ? error : new Failure(why(error).text, true);
    } finally {
      signal?.removeEventListener("abort", stop);
      stop();
    }
  }

  /** Transitions of jobs without an end. A connection that is lost is made again after the last event that was received. */
  async *events(options: { lastEventId?: string; signal?: AbortSignal; onOpen?: () => void } = {}): AsyncGenerator<ServerEvent> {
    let last = options.lastEventId;
    for (let failures = 0; ; ) {
      const answer = await this.followEvents({ lastEventID: last === undefined ? undefined : Number(last), signal: options.signal });
      const lines = new Lines();
      const decoder = new TextDecoder();
      options.onOpen?.();
      try {
        for await (const piece of this.bytes(answer, STREAM_SILENCE_MS, options.signal)) {
          failures = 0;
          for (const event of lines.feed(decoder.decode(piece, { stream: true }))) {
            last = event.id || last;
            yield event;
          }
        }
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
      }
      await sleep(backoffMs(++failures), options.signal);
    }
  }

  /** The job when `isDone` says so. Events wake this up; without a stream it asks every two seconds. Once a broker has answered, it waits without limit. */
  private async until(id: string, isDone: (job: Job) => boolean, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<Job> {
    const end = options.timeoutMs === undefined ? Infinity : Date.now() + options.timeoutMs;
    const over = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, over.signal]) : over.signal;
    let wake: () => void = () => undefined;
    let open = false;
    let dirty = true;
    let whole: string | undefined;
    const touch = (): void => {
      dirty = true;
      wake();
    };
    const watch = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          for await (const event of this.events({ signal, onOpen: () => ((open = true), touch()) })) {
            const of = event.data.id;
            if (event.kind !== "transition" || !whole || of === whole || of?.startsWith(whole + ".")) touch();
          }
        } catch {
          open = false;
          await sleep(POLL_MS, signal).catch(() => undefined);
        }
      }
    };
    const watcher = watch();
    try {
      for (let failures = 0, first = true; ; first = false) {
        options.signal?.throwIfAborted();
        dirty = false;
        let job: Job | undefined;
        try {
          job = (await this.call({ method: "GET", path: `/v1/jobs/${encodeURIComponent(whole ?? id)}`, answer: "json", signal: options.signal }, first ? undefined : 0)).value as Job;
          failures = 0;
        } catch (error) {
          const passing = error instanceof Unreachable || (error instanceof Problem && (TRANSIENT.has(error.status) || error.status === 500));
          if (first || !passing) throw error;
          failures++;
        }
        whole = job?.id ?? whole;
        if (job && isDone(job)) return job;
        if (Date.now() >= end) throw new WaitTimeout(`job ${whole} had not ended after ${options.timeoutMs} ms`);
        const least = failures ? backoffMs(failures) : job?.tasks_total !== undefined ? ARRAY_PAUSE_MS : 0;
        await sleep(Math.min(least, Math.max(end - Date.now(), 0)), options.signal);
        const most = Math.min(failures ? 0 : open ? POLL_BESIDE_STREAM_MS : POLL_MS, Math.max(end - Date.now(), 0));
        if (!dirty)
          await Promise.race([new Promise<void>((resolve) => (wake = resolve)), sleep(most, signal)]);
      }
    } finally {
      over.abort();
      await watcher;
    }
  }

  /** The job, or the array, when it has ended. WaitTimeout: it had not ended by then. */
  wait(id: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<Job> {
    return this.until(id, (job) => TERMINAL.has(job.state), options);
  }

  /** The output of one attempt, byte for byte, whatever becomes of connections. */
  private async *log(id: string, epoch: number | undefined, offset: number, follow: boolean, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    let end = Date.now() + this.patienceMs;
    for (let failures = 0; ; ) {
      try {
        const answer = await this.jobLogs(id, { offset, epoch, follow: follow ? "1" : undefined, signal });
        epoch ??= Number(answer.headers.get("X-Helio-Log-Epoch")) || undefined;
        for await (const piece of this.bytes(answer, follow ? LOG_SILENCE_MS : this.timeoutMs, signal)) {
          offset += piece.length;
          failures = 0;
          end = Date.now() + this.patienceMs;
          yield piece;
        }
        return;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.message === "it is silent") end = Date.now() + this.patienceMs; // a job may be silent for long
        if (Date.now() > end && failures >= LEAST_ATTEMPTS) throw new Unreachable(`the log of ${id} broke off at byte ${offset}: ${error.message}`);
      }
      await sleep(backoffMs(++failures), signal);
    }
  }

  /**
   * The output of a job or of one task, in pieces as they come. follow: until the job has ended, across its attempts; a connection that is lost is made again at the
   * same byte. epoch: of this attempt only.
   */
  async *logs(id: string, options: { follow?: boolean; epoch?: number; offset?: number; signal?: AbortSignal } = {}): AsyncGenerator<Uint8Array> {
    const { follow = false, offset = 0, signal } = options;
    if (options.epoch !== undefined || !follow) return yield* this.log(id, options.epoch, offset, follow, signal);
    let job = await this.until(id, (job) => job.epoch > 0 || TERMINAL.has(job.state) || job.tasks_total !== undefined, { signal });
    if (job.tasks_total !== undefined) return yield* this.log(id, undefined, offset, false, signal); // refused: one task of it has to be named
    for (let epoch = job.epoch, first = true; ; first = false) {
      try {
        if (epoch > 0) yield* this.log(job.id, epoch, first ? offset : 0, true, signal);
      } catch (error) {
        // attempts that their sites refused have no log
        if (!(error instanceof Problem && error.status === 404) || (first && TERMINAL.has(job.state))) throw error;
      }
      job = await this.until(job.id, (job) => job.epoch > epoch || TERMINAL.has(job.state), { signal });
      if (job.epoch <= epoch) return;
      epoch++;
    }
  }
}
