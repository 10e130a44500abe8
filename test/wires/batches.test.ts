// Goal: a batch job is asked in the words of a live request: in the form that its provider wants, with the same members
// left out and named. Method: each request is sent both ways, and the provider compares what it got.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { EXTRA_MEMBERS } from '../../contract/catalog/requestForm.ts'
import { BATCH_PRICE, ended, submit, submitted } from '../support/clients/batchClient.ts'
import { chat, completion } from '../support/clients/chatClient.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'

const PDF = { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' } }
const SYSTEM = [
  { role: 'system', content: 'a' },
  { role: 'developer', content: [{ type: 'text', text: 'b' }] },
  { role: 'user', content: 'c' },
  { role: 'system', content: 'd' },
]
const CALLS = [
  { role: 'user', content: 'c' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'f', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'call_a', content: 'r' },
]
const FORMS: Readonly<Record<string, object>> = {
  plain: {},
  template: { thinking_member: 'chat_template_kwargs', system_messages: 'first' },
  extra: { extra_members: [...EXTRA_MEMBERS], thinking_member: 'none' },
  omits: { omit_members: ['prompt_cache_key', 'verbosity'], max_tokens_field: 'max_completion_tokens' },
}
const BODIES: Readonly<Record<string, object>> = {
  'an effort': { reasoning_effort: 'low' },
  'thinking that is switched off': { enable_thinking: false },
  'members of some providers': { guided_json: { type: 'object' }, min_tokens: 3, top_a: 1 },
  'members in extra_body': { extra_body: { min_tokens: 3, enable_thinking: false } },
  'members that a provider refuses': { prompt_cache_key: 'k', verbosity: 'low', seed: 1 },
  'members that nobody takes': { service_tier: 'flex', safety_settings: [] },
  'several system messages': { messages: SYSTEM },
  'a history with calls': { messages: CALLS },
  'a PDF': {
    messages: [{ role: 'user', content: [PDF] }, { role: 'assistant', content: 'ok' }, SYSTEM[2]],
  },
  'a large body': {
    messages: [...SYSTEM, { role: 'user', content: 'long text '.repeat(40_000) }],
    enable_thinking: false,
  },
}

let provider: TurnProvider
let refusing: TurnProvider
let stack: Stack
let apiKey: string

before(async () => {
  provider = await TurnProvider.start()
  refusing = await TurnProvider.start(() => ({ refusal: { status: 401, body: {} } }))
  const routes = (...ids: string[]) => ids.map((id) => ({ provider: id, model: 'm' }))
  const names = Object.keys(FORMS)
  stack = await startStack({
    limits: { batchTickMs: 20, batchRetryMs: 50, batchCallPaceMs: 1 },
    catalog: {
      providers: [
        ...names.map((id) => ({ id, base_url: provider.url, ...FORMS[id] })),
        { id: 'down', base_url: refusing.url, ...FORMS['template'] },
      ],
      models: [
        ...names.map((id) => ({
          id: `test/${id}`,
          pdf_page_tokens: 100,
          pdf_pages: 5,
          price: BATCH_PRICE,
          routes: routes(id),
        })),
        { id: 'test/failover', price: BATCH_PRICE, routes: routes('down', 'plain', 'template') },
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
  await refusing.stop()
})

/** Sends a request both ways. */
async function compare(form: string, said: object, user: string): Promise<void> {
  const body = { model: `test/${form}`, max_tokens: 100, messages: [SYSTEM[2]], user, ...said }
  const [live, job] = await Promise.all([chat(stack.baseUrl, apiKey, body), submit(stack, apiKey, body)])
  assert.deepEqual([live.status, job.status], [200, 202], live.text + job.text)
  const over = await ended(stack, apiKey, job.body)
  assert.equal(over.status, 'done')
  const [asked, again, ...more] = provider.asked.filter((each) => each.body['user'] === user)
  assert.deepEqual([again?.body, more], [asked?.body, []])
  assert.equal(job.headers.get('x-dropped-parameters'), live.headers.get('x-dropped-parameters'))
  assert.deepEqual(over.receipt?.usage, completion(live).receipt.usage)
}

describe('a batch job is sent as a live request is', () => {
  for (const [what, said] of Object.entries(BODIES)) {
    test(what, async () => {
      await Promise.all(Object.keys(FORMS).map((form) => compare(form, said, `${what}, ${form}`)))
    })
  }
})

test('another provider is asked where it wants the same form', async () => {
  const body = { model: 'test/failover', messages: SYSTEM, enable_thinking: false }
  const asked = provider.asked.length
  const over = await ended(stack, apiKey, await submitted(stack, apiKey, body))
  assert.equal(over.status, 'done')
  assert.deepEqual([refusing.asked.length, provider.asked.length], [1, asked + 1])
  const { chat_template_kwargs: thinking, messages } = provider.last.body
  assert.deepEqual(
    [thinking, (messages as object[])[0]],
    [
      { enable_thinking: false, thinking: false },
      { role: 'system', content: 'a\n\nb' },
    ],
  )
})
