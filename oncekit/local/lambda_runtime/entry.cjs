// What entry.py is for Python: runs first in the process of a function in Node.js, and does there what AWS's runtime
// client does. Events come from the parent on standard input, a socket whose other end only the parent holds, and
// results go back on it. When it is closed, the function ends, with every process that it has started.
//
// How handlers are found, what a callback, a promise and an empty event loop mean, and the shapes of errors and of what
// is logged are those of https://github.com/aws/aws-lambda-nodejs-runtime-interface-client; so is that Node.js 24 refuses
// a handler with three parameters that does not stream, and gives no callback.
'use strict'

const fs = require('node:fs')
const Module = require('node:module')
const net = require('node:net')
const path = require('node:path')
const util = require('node:util')
const { Readable, Writable } = require('node:stream')
const { pathToFileURL } = require('node:url')

const HANDLER = /^([^.]*)\.(.*)$/
const LAYERS = (process.env.ONCE_LAYERS || '').split(path.delimiter).filter(Boolean)
const LEVELS = { log: 'INFO', trace: 'TRACE', debug: 'DEBUG', info: 'INFO', warn: 'WARN', error: 'ERROR' }
const NEVER_SETTLED =
  'The Lambda runtime client detected an unexpected Node.js exit code. This is most commonly caused by a ' +
  'Promise that was never settled. For more information, see https://nodejs.org/docs/latest/api/process.html#exit-codes'
const UNTELLABLE =
  'callback called with Error argument, but there was a problem while retrieving one or more of its message, name, and stack'
const OF_AWS = new RegExp(
  '(^|\\.)(cognito-idp|dynamodb|email|events|firehose|kinesis|kms|lambda|logs|monitoring|s3|scheduler|secretsmanager|sns|' +
    'sqs|ssm|states|sts|sync-states)(\\.[a-z0-9-]+)?\\.amazonaws\\.com$',
)
const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming')
const VERSION = Number(/_nodejs(\d+)/.exec(process.env.AWS_EXECUTION_ENV)?.[1])
const HAS_CALLBACKS = !(VERSION >= 24)
const NO_CALLBACKS =
  'ERROR: AWS Lambda has removed support for callback-based function handlers starting with Node.js 24. You need to ' +
  'modify this function to use a supported handler signature to use Node.js 24 or later. For more information see ' +
  'https://docs.aws.amazon.com/lambda/latest/dg/nodejs-handler.html.'
const EXIT = { uncaught: 129, unhandled: 128 }

let requestId = 'undefined'

class RuntimeError extends Error {
  constructor(kind, message) {
    super(message)
    this.name = `Runtime.${kind}`
  }
}

// ---- messages between a function and its parent: a line with the head and the length of the body, and the body ----

class Parent {
  constructor() {
    this.socket = new net.Socket({ fd: 0, readable: true, writable: true })
    this.arrived = Buffer.alloc(0)
    this.waiting = null
    this.socket.on('data', (chunk) => this.take(chunk))
    for (const end of ['end', 'close', 'error']) this.socket.on(end, () => process.kill(-process.pid, 'SIGKILL'))
    Object.defineProperty(process, 'stdin', { value: Readable.from([]), configurable: true })
  }

  take(chunk) {
    this.arrived = Buffer.concat([this.arrived, chunk])
    const end = this.arrived.indexOf('\n')
    if (end < 0 || this.waiting === null) return
    const { bytes, ...head } = JSON.parse(this.arrived.subarray(0, end).toString())
    if (this.arrived.length < end + 1 + bytes) return
    const body = this.arrived.subarray(end + 1, end + 1 + bytes)
    this.arrived = this.arrived.subarray(end + 1 + bytes)
    const waiting = this.waiting
    this.waiting = null
    this.socket.unref() // from here on the event loop is the function's: it may become empty
    waiting({ head, body: body.toString() })
  }

  next() {
    this.socket.ref()
    return new Promise((resolve) => {
      this.waiting = resolve
      this.take(Buffer.alloc(0))
    })
  }

  tell(kind, body, then) {
    const bytes = Buffer.from(body)
    const head = JSON.stringify({ kind, bytes: bytes.length })
    this.socket.write(Buffer.concat([Buffer.from(`${head}\n`), bytes]), then)
  }
}

