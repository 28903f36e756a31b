// For `import`, which knows nothing of NODE_PATH: what Lambda has beside a function, and what its layers have in /opt.
import { pathToFileURL } from 'node:url'

let folders = []
let layers = []

export function initialize(data) {
  folders = data.folders
  layers = data.layers
}

export async function resolve(specifier, context, next) {
  for (const place of specifier.startsWith('/opt/') ? layers : []) {
    const inside = specifier.slice('/opt/'.length)
    for (const file of [`${place}/${inside}`, `${place}/${inside.replace(/^nodejs\//, '')}`]) {
      const found = await next(pathToFileURL(file).href, context).catch(notThere)
      if (found) return found
    }
  }
  try {
    return await next(specifier, context)
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || /^(\.|\/|\w+:)/.test(specifier)) throw error
    for (const folder of folders) {
      const parentURL = pathToFileURL(`${folder}/module.mjs`).href
      const found = await next(specifier, { ...context, parentURL }).catch(notThere)
      if (found) return found
    }
    throw error
  }
}

function notThere(error) {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
}
