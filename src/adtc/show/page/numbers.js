// Counts as decimal strings: grouped, shortened, compared. No count ever becomes a float, except
// its logarithm, which only chooses a colour.

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const LONGEST = 30;

/** Write a count with thousands separators. */
export function grouped(count) {
  return count.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Write a count in full, or by its leading digits if it is very long. */
export function countText(count) {
  if (count.length <= LONGEST) return grouped(count);
  return `about ${count[0]}.${count.slice(1, 3)}·10${raised(count.length - 1)}`;
}

/** "1 tree", "15,340 trees". */
export function treesText(count) {
  return `${countText(count)} ${count === "1" ? "tree" : "trees"}`;
}

export function raised(number) {
  return String(number).replace(/\d/g, (digit) => RAISED[Number(digit)]);
}

/** Write a count in few characters: 15.3k, 1.2M, 1.2·10¹⁵. */
export function compact(count, digits) {
  if (count.length <= 3) return count;
  let exponent = count.length - 1;
  const head = count.slice(0, digits + 1).padEnd(digits + 1, "0");
  let kept = String((BigInt(head) + 5n) / 10n);
  if (kept.length > digits) {
    kept = kept.slice(0, digits);
    exponent += 1;
  }
  if (exponent >= 9) {
    const mantissa = digits > 1 ? `${kept[0]}.${kept.slice(1)}` : kept;
    return mantissa === "1" ? `10${raised(exponent)}` : `${mantissa}·10${raised(exponent)}`;
  }
  const unit = exponent >= 6 ? "M" : "k";
  const whole = (exponent % 3) + 1;
  const left = kept.slice(0, whole).padEnd(whole, "0");
  const right = kept.slice(whole);
  return `${left}${right ? `.${right}` : ""}${unit}`;
}

/** Ways to write counts, from exact to short. */
export const COUNT_FORMS = [
  grouped,
  (count) => compact(count, 3),
  (count) => compact(count, 2),
  (count) => compact(count, 1),
];

/** The decimal logarithm of a count above 0. */
export function log10(count) {
  const head = count.slice(0, 15);
  return Math.log10(Number(head)) + (count.length - head.length);
}

/** The difference of two exact values such as "3/4", to five places with its sign. */
export function differenceText(first, second) {
  const [a, b] = [first, second].map((text) => /^(-?\d+)(?:\/(\d+))?$/.exec(text));
  if (!a || !b) return "undefined";
  const [p, q, r, s] = [a[1], a[2] ?? "1", b[1], b[2] ?? "1"].map(BigInt);
  const top = p * s - r * q;
  if (top === 0n) return "0";
  const sign = top < 0n ? "−" : "+";
  const size = top < 0n ? -top : top;
  if (q === 1n && s === 1n) return `${sign}${grouped(String(size))}`;
  const digits = String((size * 200000n + q * s) / (2n * q * s)).padStart(6, "0");
  return `${sign}${digits.slice(0, -5)}.${digits.slice(-5)}`;
}

/** A share in per cent, from exact counts. */
export function shareText(part, whole) {
  const a = BigInt(part);
  const b = BigInt(whole);
  if (b === 0n || a === 0n) return "0 %";
  if (a === b) return "100 %";
  for (const places of [1, 2, 3]) {
    const scaled = String((a * 200n * 10n ** BigInt(places) + b) / (2n * b));
    const digits = scaled.padStart(places + 1, "0");
    const text = `${digits.slice(0, -places)}.${digits.slice(-places)}`;
    if (Number(text) !== 0 && Number(text) !== 100) return `${text} %`;
  }
  return a * 2n < b ? "less than 0.001 %" : "more than 99.999 %";
}
