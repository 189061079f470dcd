// One person: how the trees vote, on what they differ, and trees for and against side by side.

import { ask } from "./api.js";
import { make, treePicture } from "./dom.js";
import { grouped, treesText } from "./numbers.js";
import { inColour, shareBar } from "./panels.js";
import { shownRow, votersText } from "./people.js";
import { change, state } from "./state.js";
import { shownTab } from "./tabs.js";

const TESTS = 6; // variables that are told at once
let labels = [];
let seed = 0;
let seen = "";
let without = null;

export function beginPerson(overview) {
  labels = overview.data.labels.map(String);
  without = overview.without;
}

/** Show the person that the address names. */
export async function loadPerson() {
  if (without || shownTab() !== "people") return;
  const place = document.getElementById("person");
  const row = shownRow();
  const key = JSON.stringify([state.where, row, seed]);
  if (key === seen) return;
  seen = key;
  document.getElementById("person-title").textContent = row ? `Row ${grouped(row)}${state.row ? "" : ", the first of the list"}` : "One person";
  if (!row) {
    place.replaceChildren();
    return;
  }
  place.setAttribute("aria-busy", "true");
  try {
    const view = await ask("person", { where: state.where, row, seed });
    if (view) place.replaceChildren(...parts(view));
  } catch (refusal) {
    seen = "";
    place.replaceChildren(make("p", { class: "empty" }, refusal.message));
  } finally {
    if (key === seen || !seen) place.removeAttribute("aria-busy");
  }
}

function parts(view) {
  const group = view.group === null ? "" : `, group ${view.group}`;
  const people = view.people === 1 ? "" : `, stands for ${grouped(String(view.people))} people`;
  const decided = view.decisions.map((one) => make("p", { class: "decided" }, `${one.name} says `, make("strong", {}, one.label), `; ${one.conflict} of the trees decide otherwise.`));
  return [make("p", { class: "note" }, `Label ${view.truth}${group}${people}.`), ...decided, votes(view), ...trees(view),
    ...(view.tests.length ? [tests(view)] : []),
    make("h3", {}, "What the table knows of this person"),
    make("ul", { class: "chips" }, ...view.known.map((text) => make("li", { title: text }, text)))];
}

function votes(view) {
  const bar = make("div", { class: "votes-bar", "aria-hidden": "true" });
  view.votes.forEach((one, at) => {
    const piece = inColour(make("span", {}), at);
    piece.style.width = `${100 * one.part}%`;
    bar.append(piece);
  });
  return make("div", { class: "votes" }, bar, make("ul", {}, ...view.votes.map((one, at) => inColour(make("li", {},
    make("strong", {}, one.label), ` ${one.share}`, make("span", { class: "note" }, ` ${treesText(one.trees)}`)), at))));
}

/** What trees on either side test: a variable that one side needs and the other does not decides. */
function tests(view) {
  const [first, second] = view.sides.map((side) => side.label);
  const cell = (test, at) => make("td", { class: "pair-cell" }, shareBar(test.parts[at], labels.indexOf(view.sides[at].label)), make("span", { class: "number" }, test.shares[at]));
  const rows = view.tests.map((test, at) => make("tr", { hidden: at >= TESTS },
    make("td", { class: "words", title: test.value ?? test.column }, test.value ?? test.column), cell(test, 0), cell(test, 1)));
  const table = make("table", { class: "tests" },
    make("tr", {}, make("th", { scope: "col" }, "this person's value"), make("th", { scope: "col" }, `trees that say ${first}`), make("th", { scope: "col" }, `that say ${second}`)), ...rows);
  const more = view.tests.length <= TESTS ? null : make("button", { type: "button", class: "plain", onclick: (event) => {
    table.querySelectorAll("[hidden]").forEach((row) => { row.hidden = false; });
    event.target.remove();
  } }, `Show all ${view.tests.length} variables`);
  return make("div", {}, make("h3", {}, "What decides"), make("p", { class: "note" }, "How many trees on each side test a variable, the largest differences first."),
    make("div", { class: "tests-box" }, table), more);
}

function trees(view) {
  if (!view.sides.length) return [make("p", { class: "empty" }, "No tree satisfies the formula, so nobody votes.")];
  const alone = view.sides.length === 1 ? [make("p", { class: "note" }, `All of ${votersText()} agree on this person. One of them, drawn uniformly:`)] : [];
  const another = make("div", { class: "actions small" }, make("button", { type: "button", id: "person-again", onclick: () => {
    seed += 1;
    loadPerson();
  } }, view.sides.length > 1 ? "Draw two others" : "Draw another"));
  return [...alone, make("div", { class: "side both-sides" }, ...view.sides.map((side) => inColour(make("article", { class: "deciding" },
    make("h3", {}, `Says ${side.label}`), make("p", { class: "note" }, `One of ${treesText(side.trees)} (${side.share}), drawn uniformly. `,
      make("button", { type: "button", class: "plain", onclick: () => change({ tab: "map", cell: "", side: "", rank: side.rank }) }, `Tree ${grouped(side.profile_rank)}`)),
    treePicture(side.svg), path(side.path)), labels.indexOf(side.label)))), another];
}

/** The tests that decide in this tree, one after the other. */
function path(found) {
  return make("ol", { class: "deciding-tests" }, ...found.steps.map((step) => make("li", {}, `${step.test}? `, make("strong", {}, step.answer), step.value ? make("span", { class: "note" }, ` (${step.value})`) : null)));
}
