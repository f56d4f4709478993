import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { request } from "./api.js";
import { appended, followLog } from "./log.js";
import { Notice } from "./parts.jsx";

const nothing = { text: "", cut: false };

export function Logs({ id, epoch }) {
  const [log, setLog] = useState(nothing);
  const [state, setState] = useState("following");
  const [error, setError] = useState(null);
  const box = useRef(null);
  const atEnd = useRef(true);
  const newest = useRef(epoch);
  newest.current = epoch;
  useEffect(() => {
    const end = new AbortController();
    const take = (more) =>
      setLog((old) => {
        const { text, cut } = appended(old.text, more);
        return { text, cut: cut || old.cut };
      });
    const rest = () => new Promise((resolve) => setTimeout(resolve, 2000));
    followLog({
      request,
      id,
      signal: end.signal,
      take,
      restart: () => setLog(nothing),
      epochNow: () => newest.current,
      rest,
    }).then(() => !end.signal.aborted && setState("complete"), setError);
    return () => end.abort();
  }, [id]);
  useLayoutEffect(() => {
    if (atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [log]);
  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    atEnd.current = scrollHeight - scrollTop - clientHeight < 24;
  };
  return (
    <>
      <h2>
        Log{" "}
        <small>
          {error ? "" : state}
          {log.cut ? ", its end only" : ""}
        </small>
      </h2>
      <Notice error={error} what="Log" />
      <pre class="log" ref={box} tabIndex={0} role="region" aria-label="Log" onScroll={scrolled}>
        {log.text || (state === "complete" ? "It printed nothing." : "")}
      </pre>
    </>
  );
}
