// A long list of which only the lines in sight exist; pages come from the server as they are needed.

import { make } from "./dom.js";

const LINE = 30; // pixels, as in panels.css
const PAGE = 100;
const SPARE = 10; // lines above and below those in sight
const MOST = 500000; // browsers do not scroll much further

/**
 * Make a list in an element. page(start, n) resolves to { of, rows }; line(row, columns) gives the
 * cells of a line; pick(row) is told of the line that is chosen.
 */
export function makeList(place, { page, line, pick }) {
  const head = make("div", { class: "list-head", role: "row" });
  const room = make("div", { class: "list-room", role: "presentation" });
  const frame = make("div", { class: "list-frame", role: "presentation" }, head, room);
  place.setAttribute("role", "grid");
  place.replaceChildren(frame);
  let pages = new Map();
  let columns = [];
  let of = 0;
  let at = 0; // the line that the keyboard is on
  let marked = 0;
  let turn = 0;

  async function need(number) {
    if (pages.has(number)) return;
    const mine = turn;
    pages.set(number, null);
    const answer = await page(number * PAGE, PAGE);
    if (!answer || mine !== turn) return;
    pages.set(number, answer.rows);
    of = Math.min(answer.of, MOST);
    room.style.height = `${of * LINE}px`;
    place.setAttribute("aria-rowcount", answer.of);
    show();
  }

  function rowAt(number) {
    return pages.get(Math.floor(number / PAGE))?.[number % PAGE] ?? null;
  }

  function oneLine(number) {
    const row = rowAt(number);
    const found = make("div", { class: "list-line", role: "row", "aria-rowindex": number + 1, "data-at": number, tabindex: number === at ? "0" : "-1" },
      ...(row ? line(row, columns) : [make("span", { class: "waiting" }, "…")]));
    if (row && row.row === marked) found.setAttribute("aria-selected", "true");
    found.style.top = `${number * LINE}px`;
    return found;
  }

  function show() {
    const first = Math.max(0, Math.floor(frame.scrollTop / LINE) - SPARE);
    const last = Math.min(of - 1, Math.ceil((frame.scrollTop + frame.clientHeight) / LINE) + SPARE);
    const had = frame.contains(document.activeElement);
    const lines = [];
    for (let number = first; number <= last; number += 1) {
      need(Math.floor(number / PAGE));
      lines.push(oneLine(number));
    }
    room.replaceChildren(...lines);
    if (had) room.querySelector(`[data-at="${at}"]`)?.focus({ preventScroll: true });
  }

  function move(to) {
    at = Math.max(0, Math.min(of - 1, to));
    const top = at * LINE;
    const sight = frame.clientHeight - head.offsetHeight;
    if (top < frame.scrollTop) frame.scrollTop = top;
    if (top + LINE > frame.scrollTop + sight) frame.scrollTop = top + LINE - sight;
    show();
    room.querySelector(`[data-at="${at}"]`)?.focus({ preventScroll: true });
  }

  frame.addEventListener("scroll", () => window.requestAnimationFrame(show), { passive: true });
  room.addEventListener("click", (event) => {
    const found = event.target.closest("[data-at]");
    if (!found) return;
    at = Number(found.dataset.at);
    if (rowAt(at)) pick(rowAt(at));
  });
  room.addEventListener("keydown", (event) => {
    const seen = Math.floor((frame.clientHeight - head.offsetHeight) / LINE);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: seen, PageUp: -seen, Home: -of, End: of }[event.key];
    if (by) move(at + by);
    else if ((event.key === "Enter" || event.key === " ") && rowAt(at)) pick(rowAt(at));
    else return;
    event.preventDefault();
  });

  return {
    /** Begin anew under these headings: pairs of a column's name and what stands above it. */
    fill: async (heads) => {
      turn += 1;
      pages = new Map();
      columns = heads.map(([name]) => name);
      at = 0;
      head.replaceChildren(...heads.map(([name, content]) => make("span", { role: "columnheader", class: `c-${name}` }, content)));
      place.dataset.columns = columns.join(" ");
      frame.scrollTop = 0;
      await need(0);
    },
    /** What the first line is about; null while it is on its way. */
    first: () => rowAt(0),
    /** Mark the line of a row. */
    mark: (row) => {
      marked = row;
      show();
    },
  };
}
