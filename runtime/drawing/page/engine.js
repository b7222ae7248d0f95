// engine.js -- the C++ library in the page: runtime/schedule and runtime/drawing as WebAssembly.

// Resolves to a function from settings to an answer, both as json.h says, or to null if the page was
// built without the library or this browser cannot run it.
async function startEngine() {
  const base64 = document.getElementById('engine').textContent.trim();
  if (base64 === '') return null;
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const module = await WebAssembly.compile(bytes);
  const { exports } = await WebAssembly.instantiate(module, importsOf(module));
  exports._initialize();
  return (settings) => ask(exports, settings);
}

// The library computes and asks the world for nothing; its C library would like files, and has none.
function importsOf(module) {
  const imports = {};
  for (const { module: room, name } of WebAssembly.Module.imports(module)) {
    imports[room] ??= {};
    imports[room][name] = () => 0;
  }
  return imports;
}

// Addresses are looked up anew after every call, because memory may have grown.
function ask(exports, settings) {
  const question = new TextEncoder().encode(JSON.stringify(settings));
  const to = exports.question(question.length);
  new Uint8Array(exports.memory.buffer).set(question, to);
  const from = exports.answer();
  const memory = new Uint8Array(exports.memory.buffer);
  const end = memory.indexOf(0, from);
  return JSON.parse(new TextDecoder().decode(memory.subarray(from, end)));
}
