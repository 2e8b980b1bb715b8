// Light and dark, and the colour of a category: the same name has the same hue in every page and in both themes.

const theme = { dark: false, tokens: {}, bars: [], listeners: [] };
const systemDark = matchMedia("(prefers-color-scheme: dark)");
const TOKENS = ["bg", "panel", "lane", "line", "line-strong", "text", "muted", "accent", "mark", "match", "wait", "copy-in", "copy-out",
  "copy-on", "bar-text", "critical", "warning", "note", "part-compute", "part-comm", "part-copy", "part-idle"];
// Waiting is grey, so that work stands out; copies have one colour per direction.
const FIXED = [[/synchroni[sz]e|^wait$|notify wait|^aclrtStreamWaitEvent$/i, "wait"]];
const COPIES = { h2d: "copy-in", d2h: "copy-out", d2d: "copy-on", h2h: "copy-on" };

const HUES = 18;

function setTheme(dark) {
  theme.dark = dark;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  const style = getComputedStyle(document.documentElement);
  for (const name of TOKENS) theme.tokens[name] = style.getPropertyValue(`--${name}`).trim();
  theme.bars = [];
  byId("theme").textContent = say(dark ? "light" : "dark");
  for (const listener of theme.listeners) listener();
}

function hash(text) {
  let h = 2166136261;  // FNV-1a
  for (let i = 0; i < text.length && i < 200; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 16777619) >>> 0;
  return h;
}

function colourOfText(text) {
  for (const [pattern, token] of FIXED) if (pattern.test(text)) return theme.tokens[token];
  for (const [way, token] of Object.entries(COPIES)) if (text === say(`copy.${way}`)) return theme.tokens[token];
  const h = hash(text);
  const hue = (h % HUES) * (360 / HUES);
  const shade = (h >>> 8) % 3;
  // Lightness stays in a band in which dark text on the bar and the bar on its lane both stay readable.
  const lightness = (theme.dark ? 0.70 : 0.74) + 0.035 * (shade - 1);
  return `oklch(${lightness} ${0.125 - 0.025 * shade} ${hue})`;
}

function colourOf(category) {
  return theme.bars[category] ??= colourOfText(data.names[category]);
}

function startTheme() {
  setTheme(systemDark.matches);
  systemDark.addEventListener("change", (event) => setTheme(event.matches));
}
