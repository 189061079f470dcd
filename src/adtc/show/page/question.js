// The question bar: a formula, checked while it is typed, and what it leaves.

import { ask } from "./api.js";
import { make } from "./dom.js";
import { makeSliders, withLimit } from "./limits.js";
import { countText, grouped } from "./numbers.js";

const PAUSE = 180; // milliseconds without a key before the server is asked

/**
 * Set up the question bar. onFormula(text) is told of every formula that can be read.
 * Returns show(text), which puts a formula there from outside.
 */
export function beginQuestion(overview, onFormula) {
  const input = document.getElementById("formula");
  const error = document.getElementById("formula-error");
  const result = document.getElementById("result");
  const nearest = document.getElementById("nearest");
  let timer = null;
  let last = null; // the count before, to tell the change

  const showSliders = makeSliders(document.getElementById("sliders"), overview.metrics, (metric, limit) => {
    input.value = withLimit(input.value, metric, limit);
    grow();
    soon();
  });
  document.getElementById("limits-box").hidden = !document.querySelector("#sliders input");
  input.placeholder = example(overview.metrics);
  document.getElementById("begin-text").textContent = overview.begin_note;
  document.getElementById("show-all").textContent = `Show all ${countText(overview.count)}`;
  document.getElementById("show-all").addEventListener("click", () => put(""));
  const condition = (overview.facts.find(([name]) => name === "condition") ?? [])[1];
  const whole = condition ? `trees with ${condition}` : "trees of the space";

  function put(text) {
    input.value = text;
    grow();
    showSliders(text);
    check();
  }

  function grow() {
    input.style.height = "auto";
    input.style.height = `${input.scrollHeight + 2}px`;
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(check, PAUSE);
  }

  function complain(view) {
    input.setAttribute("aria-invalid", "true");
    result.classList.add("stale");
    const pointer = view.pointer && view.pointer.length ? [make("pre", { "aria-hidden": "true" }, view.pointer.join("\n"))] : [];
    const at = view.place ? ` Look at character ${view.place[0] + 1}.` : "";
    const sentence = /[.!?]$/.test(view.error) ? view.error : `${view.error}.`;
    error.replaceChildren(...pointer, make("span", {}, `${sentence}${at} The numbers below are those of the last formula that could be read.`));
  }

  function report(view) {
    input.removeAttribute("aria-invalid");
    result.classList.remove("stale");
    error.replaceChildren();
    const one = view.count === "1" ? "tree" : "trees";
    const what = view.count === "0" ? "No tree exists" : `${countText(view.count)} ${one}`;
    result.replaceChildren(...(view.range ? [make("small", {}, view.range)] : [what, make("small", {}, `${view.share} of the ${countText(view.of)} ${whole}${changeText(last, view.count)}`)]));
    last = view.count;
    document.getElementById("begin").hidden = !overview.begin || input.value.trim() !== overview.begin;
    const items = view.nearest.map((text) => make("li", {}, text));
    nearest.replaceChildren(...(items.length ? [make("p", { class: "note" }, "How near the trees of this profile come to each condition:"), make("ul", {}, ...items)] : []));
  }

  async function check() {
    const text = input.value.trim();
    try {
      const view = await ask("check", { where: text });
      if (!view || input.value.trim() !== text) return; // typed on meanwhile: a newer check follows
      if (!view.ok) {
        complain(view);
        return;
      }
      report(view);
      showSliders(text);
      onFormula(text);
    } catch (refusal) {
      if (input.value.trim() === text) complain(refusal.view);
    }
  }

  input.addEventListener("input", () => { grow(); soon(); });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(timer);
    check();
  });

  return (text) => {
    if (input.value.trim() === text && last !== null) return;
    put(text);
  };
}

/** Show what a formula looks like, with a metric that this profile has. */
function example(metrics) {
  const known = metrics.find((metric) => metric.goal && metric.least !== null && metric.least < metric.largest);
  if (!known) return "every tree";
  const middle = (known.least + known.largest) / 2;
  return `every tree; try ${known.name} ${known.goal === "max" ? ">=" : "<="} ${known.whole ? Math.round(middle) : middle.toFixed(2)}`;
}

function changeText(before, now) {
  if (before === null || before === now) return "";
  const difference = BigInt(now) - BigInt(before);
  const much = grouped(String(difference < 0n ? -difference : difference));
  return difference < 0n ? `; ${much} fewer than before` : `; ${much} more than before`;
}
