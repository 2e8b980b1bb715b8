// Perfetto's trace processor as WebAssembly, outside a browser: a stand-in for the worker it expects to run in.
// usage: node trace_processor.js FOLDER_OF_THE_UI TRACE REPLIES QUERY...
// Every reply of the engine goes into REPLIES as it comes: 4 bytes of length, then a TraceProcessorRpcStream.
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const [folder, trace, repliesPath, ...queries] = process.argv.slice(2);
const [APPEND, FINALISE, QUERY] = [1, 2, 3]; // methods of TraceProcessorRpc
const PIECE = 4 << 20;

function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
}
const bytesField = (number, body) => Buffer.concat([varint(number * 8 + 2), varint(body.length), body]);
const numberField = (number, value) => Buffer.concat([varint(number * 8), varint(value)]);

const replies = fs.openSync(repliesPath, 'w');
const port = {
  onmessage: null,
  postMessage(data) {
    const reply = Buffer.from(data);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(reply.length);
    fs.writeSync(replies, Buffer.concat([length, reply]));
  },
};

const local = (url) => path.join(folder, path.basename(String(url)));
class FileRequest { // the engine loads its wasm with a synchronous request
  open(_method, url) { this.url = url; }
  send() { const file = fs.readFileSync(local(this.url)); this.response = file.buffer.slice(file.byteOffset, file.byteOffset + file.length); }
}
const worker = vm.createContext({
  ...Object.fromEntries(Object.getOwnPropertyNames(globalThis).filter((n) => /^[A-Z].*(Array|Error|Map|Set|View|Buffer)$/.test(n)).map((n) => [n, globalThis[n]])),
  WebAssembly, TextDecoder, TextEncoder, URL, performance, setTimeout, clearTimeout, setInterval, clearInterval, queueMicrotask,
  Promise, BigInt, Error, crypto: globalThis.crypto, console: { log() {}, warn() {}, error: console.error },
  XMLHttpRequest: FileRequest, WorkerGlobalScope: function WorkerGlobalScope() {}, importScripts() {},
  location: { href: 'http://localhost/engine_bundle.js' },
  fetch: async (url) => new Response(fs.readFileSync(local(url)), { headers: { 'Content-Type': 'application/wasm' } }),
});
worker.self = worker;
vm.runInContext(fs.readFileSync(local('engine_bundle.js'), 'utf8'), worker);

let sequence = 0;
function call(method, argument) {
  const body = [numberField(1, sequence++), numberField(2, method)];
  if (argument) body.push(argument);
  port.onmessage({ data: new Uint8Array(bytesField(1, Buffer.concat(body))) });
}

function run() {
  const input = fs.openSync(trace, 'r');
  const piece = Buffer.alloc(PIECE);
  for (let count; (count = fs.readSync(input, piece, 0, PIECE)) > 0;) call(APPEND, bytesField(101, Buffer.from(piece.subarray(0, count))));
  call(FINALISE);
  for (const query of queries) call(QUERY, bytesField(103, bytesField(1, Buffer.from(query))));
  fs.closeSync(replies);
  process.exit(0);
}

worker.onmessage({ data: port });
const began = Date.now();
(function wait() { // the wasm is compiled in the background; the port is heard once it is ready
  if (port.onmessage || Date.now() - began > 60000) setTimeout(run, 2000);
  else setTimeout(wait, 100);
})();
