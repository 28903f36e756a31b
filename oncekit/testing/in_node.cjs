// What in_function.py and in_sockets.py are for Python: starts the process of a function in Node.js in place of
// entry.cjs, so that no connection leaves the machine. What is meant for another machine, or for a server on this one,
// goes to the test: it is asked for a port where it takes this one connection (`connections.py`), and what it does not
// take is refused, with its reason. The beginning and the end of each invocation are announced to the test, too.
//
// All this is done in the classes of net, dgram and dns, also in processes of Node.js that the function starts. The test
// is the proxy of other programs, as far as they go by HTTP_PROXY and HTTPS_PROXY. What else is not JavaScript opens
// sockets that nobody sees here: other programs, and packages that are compiled. Calls of AWS go to the local cloud,
// unseen.
'use strict'

const { AsyncLocalStorage } = require('node:async_hooks')
const programs = require('node:child_process')
const dgram = require('node:dgram')
const dns = require('node:dns')
const http = require('node:http')
const Module = require('node:module')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const workers = require('node:worker_threads')

const [HOST, PORT] = process.env.ONCE_TESTING_OUTSIDE.split(':')
const OURS = [process.env.ONCE_TESTING_OUTSIDE, (process.env.AWS_ENDPOINT_URL || '').split('/').pop()]
const FOLDER = process.env.ONCE_TESTING_FOLDER + path.sep
const ROOT = (process.env.LAMBDA_TASK_ROOT || '') + path.sep
const FRAME = /at (?:async )?(?:(.+?) \()?(?:file:\/\/)?(\/[^():]+):(\d+):\d+\)?$/
const LINES = 2
const FIRST_ADDRESS = [198, 18, 0, 1] // RFC 2544 keeps 198.18.0.0/15 for benchmarks: it is routed nowhere
const LOOKUPS = Object.keys(dns.promises).filter((each) => /^(resolve|reverse|lookupService)/.test(each))
const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((each) => [each, each.toLowerCase()])
const OF_THE_FUNCTION = ['AWS_LAMBDA_FUNCTION_NAME', 'LAMBDA_TASK_ROOT', '_HANDLER']
const KEPT = Object.fromEntries(
  Object.entries(process.env).filter(([each]) => each.startsWith('ONCE_TESTING_') || OF_THE_FUNCTION.includes(each)),
)
// What the process knew that has started this one; null in that of the function.
const STARTER = JSON.parse(process.env.ONCE_TESTING_STARTER || 'null')

const connect = net.Socket.prototype.connect
const callers = new AsyncLocalStorage()
const addresses = new Map()
const names = new Map()
let { begun, lock, operation } = STARTER || { begun: false, lock: {}, operation: '' }

// ---- what the test is told of a call ----

// The innermost line of the function's own code, and the one that called it.
function line() {
  const before = Error.stackTraceLimit
  Error.stackTraceLimit = 50
  const found = []
  for (const each of new Error().stack.split('\n')) {
    const [, name, file, number] = FRAME.exec(each.trim()) || []
    if (file === undefined || !file.startsWith(ROOT) || file.includes('/node_modules/')) continue
    found.push(`${file.startsWith(FOLDER) ? file.slice(FOLDER.length) : file}:${number} in ${name || 'the module'}`)
  }
  Error.stackTraceLimit = before
  return found.slice(0, LINES).join(', called at ')
}

function told(service, action) {
  const handler = path.join(ROOT, process.env._HANDLER.replace(/\.[^./]*$/, ''))
  const text = JSON.stringify({
    function: process.env.AWS_LAMBDA_FUNCTION_NAME || '',
    pid: STARTER ? STARTER.pid : process.pid,
    service,
    action,
    parameters: 'null',
    line: line() || callers.getStore() || (service === 'function' ? '' : path.relative(FOLDER, handler)),
    step: '',
    begun,
    keys: [],
    operation,
    owner: String(lock.owner || ''),
    fence: lock.fence || 0,
  })
  return text.replace(/[\u0080-\uffff]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

// Send something of the kit's own to the test: its answer, or why it refuses.
function ask(what, call) {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Once-Call': call, 'Content-Length': 0 }
    const request = http.request({ host: HOST, port: PORT, path: `/${what}`, method: 'POST', headers, agent: false })
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk)).on('error', reject)
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(refusal(text))))
    })
    request.end()
  })
}

function refusal(reason) {
  const errno = -os.constants.errno.ECONNREFUSED
  return Object.assign(new Error(reason), { code: 'ECONNREFUSED', errno, syscall: 'connect' })
}

// ---- names ----

function isHere(name) {
  return ['', 'localhost', '::1', '::', '0.0.0.0'].includes(name) || /^127\./.test(name)
}

// An address instead of a name. What is an address already, or this machine, stays.
function addressOf(name) {
  if (net.isIP(name)) return name
  if (isHere(name) || name === os.hostname()) return HOST
  if (!addresses.has(name)) {
    const [a, b, c, d] = FIRST_ADDRESS
    const number = addresses.size + d
    addresses.set(name, [a, b, c + (number >> 8), number & 255].join('.'))
    names.set(addresses.get(name), name)
  }
  return addresses.get(name)
}

function watchNames() {
  const found = (name, all) => {
    const one = { address: addressOf(name || ''), family: net.isIPv6(name || '') ? 6 : 4 }
    return all ? [one] : one
  }
  dns.lookup = (name, options, then) => {
    const told = typeof options === 'function' ? options : then
    const answer = found(name, typeof options === 'object' && options !== null && options.all)
    process.nextTick(() => (Array.isArray(answer) ? told(null, answer) : told(null, answer.address, answer.family)))
  }
  dns.promises.lookup = async (name, options) => found(name, options && options.all)
  const refused = async (name) => {
    await ask(`refused/${name}:0`, told('http', ''))
    throw Object.assign(new Error(`query ENOTFOUND ${name}`), { code: 'ENOTFOUND', hostname: name })
  }
  for (const each of LOOKUPS) {
    for (const place of [dns.promises, dns.promises.Resolver.prototype]) place[each] = refused
    for (const place of [dns, dns.Resolver.prototype]) {
      place[each] = (name, ...rest) => void refused(name).catch((error) => rest.pop()(error))
    }
  }
}

