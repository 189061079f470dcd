// The landscape inside a notebook. Every output lives in a shadow tree of its own, so that several
// of them, and the notebook around them, leave each other alone. Nothing is fetched.

import { make } from "./dom.js";
import { drawHeatmap, drawLegend } from "./heatmap.js";

/** Turn the axes of a table. */
function turned(rows) {
  return rows[0].map((_, j) => rows.map((row) => row[j]));
}

function sums(rows) {
  return rows.map((row) => String(row.reduce((sum, n) => sum + BigInt(n), 0n)));
}

/** Put a kept table into the form that the heat map draws; x and y are positions of metrics. */
function landscapeView(data, { x, y, bins }) {
  const table = data.tables[`${Math.min(x, y)},${Math.max(x, y)},${bins}`];
  const kept = table.rows.map((row) => row.split(",").map((n) => n || "0"));
  const counts = x < y ? kept : turned(kept);
  const view = { x: data.axes[x][bins], y: data.axes[y][bins], counts, total: data.total, front: null,
    x_totals: sums(counts), y_totals: sums(turned(counts)) };
  if (table.front) {
    const line = table.front.line.map(([a, b]) => (x < y ? [a, b] : [b, a])).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const goals = x < y ? table.front.goals : [...table.front.goals].reverse();
    view.front = { line, goals, steps: goals[0] === "max" ? "steps-pre" : "steps-post" };
  }
  return view;
}

/** Follow the notebook, not the system: its letters are light on a dark page. */
function followTheme(host) {
  const look = () => {
    const [r, g, b] = getComputedStyle(host).color.match(/[\d.]+/g).map(Number);
    host.toggleAttribute("data-dark", 0.3 * r + 0.6 * g + 0.1 * b > 128);
  };
  look();
  new MutationObserver(look).observe(document.body, { attributes: true });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", look);
}

function choice(label, options, value, onChange) {
  const select = make("select", { onchange: (event) => onChange(Number(event.target.value)) },
    ...options.map((text, at) => make("option", { value: at }, text)));
  select.value = String(value);
  return { select, label: make("label", {}, `${label} `, select) };
}

function drawOne(host) {
  const data = JSON.parse(host.querySelector("script[type='application/json']").textContent);
  const state = { x: data.start[0], y: data.start[1], bins: data.bins.indexOf(10), scale: 0, front: true };
  const map = make("div", { class: "landscape" });
  const legend = make("div", { class: "legend" });
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const scales = ["log", "linear"];

  const show = () => {
    const view = landscapeView(data, state);
    const scale = scales[state.scale];
    drawHeatmap(map, view, { scale, front: state.front, onLook: (text) => { readout.textContent = text; } });
    drawLegend(legend, view, scale);
    if (view.front && state.front) {
      const goals = `${view.front.goals[0]} ${view.x.metric}, ${view.front.goals[1]} ${view.y.metric}`;
      legend.append(make("span", { class: "key-front" }, `best trade-offs, the Pareto front (${goals})`));
    }
  };
  // a metric against itself says nothing: the two change places instead
  const put = (axis, other) => (value) => {
    if (state[other] === value) state[other] = state[axis];
    state[axis] = value;
    across.select.value = String(state.x);
    upwards.select.value = String(state.y);
    show();
  };
  const set = (name) => (value) => {
    state[name] = value;
    show();
  };
  const names = data.metrics.map((metric) => (metric.title === metric.name ? metric.name : `${metric.name}: ${metric.title}`));
  const across = choice("Across", names, state.x, put("x", "y"));
  const upwards = choice("Upwards", names, state.y, put("y", "x"));
  const bins = choice("Bins", data.bins.map(String), state.bins, set("bins"));
  const colour = choice("Colour", ["logarithmic", "linear"], state.scale, set("scale"));
  const front = make("input", { type: "checkbox", checked: true, onchange: (event) => set("front")(event.target.checked) });
  const page = make("section", { class: "page", "aria-label": "Landscape of all trees" },
    make("p", { class: "head" }, make("strong", {}, data.head[0]), data.head[1]),
    make("div", { class: "controls" }, across.label, upwards.label, ...(data.bins.length > 1 ? [bins.label] : []), colour.label,
      make("label", { class: "check" }, front, " Best trade-offs")),
    map, legend, readout,
    ...data.notes.map((text) => make("p", { class: "note" }, text)),
    make("details", {}, make("summary", {}, "The first map as a table"), make("slot", { name: "table" })));
  host.attachShadow({ mode: "open" }).append(make("style", {}, data.style), page);
  followTheme(host);
  let width = 0;
  new ResizeObserver(() => { // also when a hidden output comes into view
    if (map.clientWidth === width) return;
    width = map.clientWidth;
    show();
  }).observe(map);
  show();
}

/** Draw all outputs that this script was written for and that are not drawn yet. */
function drawAll(mark) {
  for (const host of document.querySelectorAll(`[data-adtc-landscape="${mark}"]`)) {
    if (!host.shadowRoot) drawOne(host);
  }
}
