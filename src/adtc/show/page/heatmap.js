// The landscape: a heat map whose cells are real elements with labels, margins and a front.
// Used by the report and by the dashboard alike.

import { draw } from "./dom.js";
import { COUNT_FORMS, countText, grouped, log10, shareText, treesText } from "./numbers.js";

const LETTER = 6.9; // average width of a letter of 11 px
const TICK = 11;

/** Decide where everything goes, for a width in pixels. */
function layOut(view, width, margins, most = Infinity) {
  const narrow = width < 520;
  const labels = view.y.ticks.map((tick) => tick.label.length);
  const left = Math.max(...labels, 4) * LETTER + 34;
  const band = margins ? (narrow ? 26 : 46) : 0;
  const top = 10 + band;
  const bottom = 50;
  const last = Math.max(...view.x.ticks.map((tick) => tick.label.length), 0) * LETTER;
  const right = Math.max(12 + band, last / 2 + 4); // the last tick's label hangs over the edge
  const plotWidth = Math.max(120, width - left - right);
  const rows = Math.max(view.y.length, 1);
  const cellWidth = plotWidth / Math.max(view.x.length, 1);
  const ideal = Math.min(plotWidth * 0.72, 430, most - top - bottom);
  const cellHeight = Math.max(15, Math.min(ideal / rows, 64, cellWidth * 1.4));
  const plotHeight = cellHeight * rows;
  return { left, top, band, plotWidth, plotHeight, cellWidth, cellHeight,
           width, height: top + plotHeight + bottom };
}

/** Keep every n-th label so that no two touch; labels that must stay do. */
function thinned(ticks, unit, room) {
  const kept = ticks.filter((tick) => tick.stays);
  const inner = ticks.filter((tick) => !tick.stays);
  const touch = (a, b) => Math.abs(a.place - b.place) * unit < (room(a) + room(b)) / 2 + 4;
  const free = (tick) => !kept.some((other) => touch(tick, other));
  for (let step = 1; step <= inner.length; step += 1) {
    const chosen = inner.filter((tick, at) => at % step === 0 && free(tick));
    if (!chosen.some((tick, at) => at && touch(chosen[at - 1], tick))) return [...chosen, ...kept];
  }
  return kept;
}

/** How strong a colour is, from 0 to 1. */
function strengths(view, scale) {
  const logs = view.counts.flat().filter((n) => n !== "0").map(log10);
  const high = Math.max(...logs, 0);
  const low = Math.min(...logs, high);
  if (scale === "linear") return (n) => 0.05 + 0.95 * 10 ** (log10(n) - high);
  return (n) => (high > low ? 0.06 + (0.94 * (log10(n) - low)) / (high - low) : 0.6);
}

export function inkClass(strength) {
  if (strength < 0.45) return "heat-a";
  return strength < 0.55 ? "heat-b" : "heat-c";
}

/** Choose the longest way to write numbers that fits into every cell. */
function cellForm(texts, room) {
  for (const write of COUNT_FORMS) {
    if (texts.every((text) => write(text).length * LETTER <= room - 4)) return write;
  }
  return null;
}

/** Name a bin in words: "acc in [0.80, 0.82)". */
export function binText(axis, at) {
  const label = axis.labels[at];
  if (axis.kinds[at] === "undefined") return `${axis.metric} undefined`;
  if (axis.kinds[at] === "value") return `${axis.metric} = ${label}`;
  return label.startsWith("[") ? `${axis.metric} in ${label}` : `${axis.metric} ${label}`;
}

export function cellText(view, i, j) {
  const n = view.counts[i][j];
  const share = n === "0" ? "" : ` (${shareText(n, view.total)} of those shown)`;
  return `${binText(view.x, i)}, ${binText(view.y, j)}: ${n === "0" ? "no tree" : treesText(n)}${share}`;
}

