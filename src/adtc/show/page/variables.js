// Variables: which ones all good trees need, which they can do without, and how much they rely on them.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { countText, grouped, treesText } from "./numbers.js";
import { leftOut, loadPanel, shareBar, whichTrees } from "./panels.js";
import { state } from "./state.js";
import { shownTab } from "./tabs.js";

const PAUSE = 700; // milliseconds between two questions how far it is
const KINDS = { necessary: "every tree tests it", replaceable: "some trees test it, others do not", unused: "no tree tests it" };
let view = null;
let ranges = null;
let reason = null;
let waiting = null;

export function beginVariables(overview, tell) {
  reason = overview.without;
  document.getElementById("reliance-start").addEventListener("click", () => follow(state.where, tell));
  leftOut("variables", reason);
}

export async function loadVariables() {
  if (reason) return;
  await loadPanel("variables", { where: state.where }, async () => {
    const answer = await ask("variables", { where: state.where });
    if (!answer) return;
    clearTimeout(waiting);
    [view, ranges] = [answer, null];
    show();
  });
}

/** Compute the ranges on the server, and show them as they come. */
async function follow(where, tell) {
  if (where !== state.where) return;
  try {
    const answer = await ask("reliance", { where });
    if (!answer || where !== state.where) return;
    ranges = answer;
    show();
    if (answer.error) tell(answer.error, true);
    if (!answer.done) waiting = setTimeout(() => (shownTab() === "variables" ? follow(where, tell) : later(where, tell)), PAUSE);
  } catch (refusal) {
    tell(refusal.message, true);
  }
}

function later(where, tell) {
  waiting = setTimeout(() => (shownTab() === "variables" ? follow(where, tell) : later(where, tell)), 2 * PAUSE);
}

function show() {
  const get = (id) => document.getElementById(id);
  const none = view.total === "0";
  get("variables-body").hidden = none;
  const need = view.necessary;
  const said = need.length ? ["Every one of the ", " tests ", make("strong", {}, listed(need)), "."] : ["None is necessary: each of the ", " can be had without any single variable.", "", ""];
  get("variables-head").replaceChildren(...(none ? [make("span", { class: "left-out" }, "No tree satisfies the formula, so no variable is tested.")]
    : need.length ? [said[0], make("strong", {}, treesText(view.total)), ` ${whichTrees()}`, ...said.slice(1)]
      : ["No variable is in all of the ", make("strong", {}, treesText(view.total)), ` ${whichTrees()}: each can be replaced.`]));
  if (none) return;
  showProgress();
  showTable(get("variables-table"));
  showSets(get("variables-sets"));
}

function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function showProgress() {
  const get = (id) => document.getElementById(id);
  const busy = ranges && !ranges.done;
  get("reliance-start").hidden = Boolean(ranges);
  get("reliance-progress").hidden = !busy;
  if (busy) [get("reliance-progress").max, get("reliance-progress").value] = [ranges.of, ranges.ready];
  get("reliance-note").textContent = !ranges ? "How much errors grow when a variable is shuffled, least and largest over all these trees; and the fewest errors without it. It takes a run for each variable."
    : ranges.error ? ranges.error : busy ? `${ranges.ready} of ${ranges.of} variables …` : "Reliance: errors with the variable shuffled, divided by errors as they are; 1 means that it does not matter.";
}

function showTable(place) {
  const known = ranges ? Object.values(ranges.ranges).filter((one) => one.min !== null) : [];
  const low = Math.min(1, ...known.map((one) => one.min));
  const high = Math.max(1, ...known.map((one) => one.max));
  const head = ["variable", "", "trees that test it", "trees without it", ...(ranges ? ["fewest errors without", "reliance, least to largest"] : [])];
  place.replaceChildren(make("table", { class: ranges ? "variables ranged" : "variables" },
    make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...view.variables.map((one) => make("tr", { class: one.kind },
      make("th", { scope: "row", title: `${one.name}: ${one.features} ${one.features === 1 ? "test" : "tests"}` }, one.name),
      make("td", {}, make("span", { class: `kind ${one.kind}`, title: KINDS[one.kind] }, one.kind)),
      make("td", { class: "using", title: levels(one) }, shareBar(one.part), make("span", { class: "number" }, short(one.using)), make("span", { class: "note number" }, one.share)),
      make("td", { class: "number", "data-head": head[3] }, short(one.without)),
      ...(ranges ? [make("td", { class: "number", "data-head": head[4] }, cost(ranges.least[one.name])), rangeCell(ranges.ranges[one.name], low, high)] : []))))));
}

function short(count) {
  return count.length > 18 ? countText(count) : grouped(count);
}

function levels(one) {
  return one.levels.map((n, at) => `${at ? `below ${at} ${at === 1 ? "test" : "tests"}` : "at the root"}: ${treesText(n)}`).join("\n");
}

function cost(found) {
  if (found === undefined) return "…";
  return found === null ? "no tree" : `${grouped(String(found[0]))} (+${grouped(String(found[1]))})`;
}

function rangeCell(one, low, high) {
  if (!one) return make("td", { class: "reach" }, ranges.done ? "not computed" : "…");
  if (one.min === null) return make("td", { class: "reach" }, "undefined: no tree has errors");
  const at = (value) => (high > low ? (100 * (value - low)) / (high - low) : 50);
  const bar = make("span", { class: "range-bar", "aria-hidden": "true" }, make("i", {}), make("span", {}));
  bar.children[0].style.left = `${at(1)}%`;
  bar.children[1].style.left = `${at(one.min)}%`;
  bar.children[1].style.width = `${at(one.max) - at(one.min)}%`;
  const more = one.status === "exact" ? "" : " or further";
  return make("td", { class: "reach", "data-head": "reliance", title: `${one.min_exact} to ${one.max_exact}` }, bar, make("span", { class: "number" }, `${Number(one.min).toFixed(3)} – ${Number(one.max).toFixed(3)}${more}`));
}

function showSets(place) {
  const more = view.minimal_of - view.minimal.length;
  place.replaceChildren(make("h3", {}, "What a tree manages with"),
    make("p", { class: "note" }, "Sets of variables that one of these trees tests, with none to spare: no tree tests only some of a set."),
    make("ul", { class: "minimal" }, ...view.minimal.map((names) => make("li", {}, ...(names.length ? names.map((name) => make("span", { class: "chip", title: name }, name)) : ["no variable at all"])))),
    more > 0 ? make("p", { class: "note" }, `and ${grouped(String(more))} more`) : "");
}
