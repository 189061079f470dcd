// The landscape of the dashboard: controls, the heat map, its front as a table.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { drawHeatmap, drawLegend, rangedLook } from "./heatmap.js";
import { grouped } from "./numbers.js";
import { downloadPicture } from "./pictures.js";
import { change, state } from "./state.js";

let view = null;
let shown = null;

/** The parameters that name a landscape. */
export function landscapeQuery() {
  return { where: state.where, x: state.x, y: state.y, bins: state.bins, fit: state.fit };
}

export function currentLandscape() {
  return view;
}

function options(select, metrics) {
  for (const metric of metrics) {
    const name = metric.title === metric.name ? metric.name : `${metric.name}: ${metric.title}`;
    select.append(make("option", { value: metric.name, title: metric.about }, name));
  }
}

export function beginLandscape(overview, onPick) {
  const get = (id) => document.getElementById(id);
  for (const axis of ["x", "y"]) {
    options(get(axis), overview.metrics);
    get(axis).addEventListener("change", (event) => change({ [axis]: event.target.value, cell: "", rank: "" }));
  }
  get("bins").addEventListener("input", (event) => { get("bins-text").textContent = event.target.value; });
  get("bins").addEventListener("change", (event) => change({ bins: event.target.value, cell: "", rank: "" }));
  get("scale").addEventListener("change", (event) => change({ scale: event.target.value }));
  get("front").addEventListener("change", (event) => change({ front: event.target.checked ? "1" : "0" }));
  get("fit").addEventListener("change", (event) => change({ fit: event.target.checked ? "1" : "0", cell: "", rank: "" }));
  get("map-png").addEventListener("click", () => downloadPicture(shown, "adtc-landscape", "png"));
  get("map-svg").addEventListener("click", () => downloadPicture(shown, "adtc-landscape", "svg"));
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    drawLandscape(onPick);
  });
}

/** Put the state into the controls. */
export function showControls() {
  const get = (id) => document.getElementById(id);
  get("x").value = state.x;
  get("y").value = state.y;
  get("bins").value = state.bins;
  get("bins-text").textContent = state.bins;
  get("scale").value = state.scale;
  get("front").checked = state.front === "1";
  get("fit").checked = state.fit === "1";
}

/** Ask for the landscape and draw it. */
export async function loadLandscape(onPick) {
  const answer = await ask("landscape", landscapeQuery());
  if (!answer) return;
  view = answer;
  document.getElementById("readout").textContent = "";
  drawLandscape(onPick);
}

/** How high the map may be so that it is seen whole beside the tree, below the question. */
function room() {
  const map = document.getElementById("map");
  return Math.max(300, Math.min(520, window.innerHeight - map.getBoundingClientRect().top - window.scrollY - 70));
}

export function drawLandscape(onPick) {
  if (!view) return;
  const readout = document.getElementById("readout");
  const had = document.activeElement?.closest?.("#map [data-i]");
  const picked = state.cell && !state.side ? state.cell.split(",").map(Number) : null;
  shown = drawHeatmap(document.getElementById("map"), view, {
    scale: state.scale, front: state.front === "1", picked, onPick, height: room(),
    onLook: (text) => { readout.textContent = text; },
    ...rangedLook(view),
  });
  if (had) document.querySelector(`#map [data-i="${had.dataset.i}"][data-j="${had.dataset.j}"]`)?.focus();
  drawLegend(document.getElementById("legend"), view, state.scale);
  if (view.front && state.front === "1" && view.total !== "0") {
    document.getElementById("legend").append(make("span", { class: "key-front" }, view.front.name.replace("Pareto front", "best trade-offs")));
  }
  if (!view.ranges && !view.front && state.front === "1" && view.total !== "0" && state.x !== state.y) {
    document.getElementById("legend").append(make("span", {}, "no line of best trade-offs: it is not known for both metrics whether more or less is better"));
  }
  showFront();
}

function showFront() {
  const box = document.getElementById("front-box");
  box.hidden = !view.front || !view.front.points.length;
  if (box.hidden) return;
  const goals = { max: "more is better", min: "less is better" };
  const head = view.front.names.map((name, at) => make("th", { scope: "col" }, `${name} (${goals[view.front.goals[at]]})`));
  const rows = view.front.points.slice(0, 200).map((point) => make("tr", {},
    ...point.values.map((value, at) => make("td", { title: point.exact[at] }, value)),
    make("td", {}, grouped(point.trees))));
  document.getElementById("front-summary").textContent = `Best trade-offs as a table (${view.front.points.length} points)`;
  document.getElementById("front-table").replaceChildren(
    make("table", {}, make("tr", {}, ...head, make("th", { scope: "col" }, "trees")), ...rows));
}