function axisParts(view, box) {
  const { left, top, plotWidth, plotHeight, cellWidth, cellHeight } = box;
  const parts = [];
  const wide = (tick) => tick.label.length * LETTER;
  for (const tick of thinned(view.x.ticks, cellWidth, wide)) {
    const x = left + tick.place * cellWidth;
    parts.push(draw("line", { class: "tick", x1: x, x2: x, y1: top + plotHeight, y2: top + plotHeight + 4 }));
    parts.push(draw("text", { class: "tick-label", x, y: top + plotHeight + 19, "text-anchor": "middle" }, tick.label));
  }
  for (const tick of thinned(view.y.ticks, cellHeight, () => TICK)) {
    const y = top + plotHeight - tick.place * cellHeight;
    parts.push(draw("line", { class: "tick", x1: left - 4, x2: left, y1: y, y2: y }));
    parts.push(draw("text", { class: "tick-label", x: left - 7, y: y + 4, "text-anchor": "end" }, tick.label));
  }
  const middle = top + plotHeight / 2;
  parts.push(draw("text", { class: "axis-name", x: left + plotWidth / 2, y: top + plotHeight + 40, "text-anchor": "middle" }, view.x.metric));
  parts.push(draw("text", { class: "axis-name", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, view.y.metric));
  const group = draw("g", { "aria-hidden": "true" });
  group.append(...parts);
  return group;
}

function marginBars(view, box) {
  const { left, top, band, plotWidth, plotHeight, cellWidth, cellHeight } = box;
  const group = draw("g", { class: "margins", role: "presentation" });
  const bars = (totals) => {
    const high = Math.max(...totals.filter((n) => n !== "0").map(log10), 0);
    return totals.map((n) => (n === "0" ? 0 : Math.max(2, (band - 10) * 10 ** (log10(n) - high))));
  };
  const add = (attributes, axis, at, n) => {
    const text = `${binText(axis, at)}: ${n === "0" ? "no tree" : treesText(n)} in all`;
    group.append(draw("rect", { class: "margin", ...attributes }, draw("title", {}, text)));
  };
  bars(view.x_totals).forEach((height, i) => {
    const x = left + view.x.starts[i] * cellWidth;
    add({ x: x + 1, y: top - 5 - height, width: Math.max(1, cellWidth - 2), height }, view.x, i, view.x_totals[i]);
  });
  bars(view.y_totals).forEach((width, j) => {
    const y = top + plotHeight - (view.y.starts[j] + 1) * cellHeight;
    add({ x: left + plotWidth + 5, y: y + 1, width, height: Math.max(1, cellHeight - 2) }, view.y, j, view.y_totals[j]);
  });
  return group;
}

/** The points of the front, and the corners of the line of steps through them, in pixels. */
function frontPlaces(view, box) {
  const { left, top, plotHeight, cellWidth, cellHeight } = box;
  const points = view.front.line.map(([x, y]) => [left + x * cellWidth, top + plotHeight - y * cellHeight]);
  const corners = points.flatMap(([x, y], at) => {
    if (at === 0) return [[x, y]];
    const [before, above] = points[at - 1];
    return [view.front.steps === "steps-pre" ? [before, y] : [x, above], [x, y]];
  });
  return { points, corners };
}

/** Tell whether a line with corners runs through a box around a centre, or a point lies in it. */
function isStruck(corners, x, y, halfWidth, halfHeight) {
  return corners.some(([a, b], at) => {
    const [c, d] = corners[Math.min(at + 1, corners.length - 1)];
    return Math.min(a, c) < x + halfWidth && Math.max(a, c) > x - halfWidth
      && Math.min(b, d) < y + halfHeight && Math.max(b, d) > y - halfHeight;
  });
}

/** Move a number within its cell until the front does not run through it; where it must, cut the line. */
function makeWay(cell, corners) {
  const rect = cell.querySelector("rect");
  const [left, top, width, height] = ["x", "y", "width", "height"].map((name) => Number(rect.getAttribute(name)));
  const [halfWidth, halfHeight] = [(cell.count.textContent.length * LETTER) / 2 + 4, TICK / 2 + 4];
  const across = Math.max(0, width / 2 - halfWidth + 3);
  const up = Math.max(0, height / 2 - halfHeight + 3);
  const [x, y] = [left + width / 2, top + height / 2];
  for (const dx of [0, across, -across]) {
    for (const dy of [0, -up, up]) {
      if (isStruck(corners, x + dx, y + dy, halfWidth, halfHeight)) continue;
      cell.count.setAttribute("x", x + dx);
      cell.count.setAttribute("y", y + dy + 4);
      return null;
    }
  }
  const patch = draw("rect", { class: rect.getAttribute("class"), x: x - halfWidth, y: y - halfHeight, width: 2 * halfWidth, height: 2 * halfHeight });
  patch.style.setProperty("--t", rect.style.getPropertyValue("--t"));
  return patch;
}

function frontLine(view, box) {
  const { points, corners } = frontPlaces(view, box);
  const path = corners.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const group = draw("g", { class: "front", "aria-hidden": "true" });
  group.append(draw("path", { class: "front-halo", d: path }), draw("path", { class: "front-line", d: path }));
  for (const [x, y] of points) group.append(draw("circle", { class: "front-point", cx: x, cy: y, r: 2.6 }));
  return group;
}

/** Where both axes, which share their bins, have the same value. */
function diagonalLine(view, { left, top, plotHeight, cellWidth, cellHeight }) {
  const n = view.x.kinds.filter((kind) => kind !== "undefined").length;
  return draw("line", { class: "diagonal", "aria-hidden": "true", x1: left, y1: top + plotHeight, x2: left + n * cellWidth, y2: top + plotHeight - n * cellHeight });
}

/** Let arrow keys move between cells, and Enter pick one. */
function addKeys(grid, cells, view, onPick) {
  const shape = [view.counts.length, view.counts[0].length];
  grid.addEventListener("keydown", (event) => {
    const cell = event.target.closest("[data-i]");
    if (!cell) return;
    let i = Number(cell.dataset.i);
    let j = Number(cell.dataset.j);
    if (event.key === "ArrowRight") i += 1;
    else if (event.key === "ArrowLeft") i -= 1;
    else if (event.key === "ArrowUp") j += 1;
    else if (event.key === "ArrowDown") j -= 1;
    else if (event.key === "Home") i = 0;
    else if (event.key === "End") i = shape[0] - 1;
    else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (onPick) onPick(i, j);
      return;
    } else return;
    event.preventDefault();
    if (i < 0 || j < 0 || i >= shape[0] || j >= shape[1]) return;
    cell.setAttribute("tabindex", "-1");
    cells[i][j].setAttribute("tabindex", "0");
    cells[i][j].focus();
  });
}

