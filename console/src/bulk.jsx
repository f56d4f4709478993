// What is done to all jobs that are shown: they are cancelled, or those that wait are edited.
import { useState } from "preact/hooks";
import { request, send } from "./api.js";
import { number, plural } from "./format.js";
import { Confirm } from "./parts.jsx";
import { editOf, editable } from "./states.js";

const AT_ONCE = 4; // requests, so that thousands take seconds and leave room for others

// Does `act (id)` for a few at once. Resolves to the errors.
async function doAll(ids, act, tell) {
  const errors = [];
  let next = 0;
  const worker = async () => {
    while (next < ids.length) {
      await act(ids[next++]).catch((error) => errors.push(error));
      if (next % 50 === 0) tell(next);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return errors;
}

// The button, the question, and what is said meanwhile and after it. askFor (run): the question, which calls run (act, doing, done, refused).
function Bulk({ ids, title, askFor, reload }) {
  const [ask, setAsk] = useState(null);
  const [said, setSaid] = useState("");
  const run = async (act, doing, done, isRefused = () => true) => {
    const whole = plural(ids.length, "job");
    setSaid(`${doing} ${whole} …`);
    const errors = (await doAll(ids, act, (count) => setSaid(`${doing}: ${number(count)} of ${whole} …`))).filter(isRefused);
    setSaid(errors.length ? `${plural(errors.length, "job")} could not be ${done}: ${errors[0].message}` : "");
    reload();
  };
  return (
    <>
      <button type="button" disabled={ids.length === 0} onClick={() => setAsk(askFor(run))}>
        {title}
      </button>
      <span role="status">{said}</span>
      <Confirm ask={ask} close={() => setAsk(null)} />
    </>
  );
}

export function CancelShown({ jobs, reload }) {
  const askFor = (run) => ({
    title: `Cancel ${plural(jobs.length, "job")}?`,
    text: "Those that run are stopped. This cannot be undone.",
    verb: "Cancel jobs",
    // what is over by then stays as it is
    run: () => run((id) => request(`jobs/${id}`, { method: "DELETE" }), "Cancelling", "cancelled", ({ status }) => status !== 409),
  });
  return <Bulk ids={jobs.map(({ id }) => id)} title={`Cancel the ${plural(jobs.length, "job")} shown`} askFor={askFor} reload={reload} />;
}

const goals = ["fast", "cheap", "balanced", "green", "follow-the-sun"];
const fields = [
  { id: "priority", label: "Priority among its tenant's jobs in the queue", type: "number", min: -100, max: 100, step: 1, optional: true },
  { id: "goal", label: "Goal", options: goals, optional: true },
  { id: "flexible", label: "Flexible, from the submission", placeholder: "12h", maxLength: 32, optional: true },
];

export function EditShown({ jobs, reload }) {
  const ids = editable(jobs);
  const askFor = (run) => ({
    title: `Edit ${plural(ids.length, "job")}?`,
    text: "What is empty stays as it is. An array is edited as a whole, also its tasks that are not shown.",
    fields,
    verb: "Edit jobs",
    run: (values) => {
      const body = editOf(values);
      return Object.keys(body).length ? run((id) => send("PATCH", `jobs/${id}`, body), "Editing", "edited") : undefined;
    },
  });
  return <Bulk ids={ids} title={`Edit the ${number(ids.length)} that wait …`} askFor={askFor} reload={reload} />;
}
