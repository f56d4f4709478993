// Small parts that several pages share.
import { useEffect, useRef } from "preact/hooks";
import { money, number } from "./format.js";
import { groupOf, signOf } from "./states.js";

export const Figures = ({ of }) => (
  <dl class="figures">
    {of.filter(Boolean).map(([term, value, note]) => (
      <div key={term}>
        <dt>{term}</dt>
        <dd>
          {value}
          {note && <small>{note}</small>}
        </dd>
      </div>
    ))}
  </dl>
);

// The heading of a page; it gets the focus when the page opens, so that a screen reader begins there.
export function Title({ children, text }) {
  const heading = useRef(null);
  useEffect(() => {
    document.title = `${text} · Heliostat`;
    heading.current.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }, [text]);
  return (
    <h1 tabIndex={-1} ref={heading}>
      {children ?? text}
    </h1>
  );
}

export function Notice({ error, what }) {
  if (!error) return null;
  const gone = error.status === undefined;
  if (error.diagnostic)
    return (
      <div class="notice" role="alert">
        {what}:<pre>{error.diagnostic.trim()}</pre>
      </div>
    );
  return (
    <p class="notice" role="alert">
      {gone
        ? `The broker does not answer; ${what} below may be old. The page tries again.`
        : `${what}: ${error.message}`}
    </p>
  );
}

export const Waiting = ({ what }) => (
  <p class="empty" role="status">
    Reading {what} …
  </p>
);

export function Bar({ part, whole, text }) {
  const share = whole > 0 ? Math.min(1, part / whole) : 0;
  return (
    <span class="bar">
      <span class="track" aria-hidden="true">
        <span style={{ width: `${100 * share}%` }} />
      </span>
      {text}
    </span>
  );
}

// One of few: radio buttons that look like one row of buttons. of: [[value, title]].
export const Choice = ({ name, value, set, of }) => (
  <fieldset class="choice">
    <legend>{name}</legend>
    <span>
      {of.map(([each, title]) => (
        <label key={each}>
          <input type="radio" name={name} value={each} checked={each === value} onChange={() => set(each)} />
          <span>{title}</span>
        </label>
      ))}
    </span>
  </fieldset>
);

export const Price = ({ value }) => (
  <>
    {money(value)}
    {value != null && <small> /GPU h</small>}
  </>
);

const Field = ({ id, label, optional, value = "", options, ...rest }) => (
  <label>
    {label}
    {options ? (
      <select name={id} required={!optional}>
        <option value="" />
        {options.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    ) : (
      <input name={id} defaultValue={value} required={!optional} autoComplete="off" {...rest} />
    )}
  </label>
);

// Asks before something is done; `ask` is {title, text, field, verb, run (text)}, and null closes it. With `fields`, a list of
// {id, label, value, optional, options of a choice, and what <input> has}, run gets {id: text}.
export function Confirm({ ask, close }) {
  const dialog = useRef(null);
  useEffect(() => {
    if (ask) dialog.current.showModal();
  }, [ask]);
  if (!ask) return null;
  const done = async (event) => {
    event.preventDefault();
    const values = Object.fromEntries([...new FormData(event.target)].map(([id, text]) => [id, text.trim()]));
    close();
    await ask.run(ask.fields ? values : values.text);
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="confirm-title">
      <form onSubmit={done}>
        <h2 id="confirm-title">{ask.title}</h2>
        <p>{ask.text}</p>
        {(ask.fields ?? (ask.field ? [{ id: "text", label: ask.field, maxLength: 256 }] : [])).map((each) => (
          <Field key={each.id} {...each} />
        ))}
        <div class="buttons">
          <button type="button" onClick={close}>
            Keep as it is
          </button>
          <button type="submit" class="strong">
            {ask.verb}
          </button>
        </div>
      </form>
    </dialog>
  );
}

export const Gpus = ({ free, total }) => (
  <Bar part={total - free} whole={total} text={`${number(free)} of ${number(total)} free`} />
);

export const State = ({ value }) => (
  <span class={`state ${groupOf(value)}`}>
    <span aria-hidden="true">{signOf(value)}</span> {value}
  </span>
);