/**
 * Draw a heat map into an element.
 *
 * options: scale "log" or "linear"; height at most, in pixels; margins; front; picked [i, j]; onPick(i, j); onLook(text) is
 * told about the cell under the pointer or in focus; shade(i, j) and text(i, j) replace counts;
 * diagonal joins equal values of axes that share their bins.
 */
export function drawHeatmap(place, view, options = {}) {
  const margins = options.margins !== false && !options.shade;
  if (!view.counts.length || !view.counts[0].length || view.total === "0") {
    const empty = document.createElement("p");
    empty.className = "empty";
    empty.textContent = "No tree exists here, so there is nothing to draw.";
    place.replaceChildren(empty);
    return null;
  }
  const box = layOut(view, Math.max(280, place.clientWidth || 640), margins, options.height);
  const strength = options.shade ? null : strengths(view, options.scale);
  const filled = view.counts.flat().filter((n) => n !== "0");
  const write = options.text ? null : cellForm(filled, box.cellWidth);
  const name = options.label || `Number of trees by ${view.x.metric} and ${view.y.metric}`;
  const svg = draw("svg", { class: "heatmap", width: box.width, height: box.height,
    viewBox: `0 0 ${box.width} ${box.height}`, role: "group", "aria-label": name });
  const grid = draw("g", { role: "grid", "aria-label": `${name}. Arrow keys move between cells${options.onPick ? ", Enter picks one" : ""}.`,
    "aria-rowcount": view.y.labels.length, "aria-colcount": view.x.labels.length });
  const cells = view.x.labels.map(() => []);
  const picked = options.picked || null;
  const start = picked || fullest(view);
  for (let j = view.y.labels.length - 1; j >= 0; j -= 1) {
    const row = draw("g", { role: "row", "aria-label": binText(view.y, j) });
    for (let i = 0; i < view.x.labels.length; i += 1) {
      const cell = makeCell(view, box, i, j, { strength, write, options });
      const here = start[0] === i && start[1] === j;
      cell.setAttribute("tabindex", here ? "0" : "-1");
      if (picked && here) cell.classList.add("picked");
      cell.setAttribute("aria-selected", picked && here ? "true" : "false");
      cells[i].push(cell);
      row.append(cell);
    }
    grid.append(row);
  }
  cells.forEach((column) => column.reverse());
  svg.append(axisParts(view, box), grid);
  const numbers = draw("g", { "aria-hidden": "true" }); // above the front, which would cover them
  numbers.append(...cells.flat().map((cell) => cell.count).filter(Boolean));
  if (margins) svg.append(marginBars(view, box));
  if (options.front !== false && view.front && view.front.line.length) {
    svg.append(frontLine(view, box));
    const { corners } = frontPlaces(view, box);
    const patches = cells.flat().filter((cell) => cell.count).map((cell) => makeWay(cell, corners));
    svg.append(...patches.filter(Boolean));
  }
  if (options.diagonal) svg.append(diagonalLine(view, box));
  svg.append(numbers);
  addKeys(grid, cells, view, options.onPick);
  if (options.onLook) {
    const look = (event) => {
      const cell = event.target.closest("[data-i]");
      if (cell) options.onLook(cell.getAttribute("aria-label"));
    };
    svg.addEventListener("pointerover", look);
    svg.addEventListener("focusin", look);
  }
  place.replaceChildren(svg);
  return svg;
}

