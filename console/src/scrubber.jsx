// A slider over the last 24 hours: the map as it was. The history is read when somebody first takes the slider.
import { useEffect, useState } from "preact/hooks";
import { get } from "./api.js";
import { ago, instant } from "./format.js";
import { Notice } from "./parts.jsx";

const EVERY_MS = 300000; // a step of the history is three times that

export function useHistory(wanted) {
  const [state, setState] = useState({ history: null, error: null });
  useEffect(() => {
    if (!wanted) return undefined;
    const end = new AbortController();
    const read = () =>
      get("history", { signal: end.signal })
        .then((history) => setState({ history, error: null }))
        .catch((error) => end.signal.aborted || setState((old) => ({ ...old, error })));
    read();
    const timer = setInterval(read, EVERY_MS);
    return () => {
      clearInterval(timer);
      end.abort();
    };
  }, [wanted]);
  return state;
}

const STEP_MS = 250;

// at: a step of the history, or null for now.
export function Scrubber({ history, error, at, setAt, want }) {
  const [plays, setPlays] = useState(false);
  const last = history ? history.times.length : 96;
  useEffect(() => {
    if (!plays || !history) return undefined;
    const timer = setInterval(() => {
      setAt((old) => {
        const next = (old ?? 0) + 1;
        return next >= last ? null : next;
      });
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [plays, history]);
  useEffect(() => {
    if (plays && history && at === null) setPlays(false);
  }, [at]);
  const turn = () => {
    want();
    if (!plays && at === null) setAt(0);
    setPlays(!plays);
  };
  const words = at === null ? "now" : history ? `${instant(history.times[at])}, ${ago(history.times[at])}` : "reading …";
  return (
    <div class="scrubber">
      <button type="button" onClick={turn} aria-pressed={plays ? "true" : "false"}>
        {plays ? "Pause" : "Play 24 hours"}
      </button>
      <label>
        <span class="hidden">Time of the map, the last 24 hours</span>
        <input
          type="range"
          min="0"
          max={last}
          value={at ?? last}
          aria-valuetext={words}
          onFocus={want}
          onPointerDown={want}
          onInput={(event) => {
            want();
            setPlays(false);
            const step = Number(event.target.value);
            setAt(step >= last ? null : step);
          }}
        />
        <span class="ticks" aria-hidden="true">
          {["−24 h", "−18 h", "−12 h", "−6 h", "now"].map((word) => (
            <span key={word}>{word}</span>
          ))}
        </span>
      </label>
      <output class={at === null ? "now" : "then"}>{words}</output>
      {at !== null && (
        <button type="button" onClick={() => setAt(null)}>
          Back to now
        </button>
      )}
      <Notice error={error} what="History" />
    </div>
  );
}
