// Sends by every client that Node.js has, as the payload says.
const programs = require('node:child_process')
const dgram = require('node:dgram')
const dns = require('node:dns')
const http = require('node:http')
const https = require('node:https')
const net = require('node:net')
const { Worker } = require('node:worker_threads')

const BODY = JSON.stringify({ amount: 7 })
const JSON_TYPE = { 'Content-Type': 'application/json' }

function request(module, url, options = {}) {
  return new Promise((resolve, reject) => {
    const asked = module.request(url, { method: 'POST', headers: JSON_TYPE, ...options }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve(JSON.parse(text)))
    })
    asked.on('error', reject)
    asked.end(BODY)
  })
}

// A program of its own: another file of Node.js, or text.
const sending = (url) => `fetch(${JSON.stringify(url)}, { method: 'POST', body: ${JSON.stringify(BODY)} })
  .then((answer) => answer.text()).then(console.log)`
const PYTHON = `import sys, urllib.request as u; print(u.urlopen(sys.argv[1], b'${BODY}').read().decode())`

const CLIENTS = {
  'in a process': ({ url }) =>
    new Promise((resolve, reject) => {
      const child = programs.fork(`${__dirname}/child.cjs`, [url, BODY])
      child.on('message', resolve).on('error', reject)
    }),
  'in a process without an environment': ({ url }) =>
    new Promise((resolve, reject) => {
      const told = (error, text) => (error ? reject(error) : resolve(JSON.parse(text)))
      programs.execFile(process.execPath, ['-e', sending(url)], { env: {} }, told)
    }),
  'in a process that is waited for': ({ url }) =>
    JSON.parse(programs.execFileSync(process.execPath, ['-e', sending(url)], { encoding: 'utf8' })),
  'in another program': ({ url }) => JSON.parse(programs.spawnSync('python3', ['-c', PYTHON, url]).stdout),
  'by the name of a service': () => dns.promises.lookupService('203.0.113.1', 80),
  'by a datagram with a lookup of its own': ({ url }) =>
    new Promise((resolve, reject) => {
      const socket = dgram.createSocket({ type: 'udp4', lookup: (name, options, then) => then(null, '203.0.113.1', 4) })
      socket.send('hello', Number(new URL(url).port), 'localhost', (error) => (error ? reject(error) : resolve('sent')))
    }),
  'by fetch': async ({ url }) => (await fetch(url, { method: 'POST', body: BODY, headers: JSON_TYPE })).json(),
  'by https': ({ url }) => request(url.startsWith('https:') ? https : http, url),
  'by an agent': ({ url }) => request(https, url, { agent: new https.Agent({ keepAlive: true }) }),
  'by a looked up address': async ({ url }) => {
    const { address } = await dns.promises.lookup(new URL(url).hostname)
    return request(http, url, { host: address })
  },
  'in a worker': ({ url }) =>
    new Promise((resolve, reject) => {
      const code = `fetch(${JSON.stringify(url)}, { method: 'POST', body: ${JSON.stringify(BODY)} })
        .then((answer) => answer.json()).then((told) => require('worker_threads').parentPort.postMessage(told))`
      new Worker(code, { eval: true }).on('message', resolve).on('error', reject)
    }),
  'by a socket': ({ url }) =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(url)
      const socket = net.connect(port, hostname, () => socket.write('hello'))
      socket.on('data', (data) => resolve(data.toString())).on('error', reject)
    }),
  'by a datagram': () =>
    new Promise((resolve, reject) => {
      dgram.createSocket('udp4').send('hello', 8125, 'statsd.example', (error) => (error ? reject(error) : resolve('sent')))
    }),
  'by a name': () => dns.promises.resolve('provider.example'),
  'whatever comes of it': async ({ url }) => fetch(url, { method: 'POST', body: BODY }).then(() => 'sent', () => 'never mind'),
}

exports.handler = async ({ payload }) => CLIENTS[payload.client](payload)
