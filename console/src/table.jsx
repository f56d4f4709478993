// A table that can be sorted by its headings. A long one renders only the rows in view, all of one height.
import { useMemo, useRef, useState } from "preact/hooks";
import { sorted } from "./sort.js";

const ROW = 37; // px, as in style.css
const LONG = 120; // rows from which on only a window is rendered
const WINDOW = 60;

// columns: {id, title, value (row), cell (row), numeric, wide, rest, wraps}; wide ones are left out on a narrow screen, rest gets the width that
// the others leave and is cut at its end, or has lines as it needs if it wraps and the table is short. The first cell of a row is its heading. sort: {id, down} at the beginning; without it, rows stay in their order.
export function Table({ caption, columns, rows, rowKey, sort: first = null, empty, busy }) {
  const [sort, setSort] = useState(first);
  const [top, setTop] = useState(0);
  const box = useRef(null);
  const column = sort && columns.find(({ id }) => id === sort.id);
  const order = useMemo(() => sorted(rows, column, sort?.down), [rows, sort]);
  const long = order.length > LONG;
  const from = long ? Math.max(0, Math.min(Math.floor(top / ROW) - 10, order.length - WINDOW)) : 0;
  const shown = long ? order.slice(from, from + WINDOW) : order;
  const turn = (id, numeric) => setSort(sort?.id === id ? { id, down: !sort.down } : { id, down: Boolean(numeric) });
  const name = typeof caption === "string" ? caption : undefined;
  return (
    <div
      class={long ? "scroll long" : "scroll short"}
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={name}
      onScroll={long ? () => setTop(box.current.scrollTop) : undefined}
    >
      <table aria-rowcount={order.length + 1} aria-busy={busy ? "true" : undefined}>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((each) => (
              <Heading key={each.id} column={each} sort={sort} turn={turn} />
            ))}
          </tr>
        </thead>
        <tbody>
          {from > 0 && (
            <tr aria-hidden="true" class="gap">
              <td colSpan={columns.length} style={{ height: `${from * ROW}px` }} />
            </tr>
          )}
          {shown.map((row, i) => (
            <Row key={rowKey(row)} row={row} index={from + i + 2} columns={columns} />
          ))}
          {long && from + WINDOW < order.length && (
            <tr aria-hidden="true" class="gap">
              <td colSpan={columns.length} style={{ height: `${(order.length - from - WINDOW) * ROW}px` }} />
            </tr>
          )}
        </tbody>
      </table>
      {rows.length === 0 && <p class="empty">{empty}</p>}
    </div>
  );
}

const classes = ({ numeric, wide, rest, wraps }) =>
  [numeric && "numeric", wide && "wide", rest && "rest", wraps && "wraps"].filter(Boolean).join(" ") || undefined;

function Heading({ column, sort, turn }) {
  const { id, title, numeric } = column;
  const mine = sort?.id === id;
  const way = mine ? (sort.down ? "descending" : "ascending") : undefined;
  if (!column.value)
    return (
      <th scope="col" class={classes(column)}>
        {title}
      </th>
    );
  return (
    <th scope="col" aria-sort={way} class={classes(column)}>
      <button type="button" class="sort" onClick={() => turn(id, numeric)}>
        {title}
        <span aria-hidden="true" class="way">
          {mine ? (sort.down ? "▾" : "▴") : ""}
        </span>
      </button>
    </th>
  );
}

const Row = ({ row, index, columns }) => (
  <tr aria-rowindex={index}>
    {columns.map((column, i) => {
      const Cell = i === 0 ? "th" : "td";
      return (
        <Cell key={column.id} scope={i === 0 ? "row" : undefined} class={classes(column)}>
          {column.cell(row)}
        </Cell>
      );
    })}
  </tr>
);