// ---- the log ----

function writeLine(level, text) {
  process.stdout.write(`${new Date().toISOString()}\t${requestId}\t${level}\t${text.replace(/\n/g, '\r')}\n`)
}

function logAsLambda() {
  for (const [name, level] of Object.entries(LEVELS)) {
    console[name] = (...parts) => writeLine(level, util.format(...parts))
  }
}

function told(error) {
  try {
    const isError = util.types.isNativeError(error) || ['name', 'message', 'stack'].every((each) => isText(error[each]))
    if (!isError) return { errorType: typeof error, errorMessage: error.toString(), trace: [] }
    const [errorType, errorMessage, stack] = [error.name, error.message, error.stack].map(inHeaders)
    return { errorType, errorMessage, trace: stack.split('\n') }
  } catch {
    return { errorType: 'handled', errorMessage: UNTELLABLE, trace: [] }
  }
}

// As a header may have it; there is none of what is no text.
function inHeaders(text) {
  return text.replaceAll('\x7F', '%7F')
}

function isText(value) {
  return typeof value === 'string' && value !== ''
}

// Which AWS's client leaves out, so that nobody sees why a fetch failed.
function causeOf(error) {
  if (!util.types.isNativeError(error?.cause)) return {}
  const { code, name, message } = error.cause
  return { cause: [code || name, message].filter(Boolean).join(': ') }
}

function logError(what, error) {
  const { errorType, errorMessage, trace } = told(error)
  let text
  try {
    text = JSON.stringify({ ...Object(error), errorType, errorMessage, stack: trace, ...causeOf(error) })
  } catch {
    text = JSON.stringify({ errorType, errorMessage, trace })
  }
  writeLine('ERROR', `${what} \t${text}`)
}

// ---- the handler ----

function resolveLayers() {
  const resolve = Module._resolveFilename
  Module._resolveFilename = function (request, ...rest) {
    for (const file of placesOf(request)) {
      try {
        return resolve.call(this, file, ...rest)
      } catch (error) {
        if (error.code !== 'MODULE_NOT_FOUND') throw error
      }
    }
    return resolve.call(this, request, ...rest)
  }
  if (Module.register) {
    const data = { layers: LAYERS, folders: (process.env.NODE_PATH || '').split(path.delimiter).filter(Boolean) }
    Module.register('./resolve.mjs', { parentURL: pathToFileURL(__filename), data })
  }
}

