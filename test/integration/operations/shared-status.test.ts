// Goal: /v1/status is the view of all proxy processes together. Method: one connection, and with it one process, meets failures.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { after, before, test } from 'node:test'
import { type Stack, startStack, until } from '../../support/stack.ts'

const M = 'test/down'
/** Connections of which each process of the proxy is sure to get some. */
const CONNECTIONS = 16

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    workers: 2,
    limits: { breakerFailures: 2, breakerOpenMs: 600_000, routeViewMs: 200, routeProbeMs: 600_000 },
    catalog: { models: [{ id: M, upstream: 'mock,error=500' }, { id: 'test/well' }] },
  })
  apiKey = (await stack.createAccount()).apiKey
})
after(() => stack.finish())

async function send(method: string, path: string, agent: Agent | false, body?: object): Promise<string> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  const call = request(stack.baseUrl + path, { method, agent, headers }).end(body && JSON.stringify(body))
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  let text = ''
  for await (const part of response) text += String(part)
  return text
}

interface Status {
  readonly models: { readonly unavailable: string[] }
}

/** What many connections are told. */
async function unavailable(): Promise<string[]> {
  const texts = await Promise.all(Array.from({ length: CONNECTIONS }, () => send('GET', '/v1/status', false)))
  return texts.map((text) => (JSON.parse(text) as Status).models.unavailable.join())
}

test('a model that fails for one process is shown as unavailable by all', async (t) => {
  assert.deepEqual(new Set(await unavailable()), new Set(['']))
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const ask = () =>
    send('POST', '/v1/chat/completions', agent, { model: M, messages: [{ role: 'user', content: 'x' }] })
  await until('the process sends no more to it', async () => (await ask()).includes('model_unavailable'))
  await until('all processes say so', async () => (await unavailable()).every((models) => models === M))
})
