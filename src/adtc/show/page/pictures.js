// Pictures leave the page as SVG or PNG, with their colours written into them.

const KEPT = ["fill", "stroke", "stroke-width", "stroke-linejoin", "paint-order", "font-size", "font-family", "font-weight", "text-anchor", "opacity"];
const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

/** Turn any colour of the browser into one that every program reads. */
function plainColour(colour) {
  if (!colour || colour === "none" || /^#|^rgb\(/.test(colour)) return colour;
  brush.clearRect(0, 0, 1, 1);
  brush.fillStyle = colour;
  brush.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
  return a === 0 ? "none" : `rgb(${r}, ${g}, ${b})`;
}

function background() {
  return plainColour(getComputedStyle(document.documentElement).getPropertyValue("--card").trim());
}

/** Write a picture of the page as an SVG that needs no style sheet. */
export function svgText(svg) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((element, at) => {
    const style = getComputedStyle(element);
    for (const name of KEPT) {
      const value = style.getPropertyValue(name);
      if (value) to[at].setAttribute(name, name === "fill" || name === "stroke" ? plainColour(value) : value);
    }
    for (const name of ["class", "style", "tabindex", "role", "aria-hidden", "aria-selected"]) to[at].removeAttribute(name);
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", background());
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

/** Paint a picture at twice its size. */
export async function pngBlob(svg) {
  const box = svg.viewBox.baseVal;
  const image = new Image();
  const address = URL.createObjectURL(new Blob([svgText(svg)], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = 2 * box.width;
    canvas.height = 2 * box.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => { canvas.toBlob(done, "image/png"); });
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** Hand a file to the user. */
export function download(content, name, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Download a picture; kind is "png" or "svg". */
export async function downloadPicture(svg, name, kind) {
  if (!svg) return;
  if (kind === "png") download(await pngBlob(svg), `${name}.png`, "image/png");
  else download(svgText(svg), `${name}.svg`, "image/svg+xml");
}
