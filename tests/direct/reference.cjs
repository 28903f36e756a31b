// Evaluates an expression for each line of standard input, a JSON value, with the reference implementation of JSONata.
// node reference.cjs MODULES EXPRESSION
const [modules, source] = process.argv.slice(2);
const jsonata = require(`${modules}/jsonata-as-on-aws`);
const { createHash } = require("crypto");
const expression = jsonata(source);
expression.registerFunction("hash", (text) => createHash("sha256").update(text).digest("hex"), "<s-s:s>");
(async () => {
  const lines = require("fs").readFileSync(0, "utf8").trim().split("\n");
  const told = [];
  for (const line of lines) told.push(await expression.evaluate({}, { states: { input: JSON.parse(line) } }));
  process.stdout.write(JSON.stringify(told));
})();
