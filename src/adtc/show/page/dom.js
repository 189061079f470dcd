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
  const hint = make("p", { class: "scroll-hint", hidden: true }, "⇄ wider than the screen: scroll sideways");
  new ResizeObserver(() => {
    const over = scroller.scrollWidth - scroller.clientWidth;
    if (hint.hidden && over > 1) scroller.scrollLeft = over / 2; // the root stands in the middle
    hint.hidden = over <= 1;
  }).observe(scroller);
  return make("div", { class: "tree-frame" }, hint, scroller);
}
