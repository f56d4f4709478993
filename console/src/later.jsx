// Pages that are loaded when one of them is first opened, so that the first paint stays small.
export { SavingsPage } from "./savings.jsx";
export { TeamsPage } from "./teams.jsx";
export { WhatIfPage } from "./whatif.jsx";
