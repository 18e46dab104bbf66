// What the single executable runs first.

const { loadPart } = require('./part.cjs');

loadPart(process.argv[2] === 'serve' ? 'serve.cjs' : 'main.cjs');