function placesOf(request) {
  if (!request.startsWith('/opt/')) return []
  const inside = request.slice('/opt/'.length)
  // What `sam build` puts under nodejs/ is not there before.
  return LAYERS.flatMap((layer) => [path.join(layer, inside), path.join(layer, inside.replace(/^nodejs\//, ''))])
}

async function load(name) {
  const root = process.env.LAMBDA_TASK_ROOT
  if (name.includes('..')) {
    throw new RuntimeError(
      'MalformedHandlerName',
      `'${name}' is not a valid handler name. Use absolute paths when specifying root directories in handler names.`,
    )
  }
  const file = path.basename(name)
  const folder = name.slice(0, name.length - file.length)
  const parts = HANDLER.exec(file)
  if (parts === null) throw new RuntimeError('MalformedHandlerName', 'Bad handler')
  const [, module, member] = parts
  let found
  try {
    found = await moduleOf(root, folder, module)
  } catch (error) {
    throw asLambdaTells(error, module)
  }
  const handler = member.split('.').reduce((value, each) => value && value[each], found)
  if (!handler) throw new RuntimeError('HandlerNotFound', `${name} is undefined or not exported`)
  if (typeof handler !== 'function') throw new RuntimeError('HandlerNotFound', `${name} is not a function`)
  if (!HAS_CALLBACKS && handler.length >= 3 && !handler[STREAMING]) {
    throw new RuntimeError('CallbackHandlerDeprecated', NO_CALLBACKS)
  }
  return handler
}

async function moduleOf(root, folder, module) {
  const place = path.resolve(root, folder, module)
  const isModules = packageIsModules(path.dirname(place), root)
  for (const end of ['', '.js', '.mjs', '.cjs']) {
    const file = place + end
    if (!fs.existsSync(file) || !fs.statSync(file).isFile()) continue
    const imported = end === '.mjs' || (end === '.js' && isModules)
    return imported ? await import(pathToFileURL(file).href) : require(file)
  }
  return require(require.resolve(module, { paths: [root, path.dirname(place)] }))
}

function packageIsModules(folder, root) {
  for (let at = folder; at.startsWith(root); at = path.dirname(at)) {
    const file = path.join(at, 'package.json')
    if (fs.existsSync(file)) return JSON.parse(fs.readFileSync(file, 'utf8')).type === 'module'
  }
  return false
}

function asLambdaTells(error, handler) {
  if (error instanceof SyntaxError) return withStack(new RuntimeError('UserCodeSyntaxError', String(error)), error)
  if (!error || !['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'].includes(error.code)) return error
  const name = (/Cannot find (?:module|package) '([^']+)'/.exec(error.message) || [])[1] || ''
  const advice = name === handler ? `its Handler names ${name}.js, which is not there` : howToGet(name)
  const [first, ...rest] = error.message.split('\n')
  const message = [advice ? `${first}: ${advice}` : first, ...rest].join('\n')
  if (error.code === 'MODULE_NOT_FOUND') {
    return withStack(new RuntimeError('ImportModuleError', `Error: ${message}`), error)
  }
  error.message = message
  return error
}

function withStack(made, error) {
  made.stack = error.stack
  return made
}

function howToGet(name) {
  if (/^(\.|\/|file:|$)/.test(name)) return ''
  if (name.startsWith('@aws-sdk/')) {
    const sdk = process.env.ONCE_NODE_SDK || ''
    const more = fs.existsSync(path.join(sdk, 'node_modules')) ? ` ${name.split('/').slice(0, 2).join('/')}` : ''
    return `Lambda's Node.js brings it; here, run \`once sdk node${more}\` once`
  }
  if (name === 'aws-sdk') {
    const why = VERSION < 18 ? `Lambda's nodejs${VERSION}.x brings it, and here its calls would be stopped: ` : ''
    return `${why}use version 3 of AWS's SDK, @aws-sdk/client-..., which nodejs18.x and later bring`
  }
  return `run \`sam build\`, or \`npm install\` in ${process.env.LAMBDA_TASK_ROOT}`
}

// ---- invocations ----

function contextOf(head, settle) {
  const env = process.env
  const context = {
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    clientContext: undefined,
    identity: undefined,
    invokedFunctionArn: head.invoked_function_arn,
    awsRequestId: head.invoke_id,
    getRemainingTimeInMillis: () => head.deadline_time_in_ms - Date.now(),
  }
  if (!HAS_CALLBACKS) return context
  context.callbackWaitsForEmptyEventLoop = true
  // What the callback is told may wait until the event loop is empty; what these are told does not.
  const now = (error, result) => {
    context.callbackWaitsForEmptyEventLoop = false
    settle.callback(context)(error, result)
  }
  const succeed = (result) => now(null, result)
  return Object.assign(context, { done: now, succeed, fail: (error) => now(error || 'handled') })
}

// The result of one invocation: of a promise, of a callback, or nothing when the event loop is empty before either.
function invoke(handler, head, event) {
  return new Promise((resolve) => {
    let isOver = false
    let told = null
    const over = (outcome) => {
      if (isOver) return
      isOver = true
      process.off('beforeExit', atEmptyLoop)
      resolve(outcome)
    }
    const atEmptyLoop = () => {
      if (told === null && (!HAS_CALLBACKS || handler.constructor.name === 'AsyncFunction')) {
        over({ error: new RuntimeError('NodeJsExit', NEVER_SETTLED) })
      }
      over(told || { result: null })
    }
    const settle = {
      callback: (context) => (error, result) => {
        told = told || (error === undefined || error === null ? { result } : { error })
        if (!context.callbackWaitsForEmptyEventLoop || told.error !== undefined) over(told)
      },
    }
    process.on('beforeExit', atEmptyLoop)
    const context = contextOf(head, settle)
    try {
      const returned = HAS_CALLBACKS ? handler(event, context, settle.callback(context)) : handler(event, context)
      if (!HAS_CALLBACKS || (returned && typeof returned.then === 'function')) {
        Promise.resolve(returned).then((result) => over({ result }), (error) => over({ error: error ?? 'handled' }))
      }
    } catch (error) {
      over({ error: error ?? 'handled' })
    }
  })
}

// What a handler writes into a stream, as an answer: here nobody gets it piece by piece, nor the status and the headers
// of a function URL.
function allowStreams() {
  const streamifyResponse = (handler) => Object.assign(handler, { [STREAMING]: 'response' })
  globalThis.awslambda = { streamifyResponse, HttpResponseStream: { from: (stream) => stream } }
}

async function collect(handler, head, event) {
  const chunks = []
  const stream = new Writable({
    write: (chunk, _, done) => {
      chunks.push(chunk)
      done()
    },
  })
  stream.setContentType = () => {}
  try {
    await handler(event, stream, contextOf(head, { callback: () => () => {} }))
    await new Promise((resolve) => setImmediate(resolve)) // until what has ended is known to have
    if (!stream.writableFinished) throw new Error('Response stream is not finished.')
  } catch (error) {
    return { error: error ?? 'handled' }
  }
  const text = Buffer.concat(chunks).toString()
  try {
    return { result: JSON.parse(text) }
  } catch {
    return { result: text }
  }
}

function textOf(result) {
  try {
    return JSON.stringify(result === undefined ? null : result) || 'null'
  } catch (error) {
    throw new RuntimeError('JSONStringifyError', `Unable to stringify response body as json: ${error.message}`)
  }
}

// `begins` and `ends` are called around each invocation: the test kit stands there.
async function run({ begins, ends } = { begins: async () => {}, ends: async () => {} }) {
  const parent = new Parent()
  logAsLambda()
  allowStreams()
  resolveLayers()
  endAtWhatNobodyCatches(parent, 'init error')
  let handler
  try {
    handler = await load(process.argv[2])
  } catch (error) {
    logError('Uncaught Exception', error)
    parent.tell('init error', JSON.stringify(told(error)), () => process.exit(1))
    return
  }
  endAtWhatNobodyCatches(parent, 'fatal')
  parent.tell('ready', '')
  for (;;) {
    const { head, body } = await parent.next()
    requestId = head.invoke_id
    process.env._X_AMZN_TRACE_ID = head.x_amzn_trace_id
    try {
      const event = JSON.parse(body)
      await begins(event)
      const { error, result } = await (handler[STREAMING] ? collect : invoke)(handler, head, event)
      if (error !== undefined) throw error
      await ends()
      parent.tell('result', textOf(result))
    } catch (error) {
      logError('Invoke Error', error)
      parent.tell('error', JSON.stringify(told(error)))
    }
  }
}

function endAtWhatNobodyCatches(parent, kind) {
  const end = (what, error, code) => {
    logError(what, error)
    parent.tell(kind, JSON.stringify(told(error)), () => process.exit(code))
  }
  process.removeAllListeners('uncaughtException')
  process.removeAllListeners('unhandledRejection')
  process.on('uncaughtException', (error) => end('Uncaught Exception', error, EXIT.uncaught))
  process.on('unhandledRejection', (reason) => {
    const error = new RuntimeError('UnhandledPromiseRejection', String(reason))
    end('Unhandled Promise Rejection', error, EXIT.unhandled)
  })
}

module.exports = { run }
// Clients before AWS_ENDPOINT_URL go to AWS itself, with a key that is good for this machine only.
function keepCallsOfAwsHere() {
  const connect = net.Socket.prototype.connect
  net.Socket.prototype.connect = function (...given) {
    const options = Array.isArray(given[0]) ? given[0][0] : given[0]
    const host = options && typeof options === 'object' ? options.host : given[1]
    if (!OF_AWS.test(host)) return connect.apply(this, given)
    const why = `${host} is AWS itself, and this function is called on your machine: its AWS SDK does not know `
    process.nextTick(() => this.destroy(new Error(`${why}AWS_ENDPOINT_URL, as a newer version 3 does`)))
    return this
  }
}

if (require.main === module) {
  keepCallsOfAwsHere()
  run()
}
