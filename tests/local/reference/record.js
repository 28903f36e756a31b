// Writes what JSONata's reference implementation answers to each expression of answers.json, a line each; a new
// expression is added with any answer. The variables are those of given.json.
//   npm install jsonata@2.0.6 && node record.js
// An answer is { value } or { error: its code, or "" where the engine itself threw }; neither is there for nothing (undefined).
// A function, which is no JSON, is {"function": true}.
const fs = require("fs");
const jsonata = require("jsonata");

const read = (name) => fs.readFileSync(`${__dirname}/${name}`, "utf8");
const isFunction = (value) => typeof value === "function" || (value && value._jsonata_function && value.implementation) || (value && value._jsonata_lambda && value.environment);
const plain = (_key, value) => (isFunction(value) ? { function: true } : value);

async function answer(expression) {
  try {
    const value = await jsonata(expression).evaluate(undefined, JSON.parse(read("given.json")));
    return value === undefined ? {} : { value };
  } catch (error) {
    return { error: error.code || "" };
  }
}

(async () => {
  const lines = [];
  for (const each of Object.keys(JSON.parse(read("answers.json"))))
    lines.push(`${JSON.stringify(each)}: ${JSON.stringify(await answer(each), plain)}`);
  fs.writeFileSync(`${__dirname}/answers.json`, `{\n${lines.join(",\n")}\n}\n`);
})();
