// One tree at a time: drawn, stepped through, followed by a row, copied; and several side by side.

import { ask } from "./api.js";
import { currentCompare } from "./compare.js";
import { make, treePicture } from "./dom.js";
import { binText } from "./heatmap.js";
import { currentLandscape, landscapeQuery } from "./landscape.js";
import { countText, differenceText, grouped, treesText } from "./numbers.js";
import { download, downloadPicture } from "./pictures.js";
import { change, state } from "./state.js";

const MOST_PINS = 4;
const SLOW = "Drawing … (the first tree after an update may take a minute)";
let current = null;
let asked = 0; // trees on their way
let drawing = false; // a drawn tree is on its way, so the best one is not asked for
let bestBy = "";
let ranged = ""; // why a profile without exact numbers has no trees
let profiles = []; // what is known of the first profile and of the one it is compared with
const pinned = new Map();

export function currentTree() {
  return current;
}

function freshSeed() {
  const [a, b] = crypto.getRandomValues(new Uint32Array(2));
  return String((BigInt(a) << 21n) | BigInt(b >>> 11));
}

/** The profile that the trees come from. */
function profile() {
  return state.side === "2" && profiles.length > 1 ? profiles[1] : profiles[0];
}

/** The parameters that name the trees meant: a cell, or all that satisfy the formula. */
function placeQuery(side = state.side) {
  return state.cell ? { ...landscapeQuery(), cell: state.cell, side } : { where: state.where, side };
}

/** How many trees there are to draw from, as far as it is known. */
function total() {
  const compare = currentCompare();
  return state.side === "2" ? compare?.second.total : currentLandscape()?.total;
}

export function beginTrees(overview, tell) {
  const get = (id) => document.getElementById(id);
  const step = (by) => {
    if (current) change({ rank: String(BigInt(current.rank) + by) });
  };
  get("redraw").addEventListener("click", () => drawTree(tell));
  get("best").addEventListener("click", () => change({ rank: "" }));
  get("next").addEventListener("click", () => step(1n));
  get("previous").addEventListener("click", () => step(-1n));
  get("leave-cell").addEventListener("click", () => change({ cell: "", rank: "" }));
  get("both").addEventListener("click", () => drawBoth(tell));
  get("from").addEventListener("change", (event) => {
    // only the maps of the comparison share their cells
    change({ side: event.target.value === "2" ? "2" : state.cell ? "1" : "", cell: state.side ? state.cell : "", rank: "" });
  });
  get("jump").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = get("jump-to").value.replace(/[\s,]/g, "");
    if (!/^[0-9]+$/.test(text)) {
      tell("Jump to a whole number from 0 on.", true);
      return;
    }
    if (current && BigInt(text) >= BigInt(current.of)) {
      tell(`There are ${treesText(current.of)} here, numbered from 0 to ${grouped(String(BigInt(current.of) - 1n))}.`, true);
      return;
    }
    tell("");
    change({ rank: String(BigInt(text)) });
  });
  ranged = ["bounded", "estimated"].includes(overview.status) ? overview.without : "";
  bestBy = overview.best_by.slice(0, 2).map(([name, goal]) => `${goal === "max" ? "largest" : "smallest"} ${name}`).join(", then ");
  const [first, second] = overview.compare?.titles ?? ["", ""];
  profiles = [{ title: first, rows: overview.rows, drawable: overview.drawable, mark: "" }];
  if (overview.compare) {
    profiles.push({ title: second, rows: overview.compare.rows, drawable: overview.compare.drawable, mark: "2:" });
    get("from").append(make("option", { value: "" }, first), make("option", { value: "2" }, second));
    get("from-box").hidden = false;
    get("both").hidden = !profiles.every((one) => one.drawable);
  }
}

/** Wait for a tree, and say so: to those who cannot see it at once, in words after a while. */
async function awaited(tell, tree) {
  const place = document.getElementById("tree");
  const slow = setTimeout(() => tell(SLOW), 700);
  asked += 1;
  place.setAttribute("aria-busy", "true");
  try {
    await tree();
  } finally {
    clearTimeout(slow);
    asked -= 1;
    if (!asked) place.removeAttribute("aria-busy");
  }
}

