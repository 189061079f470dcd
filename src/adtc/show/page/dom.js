// Elements made without markup text, so that names from a table can never become code.

const SVG = "http://www.w3.org/2000/svg";

/** Make an HTML element: make("p", { class: "note" }, "text", child). */
export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. */
export function draw(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Put a drawn tree into the page; its own style sheet stays out, the page has the same rules. */
export function treePicture(svg) {
  const bare = svg.replace(/<style>[\s\S]*?<\/style>/g, "");
  const parsed = new DOMParser().parseFromString(bare, "image/svg+xml");
  const picture = document.importNode(parsed.documentElement, true);
  const scroller = make("div", { class: "tree-picture", tabindex: "0", role: "group" }, picture);
  scroller.style.setProperty("--natural", `${Number(picture.getAttribute("width")) || 0}px`);
  scroller.setAttribute("aria-label", "Picture of the tree; scroll sideways if it is wide");
  const hint = make("p", { class: "scroll-hint", hidden: true }, "⇄ wide: scroll sideways");
  new ResizeObserver(() => {
    const over = scroller.scrollWidth - scroller.clientWidth;
    if (hint.hidden && over > 1) scroller.scrollLeft = middleOf(scroller) - scroller.clientWidth / 2;
    hint.hidden = over <= 1;
  }).observe(scroller);
  return make("div", { class: "tree-frame" }, hint, scroller);
}

/** Where to look first in a wide tree: between the root and the leaf of the row that is followed. */
function middleOf(scroller) {
  const left = scroller.getBoundingClientRect().left - scroller.scrollLeft;
  const at = (element) => {
    const box = element.getBoundingClientRect();
    return box.left + box.width / 2 - left;
  };
  const leaf = scroller.querySelector(".adtc-leaf.adtc-on");
  const root = scroller.querySelector(".adtc-split");
  return leaf && root ? (at(leaf) + at(root)) / 2 : scroller.scrollWidth / 2;
}
