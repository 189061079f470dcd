// One tree at a time: drawn, stepped through, followed by a row, copied; and several side by side.

import { ask } from "./api.js";
import { make, treePicture } from "./dom.js";
import { binText } from "./heatmap.js";
import { currentLandscape, landscapeQuery } from "./landscape.js";
import { countText, grouped, treesText } from "./numbers.js";
import { download, downloadPicture } from "./pictures.js";
import { change, state } from "./state.js";

const MOST_PINS = 4;
let current = null;
let rows = 0;
let drawable = false;
const pinned = new Map();

export function currentTree() {
  return current;
}

function freshSeed() {
  const [a, b] = crypto.getRandomValues(new Uint32Array(2));
  return String((BigInt(a) << 21n) | BigInt(b >>> 11));
}

/** The parameters that name the trees meant: a cell, or all that satisfy the formula. */
function placeQuery() {
  return state.cell ? { ...landscapeQuery(), cell: state.cell } : { where: state.where };
}

export function beginTrees(overview, tell) {
  const get = (id) => document.getElementById(id);
  const step = (by) => {
    if (current) change({ rank: String(BigInt(current.rank) + by) });
  };
  get("redraw").addEventListener("click", () => drawTree(tell));
  get("next").addEventListener("click", () => step(1n));
  get("previous").addEventListener("click", () => step(-1n));
  get("leave-cell").addEventListener("click", () => change({ cell: "", rank: "" }));
  get("jump").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = get("jump-to").value.replace(/[\s,]/g, "");
    if (!/^[0-9]+$/.test(text) || BigInt(text) < 1n) {
      tell("Jump to a whole number from 1 on.", true);
      return;
    }
    if (current && BigInt(text) > BigInt(current.of)) {
      tell(`There are ${treesText(current.of)} here.`, true);
      return;
    }
    tell("");
    change({ rank: String(BigInt(text) - 1n) });
  });
  rows = overview.rows;
  drawable = overview.drawable;
  if (!overview.drawable) {
    for (const id of ["redraw", "next", "previous", "jump-to"]) get(id).disabled = true;
    get("tree-where").textContent = "This profile was kept without its circuit, so no tree can be drawn. Save it with --circuit (circuit=True) to see trees.";
  }
}

/** Draw a tree uniformly from the trees meant. */
export async function drawTree(tell) {
  const slow = setTimeout(() => tell("Drawing … (the first tree after an update may take a minute)"), 700);
  try {
    const view = await ask("tree", { ...placeQuery(), seed: freshSeed() });
    if (!view) return;
    tell("");
    current = { ...view, key: keyOf(view.rank) };
    change({ rank: view.rank });
    showTree(tell);
  } catch (refusal) {
    tell(refusal.message, true);
  } finally {
    clearTimeout(slow);
  }
}

function keyOf(rank) {
  return JSON.stringify([placeQuery(), rank, state.row]);
}

/** Show the tree that the state names. */
export async function loadTree(tell) {
  if (state.rank === "") {
    current = null;
    showTree(tell);
    return;
  }
  const key = keyOf(state.rank);
  if (current && current.key === key) {
    showTree(tell);
    return;
  }
  try {
    const view = await ask("tree", { ...placeQuery(), rank: state.rank, row: state.row });
    if (!view) return;
    current = { ...view, key };
    tell("");
    showTree(tell);
  } catch (refusal) {
    if (refusal.view.error?.includes("row")) change({ row: "" }, { quiet: true });
    tell(refusal.message, true);
  }
}

function placeText() {
  const landscape = currentLandscape();
  if (state.cell && landscape) {
    const [i, j] = state.cell.split(",").map(Number);
    if (i < landscape.x.labels.length && j < landscape.y.labels.length) {
      return `From the cell ${binText(landscape.x, i)}, ${binText(landscape.y, j)}${state.where ? ` of the trees with ${state.where}` : ""}.`;
    }
  }
  return state.where ? `From all trees with ${state.where}.` : "From all trees of the profile.";
}

function valueTable(view) {
  const values = Object.entries(view.metrics);
  return make("div", { class: "scroll" }, make("table", { class: "values", "aria-label": "Metrics of the tree" },
    make("tr", {}, ...values.map(([name]) => make("th", { scope: "col" }, name))),
    make("tr", {}, ...values.map(([name, value]) => make("td", { title: value.exact, "data-metric": name, "data-exact": value.exact }, value.text)))));
}

function copier(label, text, tell) {
  return make("button", { type: "button", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text());
      tell(`${label}: copied.`);
    } catch {
      download(text(), "adtc-tree.txt", "text/plain");
      tell("The clipboard is not open to this page, so the text was downloaded.");
    }
  } }, label);
}

