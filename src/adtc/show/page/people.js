// People: how all good trees vote, as bars by group and as a list of everybody, most contested first.

import { ask } from "./api.js";
import { draw, make } from "./dom.js";
import { countText, grouped, treesText } from "./numbers.js";
import { leftOut, loadPanel, shareBar, sortHead, whichTrees } from "./panels.js";
import { change, state } from "./state.js";
import { makeList } from "./list.js";

const [WIDE, HIGH] = [300, 46];
const MANY = 4; // parts that stand below each other
let summary = null;
let list = null;
let reason = null;
let rows = 0;

const order = () => ({ sort: state.sort, rising: state.rising, group: state.group, baseline: baseline() });
const whole = (n) => grouped(String(n));

/** The column of decisions that conflicts are with. */
function baseline() {
  const known = summary?.baselines ?? [];
  return known.includes(state.baseline) ? state.baseline : known[0] ?? "";
}

export function beginPeople(overview, tell) {
  reason = overview.without;
  rows = overview.rows;
  const get = (id) => document.getElementById(id);
  get("people-group").addEventListener("change", (event) => change({ group: event.target.value }, { quiet: true }));
  get("people-baseline").addEventListener("change", (event) => change({ baseline: event.target.value }, { quiet: true }));
  get("people-go").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = get("people-row").value.replace(/[\s,]/g, "");
    if (!/^[0-9]{1,15}$/.test(text) || Number(text) >= rows) {
      tell(`There is no row ${get("people-row").value.slice(0, 20) || "without a number"}: the table has rows 0 to ${whole(rows - 1)}.`, true);
      return;
    }
    tell("");
    change({ row: String(Number(text)) });
  });
  if (leftOut("people", reason)) return;
  list = makeList(get("people-list"), {
    page: (start, n) => ask("rows", { where: state.where, ...order(), start, n }, `rows ${start}`),
    pick: (person) => change({ row: String(person.row) }),
    line,
  });
}

/** Show the votes of the trees that satisfy the formula, and the list in the order wanted. */
export async function loadPeople() {
  if (reason) return;
  await loadPanel("people", { where: state.where, ...order() }, async () => {
    const answer = await ask("people", { where: state.where });
    if (!answer) return;
    summary = answer;
    if (state.sort === "conflict" && !summary.baselines.length) change({ sort: "contested" }, { quiet: true });
    if (state.group && !summary.groups.includes(state.group)) change({ group: "" }, { quiet: true });
    show();
    if (summary.trees !== "0") await list.fill(heads());
  });
  list.mark(Number(shownRow()));
}

/** The row that is shown alone: the one in the address, else the first of the list. */
export function shownRow() {
  return state.row || String(list?.first()?.row ?? "");
}

function show() {
  const get = (id) => document.getElementById(id);
  const none = summary.trees === "0";
  get("people-body").hidden = none;
  get("people-head").replaceChildren(none ? make("span", { class: "left-out" }, "No tree satisfies the formula, so nobody votes.")
    : make("span", {}, make("strong", {}, treesText(summary.trees)), ` ${summary.trees === "1" ? "votes" : "vote"} on ${whole(summary.people)} people. ${summary.disputed}`));
  if (none) return;
  get("people-bars").classList.toggle("many", summary.parts.length > MANY);
  get("people-bars").replaceChildren(...summary.parts.map((part) => bars(part)), axis(),
    ...(summary.hidden_groups ? [make("p", { class: "note" }, `${summary.hidden_groups === 1 ? "One group is" : `${summary.hidden_groups} groups are`} too small to be shown.`)] : []));
  const chosen = [["", "everybody"], ...summary.groups.map((name) => [name, name])];
  get("people-group").replaceChildren(...chosen.map(([value, name]) => make("option", { value }, name)));
  get("people-group").value = state.group;
  get("people-group-box").hidden = summary.groups.length < 2;
  get("people-baseline").replaceChildren(...summary.baselines.map((name) => make("option", { value: name }, name)));
  get("people-baseline").value = baseline();
  get("people-baseline-box").hidden = summary.baselines.length < 2;
  get("people-row").value = state.row;
}

/** Vote shares of everybody or of a group; a hollow stub stands for few people. */
function bars(part) {
  const shown = part.bars.map((n) => n ?? 0);
  const most = Math.max(...shown, 1);
  const step = WIDE / shown.length;
  const svg = draw("svg", { class: "vote-histogram", viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `Vote shares of ${summary.label} among ${part.name}, by number of people` });
  part.bars.forEach((n, at) => {
    const range = `${(100 * at) / shown.length} to ${(100 * (at + 1)) / shown.length} % of the trees say ${summary.label}`;
    const text = `${range}: ${n === null ? "number not shown" : `${whole(n)} people`}`;
    const height = n === null ? 5 : n === 0 ? 0 : Math.max(1.5, ((HIGH - 2) * n) / most);
    svg.append(draw("rect", { class: n === null ? "few" : "many", x: at * step + 1, y: HIGH - height, width: step - 2, height }, draw("title", {}, text)));
    svg.append(draw("rect", { class: "catch", x: at * step, y: 0, width: step, height: HIGH }, draw("title", {}, text)));
  });
  return make("div", { class: "vote-row" },
    make("div", { class: "vote-name" }, make("strong", { title: part.name }, part.name), make("span", { class: "note" }, `${whole(part.people)}, mean ${percent(part.mean)}`)), svg);
}

function percent(text) {
  return Number.isFinite(Number(text)) ? `${(100 * Number(text)).toFixed(1)} %` : text;
}

function axis() {
  return make("div", { class: "vote-row vote-axis", "aria-hidden": "true" }, make("div", { class: "vote-name" }),
    make("div", { class: "vote-ticks" }, make("span", {}, "0 %"), make("span", {}, `trees that say ${summary.label}`), make("span", {}, "100 %")));
}

function heads() {
  const sort = (name) => () => change(state.sort === name ? { rising: state.rising === "1" ? "0" : "1" } : { sort: name, rising: name === "row" ? "1" : "0" }, { quiet: true });
  const head = (name, text, title) => sortHead(text, state.sort === name, state.rising === "1", sort(name), title);
  return [["row", head("row", "row")],
    ["share", head("share", `say ${summary.label}`, "share of the trees that predict this")],
    ["contested", head("contested", "contested", "probability that two of the trees, drawn independently, disagree; at most 50 % for two classes")],
    ...(summary.sensitive ? [["group", make("span", { title: summary.sensitive }, summary.sensitive)]] : []),
    ["truth", make("span", { title: "label in the table" }, "label")],
    ...(summary.baselines.length ? [["decision", make("span", { title: `decision in use: ${baseline()}` }, "decision")],
      ["conflict", head("conflict", "conflict", "share of the trees that decide against the decision in use")]] : [])];
}

function line(person, columns) {
  const cells = {
    row: () => whole(person.row),
    share: () => [shareBar(person.part), make("span", { class: "number" }, person.share)],
    contested: () => person.contested, group: () => person.group, truth: () => person.truth,
    decision: () => person.decision, conflict: () => person.conflict,
  };
  return columns.map((name) => {
    const content = cells[name]();
    return make("span", { role: "gridcell", class: `c-${name}`, title: typeof content === "string" ? content : null }, ...(Array.isArray(content) ? content : [content]));
  });
}

/** What the person's page says of the trees that vote. */
export function votersText() {
  return summary ? `the ${countText(summary.trees)} trees ${whichTrees()}` : "";
}
