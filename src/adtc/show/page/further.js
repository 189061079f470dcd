// The test set: the same trees on a further table, and how much they lose there.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { drawHeatmap } from "./heatmap.js";
import { grouped, log10, treesText } from "./numbers.js";
import { loadPanel, shareBar } from "./panels.js";
import { change, state } from "./state.js";

let tables = {};
let view = null;
let drawable = false;

const table = () => (state.table in tables ? state.table : Object.keys(tables)[0]);
const metric = () => (tables[table()].includes(state.metric) ? state.metric : tables[table()][0]);
const query = () => ({ where: state.where, table: table(), metric: metric(), bins: state.bins, limit: state.limit });

export function beginFurther(overview, tell) {
  tables = overview.further;
  drawable = overview.drawable;
  const names = Object.keys(tables);
  if (!names.length) return;
  const get = (id) => document.getElementById(id);
  get("tab-further").hidden = false;
  if (names.length === 1 && names[0] !== "test") get("tab-further").textContent = `Table ${names[0]}`;
  get("further-table").append(...names.map((name) => make("option", { value: name }, name)));
  get("further-table-box").hidden = names.length < 2;
  get("further-table").addEventListener("change", (event) => change({ table: event.target.value }, { quiet: true }));
  get("further-metric").addEventListener("change", (event) => change({ metric: event.target.value }, { quiet: true }));
  get("further-limit").addEventListener("change", (event) => {
    const text = event.target.value.trim();
    const known = /^[0-9]{1,6}(\.[0-9]{1,9})?$/.test(text);
    event.target.toggleAttribute("aria-invalid", !known);
    if (known) change({ limit: text }, { quiet: true });
    else tell("Give a number such as 0.02: how much a tree loses on the further table.", true);
  });
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width || !view) return;
    width = window.innerWidth;
    show(tell);
  });
}

export async function loadFurther(tell) {
  if (!Object.keys(tables).length) return;
  await loadPanel("further", query(), async () => {
    const answer = await ask("further", query());
    if (!answer) return;
    view = answer;
    show(tell);
  });
}

function show(tell) {
  const get = (id) => document.getElementById(id);
  const [own, other] = [metric(), `${table()}.${metric()}`];
  get("further-table").value = table();
  get("further-metric").replaceChildren(...tables[table()].map((name) => make("option", { value: name }, name)));
  get("further-metric").value = own;
  get("further-limit").value = state.limit;
  get("further-limit").removeAttribute("aria-invalid");
  const worst = !view.worst ? null : make("button", { type: "button", class: "plain", id: "further-worst", onclick: () => change({ rank: view.worst.rank, cell: "", side: "" }) }, "Show the tree that loses most");
  get("further-head").replaceChildren(make("strong", {}, treesText(view.total)), ` by ${own} and ${other}; they are good by ${view.good_by}. The largest loss is ${view.largest}. `, worst ?? "");
  const undefinedText = view.undefined === "0" ? "" : ` It is undefined for ${grouped(view.undefined)}.`;
  get("further-losing").replaceChildren(make("strong", {}, treesText(view.losing)), ` (${view.losing_share}) lose more than ${state.limit} on ${table()}.${undefinedText}`);
  drawHeatmap(get("further-map"), view, { scale: state.scale, front: false, diagonal: true, margins: false,
    onLook: (text) => { get("further-readout").textContent = text; },
    onPick: drawable ? (i, j) => pick(i, j, tell) : null });
  showSteps(get("further-steps"));
}

async function pick(i, j, tell) {
  if (view.counts[i][j] === "0") {
    tell("No tree lies in this cell.");
    return;
  }
  try {
    const { limit, ...place } = query();
    const found = await ask("further_tree", { ...place, cell: `${i},${j}`, seed: String(crypto.getRandomValues(new Uint32Array(1))[0]) });
    if (found && place.where === state.where) change({ rank: found.rank, cell: "", side: "" });
  } catch (refusal) {
    tell(refusal.message, true);
  }
}

function showSteps(place) {
  const steps = view.steps.filter(([, n]) => n !== "0");
  if (!steps.length) {
    place.replaceChildren();
    return;
  }
  const whole = log10(view.total);
  place.replaceChildren(make("details", { open: true }, make("summary", {}, "How many lose how much"), make("table", { class: "steps" },
    make("tr", {}, make("th", { scope: "col" }, "lose more than"), make("th", { scope: "col" }, "trees")),
    ...steps.map(([limit, n]) => make("tr", {}, make("td", {}, make("button", { type: "button", class: "plain", onclick: () => change({ limit: String(limit) }, { quiet: true }) }, String(Number(limit.toFixed(6))))),
      make("td", { class: "using" }, shareBar(10 ** (log10(n) - whole)), make("span", { class: "number" }, grouped(n))))))));
}
