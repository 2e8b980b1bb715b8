// Which time is on screen, and time <-> x. All times are ns since the page's base; the axis counts from the measured window.

const view = { from: 0, to: 1, width: 1000, listeners: [] };
const SHORTEST = 20;  // ns across the screen

const xOf = (time) => ((time - view.from) / (view.to - view.from)) * view.width;
const timeAt = (x) => view.from + (x / view.width) * (view.to - view.from);

function bounds() {
  const margin = 0.05 * Math.max(facts.latest, 1000);
  return [-margin, facts.latest + margin];
}

function show(from, to) {
  const [least, most] = bounds();
  const span = Math.min(Math.max(to - from, SHORTEST), most - least);
  const begin = Math.min(Math.max((from + to - span) / 2, least), most - span);
  view.from = begin;
  view.to = begin + span;
  for (const listener of view.listeners) listener();
}

function fit() {
  const [from, to] = facts.window, margin = 0.02 * (to - from);
  fly(from - margin, to + margin);
}

function zoom(factor, x = view.width / 2) {
  const at = timeAt(x), span = (view.to - view.from) * factor;
  const [least, most] = bounds();
  if (span >= most - least) return show(least, most);
  const kept = Math.max(span, SHORTEST);
  show(at - (x / view.width) * kept, at + (1 - x / view.width) * kept);
}

function pan(pixels) {
  const shift = (pixels / view.width) * (view.to - view.from);
  show(view.from + shift, view.to + shift);
}

// A jump that the eye can follow; at once for those who asked for less motion.
let flight = 0;
function fly(from, to) {
  flight += 1;
  const mine = flight, [a, b] = [view.from, view.to], began = performance.now(), lasts = 180;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return show(from, to);
  const tick = (now) => {
    if (mine !== flight) return;
    const part = Math.min(1, Math.max(0, (now - began) / lasts)), eased = 1 - (1 - part) ** 3;
    show(a + (from - a) * eased, b + (to - b) * eased);
    if (part < 1) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}
const stopFlight = () => { flight += 1; };

// Distance of ticks: 1, 2 or 5 times a power of ten, at least `pixels` apart.
function tickStep(pixels = 110) {
  const raw = Math.max(1, ((view.to - view.from) / view.width) * pixels), power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((n) => n * power).find((step) => step >= raw);
}
