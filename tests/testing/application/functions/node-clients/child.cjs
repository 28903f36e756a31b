// What app.js starts as a process of its own.
const [url, body] = process.argv.slice(2)
const send = async () => process.send(await (await fetch(url, { method: 'POST', body })).json())
send().finally(() => process.disconnect())