/** Draw a tree uniformly from the trees meant, or from those that changes of the view name. */
export async function drawTree(tell, changes = {}) {
  drawing = true;
  change({ ...changes, ...(Object.keys(changes).length ? { rank: "" } : {}) });
  drawing = false;
  if (!profile().drawable) {
    showTree(tell);
    return;
  }
  await awaited(tell, async () => {
    try {
      const view = await ask("tree", { ...placeQuery(), seed: freshSeed() });
      if (!view) return;
      tell("");
      current = { ...view, key: keyOf(view.rank) };
      change({ rank: view.rank });
      showTree(tell);
    } catch (refusal) {
      tell(refusal.message, true);
    }
  });
}

/** Write the picked cell of the landscape as a formula; null where a metric is undefined. */
function cellFormula() {
  const [i, j] = state.cell.split(",").map(Number);
  const { x, y } = currentLandscape().formulas;
  if (!x[i] || !y[j]) return null;
  return [...(state.where ? [`(${state.where})`] : []), x[i], y[j]].join(" and ");
}

/** Draw a tree of each profile, from the same cell where it is one of both, and set them side by side. */
export async function drawBoth(tell) {
  const where = state.cell && !state.side ? cellFormula() : state.where;
  if (where === null) {
    tell("This cell is of the first profile alone: pick one in the two maps below.", true);
    return;
  }
  const query = (side) => (state.side ? placeQuery(side) : { where, side });
  const slow = setTimeout(() => tell(SLOW), 700);
  const found = [];
  const none = [];
  try {
    for (const [at, { title, mark, drawable }] of profiles.entries()) {
      if (!drawable) {
        none.push(`${title} (kept without its circuit)`);
        continue;
      }
      try {
        const view = await ask("tree", { ...query(String(at + 1)), seed: freshSeed() }, `both ${at}`);
        if (!view) return;
        found.push(`${mark}${view.profile_rank}`);
      } catch (refusal) {
        if (refusal.status !== 404) throw refusal;
        none.push(title);
      }
    }
    tell(none.length ? `${none.join(" and ")}: no tree here.` : "");
    change({ pins: [...pinIds().filter((id) => !found.includes(id)), ...found].slice(-MOST_PINS).join(",") });
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
  if (drawing) return;
  if (!profile().drawable || (state.rank === "" && total() === "0")) {
    current = null;
    showTree(tell);
    return;
  }
  const key = keyOf(state.rank);
  if (current && current.key === key) {
    showTree(tell);
    return;
  }
  await awaited(tell, async () => {
    try {
      const view = await ask("tree", { ...placeQuery(), rank: state.rank, row: state.row });
      if (!view) return;
      current = { ...view, key };
      showTree(tell);
      if (document.getElementById("notice").textContent === SLOW) tell("");
    } catch (refusal) {
      if (refusal.view.error?.includes("row")) change({ row: "" }, { quiet: true });
      current = null;
      showTree(tell);
      tell(refusal.message, true);
    }
  });
}

function placeText() {
  const { title, drawable } = profile();
  if (!drawable && ranged) return `${ranged[0].toUpperCase()}${ranged.slice(1)}`;
  if (!drawable) return `${title ? `The profile ${title}` : "This profile"} was kept without its circuit, so no tree can be drawn. Save it with --circuit (circuit=True) to see trees.`;
  const landscape = state.side ? currentCompare() : currentLandscape();
  const of = title ? ` of ${title}` : "";
  if (state.cell && landscape) {
    const [i, j] = state.cell.split(",").map(Number);
    if (i < landscape.x.labels.length && j < landscape.y.labels.length) {
      return `From the cell ${binText(landscape.x, i)}, ${binText(landscape.y, j)}${of}${state.where ? `${title ? "," : " of"} the trees with ${state.where}` : ""}.`;
    }
  }
  return state.where ? `From all trees${of} with ${state.where}.` : `From all trees${of || " of the profile"}.`;
}

/** What to call the tree, and which it is. */
function titleText({ title }) {
  const tree = current?.best ? "The best tree" : "A tree";
  return title ? `${tree} of ${title}` : tree;
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

/** Where the tree stands among those of the formula or of the cell; a tree's own number is its rank in the profile. */
function hereText() {
  return current.of === current.profile_of ? "" : `Here it is at place ${grouped(current.rank)}, from 0, of ${countText(current.of)}. `;
}

function showTree(tell) {
  const get = (id) => document.getElementById(id);
  const { title, drawable, rows } = profile();
  get("leave-cell").hidden = !state.cell;
  get("from").value = state.side === "2" ? "2" : "";
  const none = drawable && total() === "0";
  get("tree-where").textContent = none ? "No tree satisfies the formula, so there is none to show." : `${current?.best && bestBy ? `${bestBy[0].toUpperCase()}${bestBy.slice(1)}. ` : ""}${placeText()}`;
  get("best").disabled = !drawable || none || Boolean(current?.best);
  get("redraw").disabled = !drawable || total() === "0";
  get("jump-to").disabled = !drawable;
  get("tree-title").textContent = titleText(profile());
  get("redraw").textContent = current ? "Draw another" : "Draw a tree";
  get("next").disabled = !current || BigInt(current.rank) + 1n >= BigInt(current.of);
  get("previous").disabled = !current || current.rank === "0";
  const place = get("tree");
  get("tree-head").hidden = !current;
  if (!current) {
    place.replaceChildren();
    return;
  }
  get("tree-head").textContent = `Tree ${grouped(current.profile_rank)} of ${countText(current.profile_of)}`;
  get("jump-to").value = grouped(current.rank);
  const picture = treePicture(current.svg);
  const mistake = make("span", { id: "row-error", class: "mistake", role: "alert" });
  const row = make("input", { id: "row", "aria-describedby": "row-error", inputmode: "numeric", size: 7, value: state.row, "aria-label": "Row number" });
  const follow = make("form", { class: "follow", onsubmit: (event) => {
    event.preventDefault();
    const text = row.value.replace(/[\s,]/g, "");
    const known = /^[0-9]{1,15}$/.test(text) && Number(text) < rows;
    mistake.textContent = known ? "" : `There is no row ${row.value.slice(0, 20) || "without a number"}: the table has rows 0 to ${grouped(String(rows - 1))}.`;
    row.toggleAttribute("aria-invalid", !known);
    if (known) change({ row: text });
    else mistake.scrollIntoView({ block: "nearest" });
  } }, make("label", { for: "row" }, "Follow row"), row, make("button", {}, "Follow"),
    state.row ? make("button", { type: "button", onclick: () => change({ row: "" }) }, "Stop") : null, mistake);
  const name = `adtc-tree-${state.side === "2" ? "second-" : ""}${current.profile_rank}`;
  place.replaceChildren(
    valueTable(current), picture, ...(current.path ? [pathBox(current.path)] : []), follow,
    make("p", { class: "note" }, `${current.size} ${current.size === 1 ? "leaf" : "leaves"}, depth ${current.depth}. ${hereText()}The number counts all trees of the profile${title ? ` ${title}` : ""} from 0: profile.tree(${current.profile_rank}). It was scored on ${title ? "that profile's" : "the"} table again before it was shown.`),
    make("details", {}, make("summary", {}, "As rules"), make("ol", { class: "rules" }, ...current.rules.map((rule) => make("li", {}, rule)))),
    make("div", { class: "actions small" },
      make("button", { type: "button", id: "pin", onclick: () => pin(`${profile().mark}${current.profile_rank}`) }, "Keep side by side"),
      make("button", { type: "button", id: "keep", onclick: () => document.dispatchEvent(new CustomEvent("adtc-keep", { detail: { ...current, side: state.side === "2" ? "2" : "" } })) }, "Add to shortlist"),
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
    make("ol", {}, ...path.steps.map((step) => make("li", {}, `${step.test}? ${step.answer}`,
      step.value ? make("span", { class: "value" }, `, for ${step.value}`) : null))),
    `so the tree says ${path.label}, which is ${path.right ? "right" : "wrong"}.`,
    path.known.length ? make("details", {}, make("summary", {}, "What the table knows of this row"),
      make("ul", {}, ...path.known.map((text) => make("li", {}, text)))) : null);
}

/** The trees side by side: ranks, with "2:" before those of the second profile. */
function pinIds() {
  return state.pins ? state.pins.split(",") : [];
}

/** The ranks of the trees side by side that are of the profile shown. */
export function sideRanks() {
  const second = state.side === "2";
  return pinIds().filter((id) => id.startsWith("2:") === second).map((id) => id.replace("2:", ""));
}

/** Keep a tree beside others. */
function pin(id) {
  if (!pinIds().includes(id)) change({ pins: [...pinIds(), id].slice(-MOST_PINS).join(",") });
}

/** Show the kept trees with their metrics compared. */
export async function loadPins(tell) {
  const card = document.getElementById("side-card");
  const ids = pinIds();
  const key = (id) => `${id} ${state.row}`;
  card.hidden = !ids.length;
  try {
    for (const id of ids.filter((one) => !pinned.has(key(one)))) {
      const [rank, side] = id.startsWith("2:") ? [id.slice(2), "2"] : [id, ""];
      const rows = profiles[side && profiles.length > 1 ? 1 : 0].rows ?? 0; // a row of one table may be missing in the other
      const view = await ask("tree", { rank, side, row: Number(state.row) < rows ? state.row : "" }, `pin ${id}`);
      if (!view) return;
      pinned.set(key(id), { ...view, id });
    }
  } catch (refusal) {
    tell(refusal.message, true);
    return;
  }
  showPins(ids.map((id) => pinned.get(key(id))));
  while (pinned.size > 24) pinned.delete(pinned.keys().next().value);
}

function showPins(views) {
  const place = document.getElementById("side");
  if (!views.length) {
    place.replaceChildren();
    return;
  }
  const number = (view) => `Tree ${grouped(view.rank)}`;
  const title = (view) => (view.profile ? `${number(view)} of ${view.profile}` : number(view));
  const names = Object.keys(views[0].metrics);
  const row = (head, cells) => make("tr", {}, make("th", { scope: "row" }, head), ...cells);
  const table = make("table", { class: "values", "aria-label": "Metrics compared" },
    make("tr", {}, make("td", {}), ...names.map((name) => make("th", { scope: "col" }, name))),
    ...views.map((view) => row(title(view), names.map((name) => make("td", { title: view.metrics[name].exact, "data-exact": view.metrics[name].exact }, view.metrics[name].text)))));
  if (views.length === 2) {
    const [a, b] = views.map((view) => view.metrics);
    table.append(row("first minus second", names.map((name) => make("td", {}, differenceText(a[name].exact, b[name].exact)))));
  }
  const wholes = [...new Map(views.map((view) => [view.profile, view.profile_of]))];
  const note = wholes[0][0] === null ? `Numbers are ranks among all ${treesText(wholes[0][1])} of the profile.`
    : `Numbers are ranks among all trees of each profile (${wholes.map(([name, n]) => `${name}: ${treesText(n)}`).join(", ")}). Each tree was scored again on its own profile's table.`;
  const drop = (id) => change({ pins: pinIds().filter((other) => other !== id).join(",") });
  place.replaceChildren(make("p", { class: "note" }, note),
    make("div", { class: "scroll" }, table),
    make("div", { class: "side" }, ...views.map((view) => make("article", {},
      make("h3", {}, title(view)), treePicture(view.svg),
      ...(view.path ? [pathBox(view.path)] : []),
      make("div", { class: "actions small" },
        make("button", { type: "button", onclick: (event) => downloadPicture(event.target.closest("article").querySelector("svg"), `adtc-tree-${view.rank}`, "png") }, "PNG"),
        make("button", { type: "button", onclick: () => download(view.svg, `adtc-tree-${view.rank}.svg`, "image/svg+xml") }, "SVG"),
        make("button", { type: "button", onclick: () => drop(view.id) }, "Put away"))))));
}
