// Sends by every client that Node.js has, as the payload says.
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

const CLIENTS = {
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
