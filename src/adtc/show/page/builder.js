// The builder: a tree fixed step by step among the good ones. The steps stand in the address, so
// going back in the browser takes one back.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { countText, grouped, log10, shareText, treesText } from "./numbers.js";
import { inColour, leftOut, loadPanel, shareBar, sortHead, whichTrees } from "./panels.js";
import { change, state } from "./state.js";

const MANY = 9; // tests before one may search among them
let view = null;
let by = ""; // the metric that ways are compared by
let goals = {};
let order = "trees"; // how ways are sorted: trees or best
let wanted = ""; // what the names of tests must hold
let reason = null;
let chooser = null; // the select of the metric, moved into the head of the table

const steps = () => (state.steps ? state.steps.split(",") : []);
const query = () => ({ where: state.where, steps: state.steps, at: state.at === "" ? "" : state.at, by });

/** The place that a step is at, as the server names it. */
function placeOf(step) {
  return step.match(/^[01]*/)[0];
}

export function beginBuilder(overview, tell) {
  reason = overview.without;
  const get = (id) => document.getElementById(id);
  goals = Object.fromEntries(overview.metrics.filter((metric) => metric.goal).map((metric) => [metric.name, metric.goal]));
  const first = overview.best_by[0]?.[0] ?? "";
  chooser = get("builder-by");
  for (const metric of overview.metrics.filter((one) => one.goal)) {
    chooser.append(make("option", { value: metric.name, title: metric.about }, metric.name));
  }
  by = state.by in goals ? state.by : first;
  chooser.value = by;
  chooser.hidden = !first;
  chooser.addEventListener("change", (event) => change({ by: event.target.value }, { quiet: true }));
  get("builder-undo").addEventListener("click", () => go(steps().slice(0, -1)));
  get("builder-clear").addEventListener("click", () => go([]));
  get("builder-draw").addEventListener("click", () => finish({ seed: String(crypto.getRandomValues(new Uint32Array(1))[0]) }, tell));
  get("builder-best").addEventListener("click", () => finish({}, tell));
  leftOut("builder", reason);
}

/** Go on with other steps; the tree beside becomes the best that begins like them. */
function go(list, at = "") {
  wanted = "";
  change({ steps: list.join(","), at, rank: "", cell: "", side: "" });
}

/** Show a tree that begins like this: drawn with a seed, or the best. */
async function finish(how, tell) {
  const begun = { where: state.where, steps: state.steps };
  try {
    const found = await ask("complete", { ...begun, by, ...how });
    if (!found || begun.where !== state.where || begun.steps !== state.steps) return; // it is another tree by now
    tell("");
    change({ rank: found.rank, cell: "", side: "" });
    if (window.matchMedia("(max-width: 960px)").matches) document.getElementById("tree-card").scrollIntoView({ block: "start" });
  } catch (refusal) {
    tell(refusal.message, true);
  }
}

/** Ask how the tree can go on. */
export async function loadBuilder() {
  if (reason) return;
  by = state.by in goals ? state.by : by;
  chooser.value = by;
  await loadPanel("builder", query(), async () => {
    const answer = await ask("builder", query());
    if (!answer) return;
    view = answer;
    show();
    if (!steps().length || state.rank !== "" || view.count === "0") return;
    const best = await ask("complete", { where: state.where, steps: state.steps, by }, "beginning");
    if (best && state.rank === "") change({ rank: best.rank }, { quiet: true });
  });
}

function show() {
  const get = (id) => document.getElementById(id);
  const none = view.count === "0";
  const begun = steps().length > 0;
  const best = view.best ? `, ${goals[by] === "max" ? "at best" : "at least"} ${by} ${view.best.text}` : "";
  get("builder-head").replaceChildren(none
    ? make("span", { class: "left-out" }, "No good tree begins like this: undo a step, or ask for less above.")
    : make("span", {}, make("strong", {}, treesText(view.count)), begun ? ` ${view.count === "1" ? "begins" : "begin"} like this (${view.share} of those ${whichTrees()})${best}.` : ` ${whichTrees()}: fix tests and leaves one by one, and see how many go on${best}.`));
  get("builder-undo").disabled = !begun;
  get("builder-clear").disabled = !begun;
  get("builder-draw").disabled = none;
  get("builder-best").disabled = none || !by;
  showOutline(get("builder-tree"));
  showWays(get("builder-ways"));
}

