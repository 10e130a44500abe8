import { register } from 'node:module'

/** The newest major versions of the official clients, by the names that tests import. */
const NEWEST: Readonly<Record<string, string>> = {
  openai: 'openai-7',
  '@anthropic-ai/sdk': 'anthropic-sdk-1',
  ai: 'ai-7',
  '@ai-sdk/openai': 'ai-sdk-openai-4',
  '@ai-sdk/openai-compatible': 'ai-sdk-openai-compatible-3',
  '@ai-sdk/anthropic': 'ai-sdk-anthropic-4',
}

/** Marks modules that are loaded once more, with these clients. */
const MARK = '?newest'

const HOOKS = `
const newest = new Map(${JSON.stringify(Object.entries(NEWEST))})
export async function resolve(specifier, context, next) {
  if (context.parentURL?.endsWith(${JSON.stringify(MARK)}) !== true) return next(specifier, context)
  const found = await next(newest.get(specifier) ?? specifier, context)
  const isClient = /\\/test\\/support\\/clients\\/(openai|official)Clients?\\.js$/.test(found.url)
  return isClient ? { ...found, url: found.url + ${JSON.stringify(MARK)} } : found
}
`
let isRegistered = false

/** Runs the tests of a file of test/clients once more, with the newest clients in place of those that it imports. */
export async function testWithNewest(name: string): Promise<void> {
  if (!isRegistered) register(`data:text/javascript,${encodeURIComponent(HOOKS)}`)
  isRegistered = true
  await import(`${new URL(`../../clients/${name}.test.js`, import.meta.url).href}${MARK}`)
}
