import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { EXTRA_MEMBERS } from '../../contract/catalog/requestForm.ts'
import { projectRoot } from '../../control/launch/paths.ts'
import { chat } from '../support/clients/chatClient.ts'
import { messages } from '../support/clients/messagesClient.ts'
import { post } from '../support/clients/responsesClient.ts'
import { TurnProvider } from '../support/providers/turnProvider.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { OFF, ON, SAID_OFF, SAID_ON, THINKING } from './thinkingRows.ts'

const USUAL = ['model', 'max_tokens', 'messages']

let stack: Stack
let provider: TurnProvider
let apiKey: string

before(async () => {
  provider = await TurnProvider.start()
  const forms: Readonly<Record<string, object>> = {
    plain: {},
    anthropic: { dialect: 'anthropic' },
    first: { system_messages: 'first' },
    system: { system_messages: 'system' },
    deepseek: { preset: 'deepseek', api_key_env: 'SLUICE_TEST_PROVIDER_KEY' },
    moonshot: { preset: 'moonshot', api_key_env: 'SLUICE_TEST_PROVIDER_KEY' },
    extra: { extra_members: [...EXTRA_MEMBERS] },
    omits: { omit_members: ['prompt_cache_key', 'verbosity', 'parallel_tool_calls'] },
    ...Object.fromEntries(THINKING.map((name) => [`thinks-${name}`, { thinking_member: name }])),
  }
  const names = Object.keys(forms)
  stack = await startStack({
    catalog: {
      providers: names.map((id) => ({ id, base_url: provider.url, ...forms[id] })),
      models: names.map((id) => ({
        id: `test/${id}`,
        endpoints: ['chat', 'messages', 'responses'],
        thinking: id === 'anthropic' ? 'effort' : 'none',
        routes: [{ provider: id, model: 'm' }],
      })),
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

/** What a provider got beyond the usual members, and what the client is told was dropped. */
async function sent(model: string, body: object): Promise<{ members: object; dropped: string | null }> {
  const reply = await chat(stack.baseUrl, apiKey, { model: `test/${model}`, max_tokens: 100, ...body })
  assert.equal(reply.status, 200, reply.text)
  const members = Object.entries(provider.last.body).filter(([name]) => !USUAL.includes(name))
  return { members: Object.fromEntries(members), dropped: reply.headers.get('x-dropped-parameters') }
}

describe('how much to think, in every spelling', () => {
  for (const member of THINKING) {
    test(`off, for a provider that is controlled by ${member}`, async () => {
      for (const said of SAID_OFF) {
        assert.deepEqual((await sent(`thinks-${member}`, said)).members, OFF[member], JSON.stringify(said))
      }
    })

    test(`on, for a provider that is controlled by ${member}`, async () => {
      for (const said of SAID_ON) {
        assert.deepEqual((await sent(`thinks-${member}`, said)).members, ON[member], JSON.stringify(said))
      }
    })

    test(`Messages and Responses, for a provider that is controlled by ${member}`, async () => {
      const model = `test/thinks-${member}`
      await messages(stack.baseUrl, apiKey, { model, thinking: { type: 'disabled' } })
      assert.deepEqual({ ...provider.last.body, ...OFF[member] }, provider.last.body)
      await post(stack.baseUrl, '/v1/responses', apiKey, { model, input: 'hi', reasoning: { effort: 'none' } })
      assert.deepEqual({ ...provider.last.body, ...OFF[member] }, provider.last.body)
    })
  }

  test('a provider that states nothing gets reasoning_effort alone, and the answer names the others', async () => {
    assert.deepEqual(await sent('plain', { reasoning_effort: 'low' }), {
      members: { reasoning_effort: 'low' },
      dropped: null,
    })
    assert.deepEqual(
      await sent('plain', { enable_thinking: false, chat_template_kwargs: { enable_thinking: false } }),
      {
        members: {},
        dropped: 'enable_thinking, chat_template_kwargs',
      },
    )
  })

  for (const preset of ['deepseek', 'moonshot']) {
    test(`off and on by the preset ${preset}`, async () => {
      for (const said of SAID_OFF) assert.deepEqual((await sent(preset, said)).members, OFF.thinking_off)
      assert.deepEqual((await sent(preset, { reasoning_effort: 'high' })).members, { reasoning_effort: 'high' })
    })
  }

  test('a provider of the other dialect thinks with the effort', async () => {
    const { members, dropped } = await sent('anthropic', { reasoning: { effort: 'high' } })
    assert.deepEqual(members, {
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'high' },
    })
    assert.equal(dropped, null)
    const off = { thinking: { type: 'disabled' } }
    assert.deepEqual((await sent('anthropic', { enable_thinking: false })).members, off)
  })
})

const EXTRAS = {
  guided_json: { type: 'object' },
  prediction: { type: 'content', content: 'x' },
  min_tokens: 3,
  metadata: { team: 'search' },
}

describe('members that not every provider takes', () => {
  test('go to the one that takes them', async () => {
    assert.deepEqual(await sent('extra', EXTRAS), { members: EXTRAS, dropped: null })
    assert.deepEqual(await sent('extra', { extra_body: EXTRAS }), { members: EXTRAS, dropped: null })
  })

  test('are left out elsewhere, and the answer names them', async () => {
    assert.deepEqual(await sent('plain', { ...EXTRAS, service_tier: 'flex', store: null }), {
      members: {},
      dropped: 'service_tier, guided_json, prediction, min_tokens, metadata',
    })
  })

  test('never change what is billed', async () => {
    const { members } = await sent('extra', {
      service_tier: 'priority',
      n: 1,
      web_search_options: {},
      modalities: ['audio'],
    })
    assert.deepEqual(members, {})
  })

  test('that a provider refuses are left out for it', async () => {
    const said = { prompt_cache_key: 'k', verbosity: 'low', seed: 1 }
    assert.deepEqual(await sent('omits', said), { members: { seed: 1 }, dropped: 'prompt_cache_key, verbosity' })
    assert.deepEqual(await sent('plain', said), { members: said, dropped: null })
  })

  test('are named once, at the head of a stream too', async () => {
    const reply = await chat(stack.baseUrl, apiKey, {
      model: 'test/plain',
      stream: true,
      top_a: 1,
      safety_settings: [],
    })
    assert.equal(reply.headers.get('x-dropped-parameters'), 'safety_settings, top_a')
  })

  test('are named to clients of Messages and Responses', async () => {
    const others = { foo: 1, service_tier: 'auto', context_management: null }
    const body = { model: 'test/plain', messages: [{ role: 'user', content: 'hi' }], ...others, speed: 'fast' }
    const known = { top_k: 1, metadata: { user_id: 'u' }, provider: {}, system: 's', stop_sequences: ['x'] }
    for (const stream of [false, true]) {
      const reply = await messages(stack.baseUrl, apiKey, { ...body, ...known, stream })
      assert.equal(reply.headers.get('x-dropped-parameters'), 'foo, service_tier, speed')
    }
    const reply = await post(stack.baseUrl, '/v1/responses', apiKey, { model: 'test/plain', input: 'hi', ...others })
    assert.equal(reply.headers.get('x-dropped-parameters'), 'foo, service_tier')
    assert.equal(
      (await messages(stack.baseUrl, apiKey, { model: 'test/plain' })).headers.get('x-dropped-parameters'),
      null,
    )
  })

  test('the schema of the catalog lists the members that may be named', () => {
    const path = join(projectRoot, 'contract/schemas/catalog.schema.json')
    const schema = JSON.parse(readFileSync(path, 'utf8')) as {
      $defs: { provider: { properties: { extra_members: { items: { enum: string[] } } } } }
    }
    assert.deepEqual(schema.$defs.provider.properties.extra_members.items.enum, EXTRA_MEMBERS)
  })
})

const SYSTEM = [
  { role: 'system', content: 'a' },
  { role: 'developer', content: [{ type: 'text', text: 'b' }] },
  { role: 'user', content: 'c' },
  { role: 'system', content: 'd' },
  { role: 'user', content: 'e' },
]

describe('system messages', () => {
  test('are joined at the beginning, and said by the user later, for a template that takes one', async () => {
    await sent('first', { messages: SYSTEM })
    assert.deepEqual(provider.last.body['messages'], [
      { role: 'system', content: 'a\n\nb' },
      { role: 'user', content: 'c' },
      { role: 'user', content: 'd' },
      { role: 'user', content: 'e' },
    ])
  })

  for (const model of ['system', 'deepseek']) {
    test(`of the role developer have the role system at a provider that does not know it: ${model}`, async () => {
      await sent(model, { messages: SYSTEM })
      const known = SYSTEM.map(({ role, ...said }) => ({ role: role === 'developer' ? 'system' : role, ...said }))
      assert.deepEqual(provider.last.body['messages'], known)
    })
  }

  test('are sent as they are to others', async () => {
    await sent('plain', { messages: SYSTEM })
    assert.deepEqual(provider.last.body['messages'], SYSTEM)
  })

  test('of Responses are joined with the instructions for all', async () => {
    const input = [
      { role: 'developer', content: 'b' },
      { role: 'user', content: 'c' },
      { role: 'developer', content: 'd' },
    ]
    await post(stack.baseUrl, '/v1/responses', apiKey, { model: 'test/plain', instructions: 'a', input })
    assert.deepEqual(provider.last.body['messages'], [
      { role: 'system', content: 'a\n\nb' },
      { role: 'user', content: 'c' },
      { role: 'system', content: 'd' },
    ])
  })

  test('among Messages are said by the user where a template takes one', async () => {
    const said = [
      { role: 'user', content: 'c' },
      { role: 'system', content: 'd' },
    ]
    await messages(stack.baseUrl, apiKey, { model: 'test/first', system: 'a', messages: said })
    assert.deepEqual(provider.last.body['messages'], [
      { role: 'system', content: 'a' },
      { role: 'user', content: 'c' },
      { role: 'user', content: 'd' },
    ])
  })

  test('of a large body are joined as those of a small one', async () => {
    const long = 'long text '.repeat(40_000)
    await sent('first', { messages: [{ role: 'system', content: 'a' }, ...SYSTEM, { role: 'user', content: long }] })
    const [first, ...rest] = provider.last.body['messages'] as { role: string; content: string }[]
    assert.deepEqual(first, { role: 'system', content: 'a\n\na\n\nb' })
    assert.deepEqual(rest.at(-1), { role: 'user', content: long })
  })
})
