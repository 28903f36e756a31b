// Prints what JSONata's reference implementation answers to each expression of expressions.json, with `given` as its variables:
//   npm install jsonata@2.0.6 && node record.js > answers.json
// An answer is { value } or { error: its code, or "" where the engine itself threw }; neither is there for nothing (undefined).
// A function, which is no JSON, is {"function": true}.
const fs = require("fs");
const jsonata = require("jsonata");

const { given, expressions } = JSON.parse(fs.readFileSync(`${__dirname}/expressions.json`, "utf8"));
const isFunction = (value) => typeof value === "function" || (value && value._jsonata_function && value.implementation) || (value && value._jsonata_lambda && value.environment);
const plain = (_key, value) => (isFunction(value) ? { function: true } : value);

async function answer(expression) {
  try {
    const value = await jsonata(expression).evaluate(undefined, JSON.parse(JSON.stringify(given)));
    return value === undefined ? {} : { value };
  } catch (error) {
    return { error: error.code || "" };
  }
}

(async () => {
  const answers = [];
  for (const each of expressions) answers.push([each, await answer(each)]);
  console.log(JSON.stringify(Object.fromEntries(answers), plain, 1));
})();
