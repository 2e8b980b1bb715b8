// The packed columns back into typed arrays (the other half of profiler/report/pack.py), and look-ups over them.

const data = { start: null, end: null, name: null, category: null, row: null, sum: null, names: [], lanes: [], curves: [], tables: new Map() };
let buffer = null;

async function inflate(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function takeText(id) {
  const holder = byId(id);
  const text = holder.textContent;
  holder.remove();  // 10 MB nobody needs twice
  return text;
}

function decode(entry) {
  const { at, rows, planes, low } = entry;
  if (entry.form === "text") return new TextDecoder().decode(buffer.subarray(at, at + rows));
  if (entry.form === "real") return decodeReal(at, rows);
  if (entry.form === "milli") return Float64Array.from(decode({ ...entry, form: "int" }), (n) => (n < 0 ? NaN : n / 1000));
  const small = low >= -(2 ** 31) && low + 256 ** planes <= 2 ** 31;
  const made = small ? new Int32Array(rows).fill(low) : new Float64Array(rows).fill(low);
  for (let plane = 0; plane < planes; plane += 1) {
    const from = at + plane * rows, factor = 256 ** plane;
    for (let i = 0; i < rows; i += 1) made[i] += buffer[from + i] * factor;
  }
  return made;
}

function decodeReal(at, rows) {
  const bytes = new Uint8Array(4 * rows);
  for (let plane = 0; plane < 4; plane += 1) {
    for (let i = 0; i < rows; i += 1) bytes[4 * i + plane] = buffer[at + plane * rows + i];
  }
  return new Float32Array(bytes.buffer);
}

async function loadData() {
  buffer = await inflate(takeText("columns"));
  data.names = JSON.parse(decode(facts.names));
  for (const name of ["name", "category", "row"]) data[name] = decode(facts.columns[name]);
  const steps = decode(facts.columns.start), lengths = decode(facts.columns.duration);
  data.start = new Float64Array(facts.bars);
  data.end = new Float64Array(facts.bars);
  data.sum = new Float64Array(facts.bars + 1);  // busy time of all bars before: the share of a pixel is one subtraction
  for (const lane of facts.lanes) {
    for (let d = 0; d + 1 < lane.depths.length; d += 1) {
      let time = 0;
      for (let i = lane.depths[d]; i < lane.depths[d + 1]; i += 1) {
        time += steps[i];
        data.start[i] = time;
        data.end[i] = time + lengths[i];
        data.sum[i + 1] = data.sum[i] + lengths[i];
      }
    }
  }
  data.lanes = facts.lanes.map((lane, number) => ({ ...lane, number, first: lane.depths[0], last: lane.depths.at(-1) }));
  for (const table of facts.tables) data.tables.set(`${table.part}:${table.table}`, { ...table, cache: new Map(), bars: null });
  data.curves = facts.curves.map(loadCurve);
}

function loadCurve(curve) {
  const steps = decode(curve.time), time = new Float64Array(steps.length);
  let now = 0;
  for (let i = 0; i < steps.length; i += 1) time[i] = now += steps[i];
  const series = Object.entries(curve.values).map(([name, entry]) => ({ name, values: decode(entry) }));
  let most = 0, least = 0;
  for (const { values } of series) for (const v of values) { if (v > most) most = v; if (v < least) least = v; }
  return { ...curve, time, series, most, least };
}

// First index in [first, last) whose value is not below `wanted`; values rise.
function lowerBound(values, wanted, first, last) {
  while (first < last) {
    const middle = (first + last) >> 1;
    if (values[middle] < wanted) first = middle + 1; else last = middle;
  }
  return first;
}

// The same, for places near `first`: looks 1, 2, 4 ... ahead before it halves. Drawing steps through pixels with it.
function gallop(values, wanted, first, last) {
  let step = 1, low = first;
  while (low + step < last && values[low + step] < wanted) { low += step; step *= 2; }
  return lowerBound(values, wanted, low, Math.min(last, low + step + 1));
}

function laneOf(bar) {
  let low = 0, high = data.lanes.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (data.lanes[middle].first <= bar) low = middle; else high = middle - 1;
  }
  while (data.lanes[low].last === data.lanes[low].first && low > 0) low -= 1;
  return data.lanes[low];
}

function depthOf(lane, bar) {
  let depth = 0;
  while (depth + 2 < lane.depths.length && lane.depths[depth + 1] <= bar) depth += 1;
  return depth;
}

const tableOf = (lane) => data.tables.get(`${lane.part}:${lane.table}`);

// A detail column of a table, decoded at its first use; null when the source did not have it.
function column(table, name) {
  if (!table || !table.columns[name]) return null;
  if (!table.cache.has(name)) table.cache.set(name, decode(table.columns[name]));
  return table.cache.get(name);
}

// Row of a table -> its bar (the one in its own lane, not the repeated one); -1 when it is not drawn.
function barOfRow(part, tableName, row) {
  const table = data.tables.get(`${part}:${tableName}`);
  if (!table || row < 0 || row >= table.rows) return -1;
  if (!table.bars) {
    table.bars = new Int32Array(table.rows).fill(-1);
    for (const lane of data.lanes) {
      if (lane.part !== part || lane.table !== tableName || lane.repeated) continue;
      for (let i = lane.first; i < lane.last; i += 1) table.bars[data.row[i]] = i;
    }
  }
  return table.bars[row];
}

// Bars of the same correlation in the same process: the calls that launched a task; the tasks of a call and the calls inside it.
function relatedTo(bar) {
  const lane = laneOf(bar);
  const own = column(tableOf(lane), "correlation");
  if (!own || own[data.row[bar]] < 0) return [];
  const wanted = own[data.row[bar]], found = [];
  for (const name of lane.table === "api" ? ["api", "task", "comm"] : ["api"]) {
    const other = column(data.tables.get(`${lane.part}:${name}`), "correlation");
    for (let row = other ? other.indexOf(wanted) : -1; row >= 0 && found.length < 500; row = other.indexOf(wanted, row + 1)) {
      if (name === lane.table && row === data.row[bar]) continue;
      const there = barOfRow(lane.part, name, row);
      if (there >= 0) found.push(there);
    }
  }
  return found;
}
