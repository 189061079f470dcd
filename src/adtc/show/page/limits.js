// Sliders for common limits: they read the formula and write it, and never own it.

import { make } from "./dom.js";

const NUMBER = "([0-9]+(?:\\.[0-9]+)?%?)";

function atom(metric) {
  const sign = metric.goal === "max" ? ">=" : "<=";
  const name = metric.name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return { sign, pattern: new RegExp(`(?<![\\w\\]])${name}\\s*${sign}\\s*${NUMBER}`) };
}

/** Find the limit that a formula sets on a metric, as it is written; null if there is none. */
export function limitIn(formula, metric) {
  return formula.match(atom(metric).pattern)?.[1] ?? null;
}

function numberOf(limit) {
  return limit.endsWith("%") ? Number(limit.slice(0, -1)) / 100 : Number(limit);
}

/** Write a limit into a formula; null takes it out. */
export function withLimit(formula, metric, limit) {
  const { sign, pattern } = atom(metric);
  const found = formula.match(pattern);
  if (limit === null) {
    if (!found) return formula;
    const at = found.index;
    const before = formula.slice(0, at).replace(/\s*\band\s*$/i, "");
    const after = formula.slice(at + found[0].length);
    const lone = before === formula.slice(0, at) ? after.replace(/^\s*and\b\s*/i, "") : after;
    return `${before}${lone}`.trim();
  }
  const text = `${metric.name} ${sign} ${limit}`;
  if (found) return formula.slice(0, found.index) + text + formula.slice(found.index + found[0].length);
  if (!formula.trim()) return text;
  const old = /\bor\b|∨/i.test(formula) ? `(${formula.trim()})` : formula.trim();
  return `${old} and ${text}`;
}

/** Which metrics get a slider: accuracy, size, and each gap. */
export function limited(metrics) {
  return metrics.filter((m) => m.least !== null && m.least < m.largest && (m.gap || ["acc", "bacc", "f1", "size", "error", "depth"].includes(m.name)));
}

/** Make the sliders; onLimit(metric, limit) is told of every move. */
export function makeSliders(place, metrics, onLimit) {
  const sliders = limited(metrics).map((metric) => {
    const step = metric.whole ? 1 : 0.005;
    const low = metric.whole ? metric.least : Math.floor(metric.least / step) * step;
    const high = metric.whole ? metric.largest : Math.ceil(metric.largest / step) * step;
    const free = metric.goal === "max" ? low : high;
    const id = `limit-${metric.name}`;
    const output = make("output", { for: id });
    const input = make("input", { id, type: "range", min: low, max: high, step });
    const tidy = (number) => String(Number(number.toFixed(3)));
    const say = (limit) => {
      const sign = metric.goal === "max" ? "at least" : "at most";
      output.textContent = limit === null ? "no limit" : `${sign} ${limit}`;
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => {
      const value = Number(input.value);
      const limit = Math.abs(value - free) < step / 2 ? null : tidy(value);
      say(limit);
      onLimit(metric, limit);
    });
    place.append(make("div", { class: "slider" }, make("label", { for: id }, make("span", { title: `${metric.name}: ${metric.about}` }, metric.title), output), input));
    return { metric, show: (formula) => {
      const limit = limitIn(formula, metric);
      input.value = String(limit === null ? free : numberOf(limit));
      say(limit);
    } };
  });
  return (formula) => sliders.forEach((slider) => slider.show(formula));
}