// ---- connections ----

// The name and the port that a connection leads to; null for what is reached directly.
function placeOf(options) {
  if (options.path) return null
  const name = String(options.host || 'localhost').replace(/^\[(.*)\]$/, '$1')
  const host = names.get(name) || name
  return OURS.includes(`${host}:${options.port}`) ? null : { host, port: options.port }
}

function optionsOf(given) {
  if (Array.isArray(given[0])) return given[0]
  const then = typeof given[given.length - 1] === 'function' ? given[given.length - 1] : null
  if (given[0] !== null && typeof given[0] === 'object') return [given[0], then]
  if (typeof given[0] === 'string' && !/^\d+$/.test(given[0])) return [{ path: given[0] }, then]
  return [{ port: Number(given[0]), host: typeof given[1] === 'string' ? given[1] : undefined }, then]
}

function watchConnections() {
  net.Socket.prototype.connect = function (...given) {
    const [options, then] = optionsOf(given)
    const place = placeOf(options)
    if (place === null) return connect.apply(this, given)
    if (then) this.once('connect', then)
    this.connecting = true
    ask(`open/${place.host}:${place.port}`, told('http', '')).then(
      (answer) => {
        if (this.destroyed) return
        const { port, certificate } = JSON.parse(answer)
        // Its context is ready before it connects, and trusts the test's certificate of this host, too.
        if (this._tlsOptions && certificate) this._tlsOptions.secureContext.context.addCACert(certificate)
        const none = { lookup: undefined, localAddress: undefined, localPort: undefined }
        connect.call(this, { ...options, host: HOST, port, ...none })
      },
      (error) => this.destroy(Object.assign(error, { address: place.host, port: place.port })),
    )
    return this
  }
  const { fetch } = globalThis
  globalThis.fetch = (...given) => callers.run(line(), () => fetch(...given))
}

function watchDatagrams() {
  for (const each of ['send', 'connect']) {
    const original = dgram.Socket.prototype[each]
    dgram.Socket.prototype[each] = function (...given) {
      const strings = given.filter((value, index) => typeof value === 'string' && (each === 'connect' || index > 0))
      const host = strings.pop() || 'localhost'
      if (isHere(host)) return original.apply(this, given)
      const then = given.find((value) => typeof value === 'function')
      const fail = (error) => (then ? then(error) : this.emit('error', error))
      const port = given.find((value, index) => typeof value === 'number' && (each === 'connect' || index > 0)) || 0
      ask(`refused/${host}:${port}`, told('http', '')).then((reason) => fail(refusal(reason)), fail)
      return undefined
    }
  }
}

// Names are looked up here, whatever lookup a socket was made with.
function ignoreLookups() {
  const { createSocket } = dgram
  dgram.createSocket = (options, ...rest) =>
    createSocket(typeof options === 'string' ? options : { ...options, lookup: undefined }, ...rest)
}

function environmentOf(env) {
  const proxy = `http://${encodeURIComponent(told('http', ''))}:once@${HOST}:${PORT}`
  const starter = JSON.stringify({ begun, lock, operation, pid: STARTER ? STARTER.pid : process.pid })
  const proxies = Object.fromEntries(PROXIES.map((each) => [each, proxy]))
  const options = `${env.NODE_OPTIONS || ''} --require ${JSON.stringify(__filename)}`
  return { ...env, ...KEPT, ...proxies, NODE_OPTIONS: options, ONCE_TESTING_STARTER: starter }
}

function watchPrograms() {
  const { spawn } = programs.ChildProcess.prototype
  programs.ChildProcess.prototype.spawn = function (options) {
    const pairs = options.envPairs.map((each) => /^([^=]*)=(.*)$/s.exec(each).slice(1))
    const envPairs = Object.entries(environmentOf(Object.fromEntries(pairs))).map((each) => each.join('='))
    return spawn.call(this, { ...options, envPairs })
  }
  for (const each of ['spawnSync', 'execFileSync', 'execSync']) {
    const original = programs[each]
    programs[each] = (program, ...given) => {
      const options = given.find((value) => value && typeof value === 'object' && !Array.isArray(value)) || {}
      const env = environmentOf(options.env || process.env)
      return original(program, ...given.filter(Array.isArray), { ...options, env })
    }
  }
}

// A worker has modules of its own: this file is loaded there, too.
function watchWorkers() {
  const { Worker } = workers
  workers.Worker = class extends Worker {
    constructor(file, options = {}) {
      super(file, { ...options, execArgv: ['--require', __filename, ...(options.execArgv || process.execArgv)] })
    }
  }
}

watchNames()
watchConnections()
watchDatagrams()
ignoreLookups()
watchPrograms()
watchWorkers()
if (STARTER) for (const each of PROXIES) delete process.env[each] // this one asks as its starter does
Module.syncBuiltinESMExports()

if (require.main === module && workers.isMainThread) {
  require(process.env.ONCE_TESTING_NODE_ENTRY).run({
    begins: async (event) => {
      begun = true
      lock = (event && typeof event.lock === 'object' && event.lock) || {}
      operation = lock.owner ? String(event.operation || '') : ''
      await ask('', told('function', 'begin'))
    },
    ends: () => ask('', told('function', 'end')),
  })
}
