// Goal: what clients send of old turns, tools and marks goes to a provider in a form that its validator takes, so that nothing
// locks a conversation. One row a shape, with what the provider gets.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { postJson } from '../support/clients/mediaClient.ts'
import { turnCatalog } from '../support/providers/turnCatalog.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { MARK_ROWS } from './markRows.ts'
import { SCHEMA_ROWS } from './schemaRows.ts'
import { ROWS } from './validatorRows.ts'

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start()
  const { providers = [], models = [] } = turnCatalog(provider.url)
  const thinking = (kind: string) => ({
    id: `test/${kind}`,
    thinking: kind,
    endpoints: ['chat', 'messages', 'responses'],
    routes: [{ provider: 'anthropic', model: 'm' }],
  })
  stack = await startStack({
    catalog: {
      providers: [
        ...providers,
        { id: 'markless', base_url: provider.url, omit_members: ['cache_control'] },
        { id: 'marking', base_url: provider.url, extra_members: ['cache_control'] },
      ],
      models: [
        ...models,
        thinking('budget'),
        thinking('effort'),
        { id: 'test/markless', endpoints: ['messages'], routes: [{ provider: 'markless', model: 'm' }] },
        { id: 'test/marking', endpoints: ['messages'], routes: [{ provider: 'marking', model: 'm' }] },
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

const PATHS = { chat: 'chat/completions', messages: 'messages', responses: 'responses' } as const

describe('what a validator refuses is not sent to it', () => {
  for (const { title, from, to, body, sent, expected } of [...ROWS, ...MARK_ROWS, ...SCHEMA_ROWS]) {
    test(title, async () => {
      const bound = from === 'messages' && !('max_tokens' in body) ? { max_tokens: 100 } : {}
      const reply = await postJson(`${stack.baseUrl}/v1/${PATHS[from]}`, apiKey, {
        model: `test/${to}`,
        ...bound,
        ...body,
      })
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual(sent(provider.last.body), expected)
    })
  }
})