function makeCell(view, box, i, j, { strength, write, options }) {
  const n = view.counts[i][j];
  const x = box.left + view.x.starts[i] * box.cellWidth;
  const y = box.top + box.plotHeight - (view.y.starts[j] + 1) * box.cellHeight;
  const words = options.words ? options.words(i, j) : cellText(view, i, j);
  const cell = draw("g", { class: "cell", role: "gridcell", "data-i": i, "data-j": j, "aria-label": words });
  const rect = draw("rect", { x: x + 0.75, y: y + 0.75, rx: 2,
    width: Math.max(1, box.cellWidth - 1.5), height: Math.max(1, box.cellHeight - 1.5) });
  const shade = options.shade ? options.shade(i, j) : n === "0" ? null : { t: strength(n), kind: "heat" };
  if (shade === null) rect.setAttribute("class", "no-tree");
  else {
    rect.setAttribute("class", shade.kind);
    rect.style.setProperty("--t", `${(100 * shade.t).toFixed(1)}%`);
  }
  cell.append(rect, draw("title", {}, words));
  const text = options.text ? options.text(i, j) : write && n !== "0" ? write(n) : "";
  const [least, most] = text.split("..");
  if (most && box.cellHeight >= 28 && Math.max(least.length, most.length + 1) * LETTER <= box.cellWidth - 2) {
    const middle = { x: x + box.cellWidth / 2 };
    cell.count = draw("text", { class: `cell-count ${inkClass(shade.t)} on-${shade.kind}`, "aria-hidden": "true", y: y + box.cellHeight / 2 - 3, "text-anchor": "middle" },
      draw("tspan", middle, least), draw("tspan", { ...middle, dy: 13 }, `–${most}`));
    cell.count.style.setProperty("--t", rect.style.getPropertyValue("--t"));
  } else if (text && box.cellHeight >= 13 && text.length * LETTER <= box.cellWidth - 2) {
    cell.count = (draw("text", { class: `cell-count ${shade ? `${inkClass(shade.t)} on-${shade.kind}` : ""}`, "aria-hidden": "true",
      x: x + box.cellWidth / 2, y: y + box.cellHeight / 2 + 4, "text-anchor": "middle" }, text));
    if (shade) cell.count.style.setProperty("--t", rect.style.getPropertyValue("--t"));
  }
  if (options.onPick) cell.addEventListener("click", () => options.onPick(i, j));
  return cell;
}

/** Find the cell with the most trees: the keyboard starts there. */
function fullest(view) {
  let best = [0, 0];
  let most = 0n;
  view.counts.forEach((row, i) => row.forEach((n, j) => {
    if (BigInt(n) > most) {
      most = BigInt(n);
      best = [i, j];
    }
  }));
  return best;
}

/** How cells of which only two ends are known are drawn: both are shown, and none can be picked. */
export function rangedLook(view) {
  if (!view.ranges) return {};
  return { onPick: null, margins: false, text: (i, j) => view.ranges[i][j],
    words: (i, j) => `${binText(view.x, i)}, ${binText(view.y, j)}: ${view.range_words[i][j]}` };
}

/** The legend of the colours, with the least and the largest count. */
export function drawLegend(place, view, scale) {
  const filled = view.counts.flat().filter((n) => n !== "0");
  if (!filled.length) {
    place.replaceChildren();
    return;
  }
  filled.sort((a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0));
  const strength = strengths(view, scale);
  const steps = 24;
  const bar = draw("svg", { class: "legend-bar", width: 120, height: 10, viewBox: "0 0 120 10", "aria-hidden": "true" });
  const low = strength(filled[0]);
  for (let at = 0; at < steps; at += 1) {
    const rect = draw("rect", { class: "heat", x: at * 5, y: 0, width: 5.2, height: 10 });
    rect.style.setProperty("--t", `${100 * (low + ((1 - low) * at) / (steps - 1))}%`);
    bar.append(rect);
  }
  const text = (count) => {
    const span = document.createElement("span");
    span.textContent = count;
    return span;
  };
  const unit = text(scale === "linear" ? "trees per cell" : "trees per cell, logarithmic");
  if (view.ranges) unit.textContent += "; coloured by the upper end";
  place.replaceChildren(text(grouped(filled[0]).length > 15 ? countText(filled[0]) : grouped(filled[0])), bar,
    text(countText(filled[filled.length - 1])), unit);
}
