// Two profiles side by side and the map of what changed: shares in the first minus in the second.
// A cell of either map gives a tree of that profile; one of the difference gives a tree of each.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { binText, drawHeatmap } from "./heatmap.js";
import { treesText } from "./numbers.js";
import { downloadPicture } from "./pictures.js";
import { state } from "./state.js";

const MAPS = ["first", "second", "difference"];
let view = null;
const shown = {};
let onPick = () => {};

/** The two landscapes in bins that they share; null until they are there. */
export function currentCompare() {
  return view;
}

/** Set up the card; picked(side, i, j) is told of cells, with side "1", "2" or "both". */
export function beginCompare(overview, picked) {
  if (!overview.compare) return;
  onPick = picked;
  document.getElementById("tab-compare").hidden = false;
  showDifferences(overview.compare);
  for (const map of MAPS) {
    for (const kind of ["png", "svg"]) {
      document.getElementById(`${map}-${kind}`).addEventListener("click", () => downloadPicture(shown[map], `adtc-${map}`, kind));
    }
  }
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width || !view) return;
    width = window.innerWidth;
    drawCompare();
  });
}

/** Say in what the two questions differ; the maps alone do not tell. */
function showDifferences({ titles, differs }) {
  const head = ["", ...titles].map((title) => make("th", { scope: "col" }, title));
  const rows = differs.map(([name, first, second]) => make("tr", {}, make("th", { scope: "row" }, name),
    make("td", { class: "words" }, first), make("td", { class: "words" }, second)));
  document.getElementById("differs").replaceChildren(differs.length
    ? make("div", { class: "scroll" }, make("table", {}, make("caption", {}, "What differs between the two"), make("tr", {}, ...head), ...rows))
    : make("p", { class: "note" }, "Both profiles answer the same question on the same table."));
}

export async function loadCompare(overview) {
  if (!overview.compare) return;
  const answer = await ask("compare", { where: state.where, x: state.x, y: state.y, bins: state.bins });
  if (!answer) return;
  view = answer;
  document.getElementById("compare-readout").textContent = "";
  drawCompare();
}

/** Draw all three maps again, with the picked cell marked. */
export function drawCompare() {
  if (!view) return;
  const get = (id) => document.getElementById(id);
  const [first, second] = view.titles;
  get("compare-note").textContent = `The two share their bins. ${(100 * view.distance).toFixed(1)} % of the trees of one would have to move to another cell to make the maps equal.`;
  get("compare-first").textContent = `${first}: ${treesText(view.first.total)}`;
  get("compare-second").textContent = `${second}: ${treesText(view.second.total)}`;
  get("compare-both").textContent = `Difference in percentage points: orange where ${first} has the larger share, purple where ${second} has`;
  const readout = get("compare-readout");
  const onLook = (text) => { readout.textContent = text; };
  const had = document.activeElement?.closest?.("#compare-card [data-i]");
  const focused = had && `#${had.closest(".landscape").id} [data-i="${had.dataset.i}"][data-j="${had.dataset.j}"]`;
  const cell = state.cell && state.side ? state.cell.split(",").map(Number) : null;
  const map = (name, side, title) => drawHeatmap(get(`map-${name}`), view[name], {
    scale: state.scale, onLook, label: `Number of trees in ${title}`,
    picked: state.side === side ? cell : null, onPick: (i, j) => onPick(side, i, j),
  });
  shown.first = map("first", "1", first);
  shown.second = map("second", "2", second);
  const most = Math.max(...view.points.flat().map(Math.abs), 1e-9);
  const frame = { x: view.x, y: view.y, counts: view.first.counts, total: "1", front: null };
  shown.difference = drawHeatmap(get("map-difference"), frame, {
    label: `Difference of shares, ${first} minus ${second}`,
    margins: false,
    shade: (i, j) => (view.filled[i][j] ? { t: Math.abs(view.points[i][j]) / most, kind: view.points[i][j] < 0 ? "less" : "more" } : null),
    text: (i, j) => (view.filled[i][j] ? view.texts[i][j] : ""),
    words: (i, j) => `${binText(view.x, i)}, ${binText(view.y, j)}: ${view.texts[i][j]} percentage points (${first} ${treesText(view.first.counts[i][j])}, ${second} ${treesText(view.second.counts[i][j])})`,
    onLook,
    onPick: (i, j) => onPick("both", i, j),
  });
  if (focused) document.querySelector(focused)?.focus();
}
