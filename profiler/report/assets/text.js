// Values as text for people: the same forms as npu.units on the Python side.

function duration(ns) {
  for (const [unit, factor] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
    if (Math.abs(ns) >= factor) {
      const value = ns / factor;
      return `${value.toFixed(Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0)} ${unit}`;
    }
  }
  return `${Math.round(ns)} ns`;
}

function size(bytes) {
  for (const [unit, factor] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (Math.abs(bytes) >= factor) {
      const value = bytes / factor;
      return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
    }
  }
  return `${Math.round(bytes)} B`;
}

const count = (n) => n.toLocaleString("en-US");
const facts = JSON.parse(document.getElementById("facts").textContent);
// The page's own words (words.csv), with {name} filled in.
const say = (key, values = {}) => facts.words[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
// "1 step", "20 steps": the key has two forms.
const plural = (n, key) => say(`${key}.${n === 1 ? "one" : "many"}`, { count: count(n) });
const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

// A name that cannot play tricks on the reader: control characters get their visible signs, characters that turn the
// direction of writing are shown as a box; cut at `most` characters.
function visible(text, most = Infinity) {
  const cut = text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
  return cut
    .replace(/[\u0000-\u001f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g, "\ufffd");
}

// Text of a time at an axis tick: unit and digits follow the distance of ticks.
function tickText(ns, step) {
  const [unit, factor] = step >= 1e9 ? ["s", 1e9] : step >= 1e6 ? ["ms", 1e6] : step >= 1e3 ? ["us", 1e3] : ["ns", 1];
  const digits = Math.max(0, -Math.floor(Math.log10(step / factor) + 1e-9));
  const value = Math.abs(ns) < step / 2 && step > 1 ? 0 : ns / factor;  // no "-0"
  return `${value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ${unit}`;
}

// element("div", {class: "x", text: "plain"}, child, child): the only way this page makes elements; text is never markup.
function element(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "text") made.textContent = value;
    else if (name === "click") made.addEventListener("click", value);
    else if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter(Boolean));
  return made;
}
// The children of a box; what is null or "" is left out.
function fill(box, ...children) {
  box.replaceChildren(...children.filter(Boolean));
}
const byId = (id) => document.getElementById(id);