/** Draw the tree so far as an outline: what is fixed can be taken back, what is open chosen. */
function showOutline(place) {
  place.replaceChildren(...view.places.map((part) => {
    const depth = part.address.length;
    const answer = depth ? (part.address.endsWith("1") ? "yes" : "no") : null;
    const here = part.kind === "open" && part.address === view.at;
    const line = make("div", { class: `place ${part.kind}${here ? " here" : ""}` },
      answer === null ? null : make("span", { class: "answer-of" }, answer), box(part, here), make("span", { class: "place-rows" }, part.rows));
    line.style.setProperty("--depth", depth);
    return line;
  }));
}

function box(part, here) {
  if (part.kind === "open") {
    return make("button", { type: "button", class: "open-place", "aria-pressed": String(here), title: here ? "the choices below are for this place" : "choose here",
      onclick: () => change({ at: part.address || "root" }, { quiet: true }) }, here ? "choose below" : "open");
  }
  const name = make("span", { class: "place-name", title: part.name }, part.name);
  const back = make("button", { type: "button", class: "take-back", title: "take this back, and all below it", "aria-label": `Take back ${part.name}`,
    onclick: () => go(steps().filter((step) => !placeOf(step).startsWith(part.address)), part.address || "root") }, "×");
  const found = make("span", { class: `place-box ${part.kind}` }, name, back);
  return part.kind === "leaf" ? inColour(found, part.label) : found;
}

function showWays(place) {
  if (view.at === null) {
    place.replaceChildren(make("p", { class: "note" }, view.count === "0" ? "" : "Nothing is open: the tree is complete. It is shown beside; undo a step to go another way."));
    return;
  }
  const leaves = view.ways.filter((way) => way.kind === "leaf");
  const tests = view.ways.filter((way) => way.kind === "test");
  const take = (way) => () => go([...steps(), way.step]);
  const bestOf = (way) => (way.best ? make("span", { class: "way-best", title: `${by} = ${way.best.exact}` }, way.best.text) : make("span", { class: "way-best" }, "–"));
  const parts = [];
  if (leaves.length) {
    parts.push(make("div", { class: "leaf-ways" }, make("span", { class: "note" }, "A leaf here:"),
      ...leaves.map((way) => inColour(make("button", { type: "button", class: "leaf-way", "data-step": way.step, title: `${treesText(way.trees)}${way.best ? `, best ${by} ${way.best.text}` : ""}`, onclick: take(way) },
        make("strong", {}, way.name), ` ${countText(way.trees)}`, way.best ? make("span", { class: "note" }, way.best.text) : null), Number(way.step.match(/\d+$/)[0])))));
  }
  if (tests.length) parts.push(testTable(tests, take, bestOf));
  else parts.push(make("p", { class: "note" }, "No good tree goes on with a test here."));
  place.replaceChildren(...parts);
}

function testTable(tests, take, bestOf) {
  const most = Math.max(...tests.map((way) => log10(way.trees)));
  const sign = goals[by] === "max" ? -1 : 1;
  const sorted = order === "best" ? [...tests].sort((a, b) => sign * ((a.best?.order ?? Infinity) - (b.best?.order ?? Infinity)) || 0) : tests;
  const sort = (name) => () => {
    order = name;
    show();
  };
  const fill = (body) => body.replaceChildren(...sorted.filter((way) => way.name.toLowerCase().includes(wanted.toLowerCase())).map((way) => make("tr", {},
    make("td", { class: "way-name" }, make("button", { type: "button", class: "way", "data-step": way.step, title: way.name, onclick: take(way) }, way.name)),
    make("td", { class: "way-trees", title: `${shareText(way.trees, view.count)} of those that begin like this` }, shareBar(10 ** (log10(way.trees) - most)), make("span", {}, grouped(way.trees).length > 15 ? countText(way.trees) : grouped(way.trees))),
    make("td", {}, bestOf(way)))));
  const body = make("tbody", {});
  const find = tests.length < MANY ? null : make("input", { class: "find-test", type: "search", placeholder: `find among ${tests.length} tests`, "aria-label": "Find a test", value: wanted,
    oninput: (event) => {
      wanted = event.target.value;
      fill(body);
    } });
  fill(body);
  return make("div", { class: "ways-frame" }, make("table", { class: "ways" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, find ?? "test"),
      make("th", { scope: "col" }, sortHead("trees", order === "trees", false, sort("trees"), "good trees that go on with this test here")),
      make("th", { scope: "col" }, by ? sortHead("best", order === "best", goals[by] === "min", sort("best")) : "", chooser))), body));
}