function showTree(tell) {
  const get = (id) => document.getElementById(id);
  get("leave-cell").hidden = !state.cell;
  if (drawable) get("tree-where").textContent = placeText();
  get("redraw").disabled = !drawable || currentLandscape()?.total === "0";
  get("redraw").textContent = current ? "Draw another" : "Draw a tree";
  get("next").disabled = !current || BigInt(current.rank) + 1n >= BigInt(current.of);
  get("previous").disabled = !current || current.rank === "0";
  const place = get("tree");
  if (!current) {
    get("tree-title").textContent = "A tree";
    place.replaceChildren();
    return;
  }
  get("jump-to").value = grouped(String(BigInt(current.rank) + 1n));
  get("tree-title").textContent = "A tree";
  const picture = treePicture(current.svg);
  const row = make("input", { id: "row", inputmode: "numeric", size: 7, value: state.row, "aria-label": "Row number" });
  const follow = make("form", { class: "follow", onsubmit: (event) => {
    event.preventDefault();
    const text = row.value.replace(/[\s,]/g, "");
    if (/^[0-9]{1,15}$/.test(text) && Number(text) >= 1 && Number(text) <= rows) change({ row: text });
    else tell(`The table has rows 1 to ${grouped(String(rows))}.`, true);
  } }, make("label", { for: "row" }, "Follow row"), row, make("button", {}, "Follow"),
    state.row ? make("button", { type: "button", onclick: () => change({ row: "" }) }, "Stop") : null);
  const name = `adtc-tree-${current.profile_rank}`;
  place.replaceChildren(
    make("p", { class: "tree-head", id: "tree-head" }, `Tree ${countText(String(BigInt(current.rank) + 1n))} of ${countText(current.of)}`),
    make("p", { class: "note" }, `${current.size} ${current.size === 1 ? "leaf" : "leaves"}, depth ${current.depth}. In the whole profile it is profile.tree(${current.profile_rank}). It was scored on the table again before it was shown.`),
    valueTable(current), picture, ...(current.path ? [pathBox(current.path)] : []), follow,
    make("details", {}, make("summary", {}, "As rules"), make("ol", { class: "rules" }, ...current.rules.map((rule) => make("li", {}, rule)))),
    make("div", { class: "actions small" },
      make("button", { type: "button", id: "pin", onclick: () => pin(current.profile_rank) }, "Keep side by side"),
      make("button", { type: "button", id: "keep", onclick: () => document.dispatchEvent(new CustomEvent("adtc-keep", { detail: current })) }, "Add to shortlist"),
      copier("Copy rules", () => current.rules.join("\n"), tell),
      copier("Copy JSON", () => JSON.stringify(current.tree, null, 2), tell),
      copier("Copy SVG", () => current.svg, tell),
      make("button", { type: "button", onclick: () => downloadPicture(picture.querySelector("svg"), name, "png") }, "PNG"),
      make("button", { type: "button", onclick: () => download(current.svg, `${name}.svg`, "image/svg+xml") }, "SVG")),
  );
}

function pathBox(path) {
  const group = path.group === null ? "" : `, group ${path.group}`;
  return make("div", { class: "path" },
    make("strong", {}, `Row ${grouped(String(path.row))}`), ` (true label ${path.truth}${group}): `,
    make("ol", {}, ...path.steps.map((step) => make("li", {}, step))),
    `so the tree says ${path.label}, which is ${path.right ? "right" : "wrong"}.`);
}

/** Keep a tree beside others. */
function pin(rank) {
  const pins = state.pins ? state.pins.split(",") : [];
  if (!pins.includes(rank)) change({ pins: [...pins, rank].slice(-MOST_PINS).join(",") });
}

/** Show the kept trees with their metrics compared. */
export async function loadPins(tell) {
  const card = document.getElementById("side-card");
  const ranks = state.pins ? state.pins.split(",") : [];
  card.hidden = !ranks.length;
  try {
    for (const rank of ranks) {
      const key = `${rank} ${state.row}`;
      if (!pinned.has(key)) {
        const view = await ask("tree", { rank, row: state.row }, `pin ${rank}`);
        if (!view) return;
        pinned.set(key, view);
      }
    }
  } catch (refusal) {
    tell(refusal.message, true);
    return;
  }
  while (pinned.size > 24) pinned.delete(pinned.keys().next().value);
  showPins(ranks, ranks.map((rank) => pinned.get(`${rank} ${state.row}`)));
}

function showPins(ranks, views) {
  const place = document.getElementById("side");
  if (!views.length) {
    place.replaceChildren();
    return;
  }
  const title = (view) => `Tree ${countText(String(BigInt(view.rank) + 1n))}`;
  const names = Object.keys(views[0].metrics);
  const table = make("table", { class: "values", "aria-label": "Metrics compared" },
    make("tr", {}, make("td", {}), ...names.map((name) => make("th", { scope: "col" }, name))),
    ...views.map((view) => make("tr", {}, make("th", { scope: "row" }, title(view)),
      ...names.map((name) => make("td", { title: view.metrics[name].exact }, view.metrics[name].text)))));
  const drop = (rank) => change({ pins: ranks.filter((other) => other !== rank).join(",") });
  place.replaceChildren(make("p", { class: "note" }, `Numbers are ranks among all ${treesText(views[0].profile_of)} of the profile.`),
    make("div", { class: "scroll" }, table),
    make("div", { class: "side" }, ...views.map((view) => make("article", {},
      make("h3", {}, title(view)), treePicture(view.svg),
      ...(view.path ? [pathBox(view.path)] : []),
      make("div", { class: "actions small" },
        make("button", { type: "button", onclick: (event) => downloadPicture(event.target.closest("article").querySelector("svg"), `adtc-tree-${view.rank}`, "png") }, "PNG"),
        make("button", { type: "button", onclick: () => download(view.svg, `adtc-tree-${view.rank}.svg`, "image/svg+xml") }, "SVG"),
        make("button", { type: "button", onclick: () => drop(view.rank) }, "Put away"))))));
}
