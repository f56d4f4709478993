// The order of the rows of a table.
const compare = (a, b) => {
  const none = (value) => value === null || value === undefined || Number.isNaN(value);
  if (none(a) || none(b)) return none(a) - none(b);
  return typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
};

// What is unknown stays at the end whichever way the rest is sorted.
export function sorted(rows, column, down) {
  if (!column) return rows;
  const known = (row) => compare(column.value(row), null) !== 0;
  const turn = down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const order = compare(column.value(a), column.value(b));
    return known(a) && known(b) ? turn * order : order;
  });
}
