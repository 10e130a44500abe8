// Goal: a request that names several models, or whose model names others in the catalog, is served by the next one where the first
// cannot serve it; hold, charge, receipt and header are right for the model that served. Method: models of different prices whose
// upstream names say how they fail, over all formats and both dialects; the provider's log shows who was asked.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { assertError, chat, completion, type Receipt, receiptOf } from '../../support/clients/chatClient.ts'
import { everyFormat, FORMAT_NAMES } from '../../support/clients/everyFormat.ts'
import { callOk, connectMcp } from '../../support/clients/mcpClient.ts'
import { post } from '../../support/clients/responsesClient.ts'
import { present } from '../../support/present.ts'
import { ScriptedProvider } from '../../support/providers/scriptedProvider.ts'
import { assertReconciled } from '../../support/reconcile.ts'
import { CHEAP, DEAR, fallbackModels, TOO_LONG } from '../../support/samples/fallbackModels.ts'
import { type Stack, startStack, type TestAccount, until } from '../../support/stack.ts'
import { untilStill } from '../../support/until.ts'

let provider: ScriptedProvider
let stack: Stack
let account: TestAccount
let other: string

before(async () => {
  provider = await ScriptedProvider.start(
    Object.fromEntries(
      Object.entries(TOO_LONG).map(([name, [status, body]]) => [
        name,
        (response) => {
          response.writeHead(status, { 'content-type': 'application/json' })
          response.end(JSON.stringify(body))
        },
      ]),
    ),
  )
  stack = await startStack({
    limits: { breakerFailures: 1_000_000 },
    catalog: {
      providers: [
        { id: 'openai', dialect: 'openai' },
        { id: 'anthropic', dialect: 'anthropic' },
        { id: 'keeps', data_policy: 'retained' },
        { id: 'scripted', base_url: provider.url },
      ],
      models: fallbackModels(),
    },
  })
  account = await stack.createAccount()
  const allowed = ['openai/down', 'openai/good', 'cat/any'].flatMap((id) => ['--model', id])
  const key = await stack.cli('key', 'create', account.accountId, ...allowed)
  other = (key.json as { api_key: string }).api_key
})

after(async () => {
  await stack.finish()
  await provider.stop()
})

const ask = (body: { model: string; [member: string]: unknown }, key = account.apiKey) =>
  chat(stack.baseUrl, key, { max_tokens: 20, ...body })

/** The upstream models that were asked for a request, in their order. */
async function askedFor(requestId: string): Promise<string[]> {
  return (await stack.provider.log()).filter((line) => line.request_id === requestId).map((line) => line.model)
}

const pricesOf = (id: string) => (id.endsWith('/dear') ? DEAR : CHEAP)

/** A receipt is that of the model which served, at its prices. */
async function assertServed(receipt: Receipt | null | undefined, headers: Headers, id: string): Promise<void> {
  const shown = present(receipt ?? undefined)
  assert.equal(shown.model, id)
  assert.equal(headers.get('x-served-model'), id)
  assertReconciled(shown, await stack.provider.log(), pricesOf(id))
  assert.ok(Number(shown.cost.units) <= Number(shown.hold.units))
  const public_ = await receiptOf(stack.baseUrl, account.apiKey, shown.request_id)
  assert.deepEqual([public_.model, public_.cost.units, public_.price_sheet], [id, shown.cost.units, shown.price_sheet])
}

describe('a request that lists models', () => {
  for (const format of FORMAT_NAMES) {
    for (const [first, next] of [
      ['openai/down', 'anthropic/dear'],
      ['anthropic/busy', 'openai/dear'],
      ['anthropic/down', 'anthropic/good'],
      ['openai/narrow', 'anthropic/good'],
    ] as const) {
      test(`${format}: ${next} serves in place of ${first}`, async () => {
        const send = everyFormat(stack.baseUrl, account.apiKey)[format]
        const { receipt, headers, model: served } = await send({ model: first, models: [next] })
        assert.equal(served, next)
        await assertServed(receipt, headers, next)
      })
    }
  }

  test('text completions', async () => {
    const body = { model: 'openai/down', models: ['openai/busy', 'openai/dear'], prompt: 'hello', max_tokens: 20 }
    const reply = await post(stack.baseUrl, '/v1/completions', account.apiKey, body)
    const { receipt, model: served } = completion(reply)
    assert.equal(served, 'openai/dear')
    await assertServed(receipt, reply.headers, 'openai/dear')
  })

  test('a body that other threads read', async () => {
    const content = 'hello '.repeat(60_000)
    const body = { model: 'openai/down', models: ['anthropic/good'], messages: [{ role: 'user', content }] }
    const reply = await ask(body)
    await assertServed(completion(reply).receipt, reply.headers, 'anthropic/good')
  })

  test('the first of the list stands for the model, and is asked once', async () => {
    const models = ['openai/down', 'openai/down', 'openai/good']
    const reply = await ask({ models } as unknown as { model: string })
    await assertServed(completion(reply).receipt, reply.headers, 'openai/good')
    const asked = await askedFor(completion(reply).receipt.request_id)
    assert.deepEqual(asked, ['mock,error=500', 'mock,prompt=40,completion=7,text=good'])
  })

  test('the model that the request names is asked first, and alone where it serves', async () => {
    const reply = await ask({ model: 'openai/good', models: ['openai/dear'] })
    const { receipt } = completion(reply)
    await assertServed(receipt, reply.headers, 'openai/good')
    assert.deepEqual(await askedFor(receipt.request_id), ['mock,prompt=40,completion=7,text=good'])
  })

  test('a model that cannot be asked now is left to the next one', async () => {
    for (const first of ['openai/off', 'openai/unproven']) {
      const reply = await ask({ model: first, models: ['openai/good'] })
      await assertServed(completion(reply).receipt, reply.headers, 'openai/good')
    }
    assertError(await ask({ model: 'openai/off', models: ['openai/unproven'] }), 503, 'model_unavailable')
  })

  test('every route of a model is asked before the next model', async () => {
    const { receipt } = completion(await ask({ model: 'openai/two', models: ['openai/good'] }))
    assert.deepEqual(await askedFor(receipt.request_id), [
      'mock,error=503',
      'mock,error=502',
      'mock,prompt=40,completion=7,text=good',
    ])
  })

  test('the hold is the most over the models, whichever serves', async () => {
    const holdOf = async (body: { model: string; models?: string[] }) =>
      Number(completion(await ask(body)).receipt.hold.units)
    const cheap = await holdOf({ model: 'openai/good' })
    const dear = await holdOf({ model: 'openai/dear' })
    assert.ok(dear > cheap)
    assert.equal(await holdOf({ model: 'openai/good', models: ['openai/dear'] }), dear)
    assert.equal(await holdOf({ model: 'openai/dear', models: ['openai/good'] }), dear)
    assert.equal(await holdOf({ model: 'openai/down', models: ['openai/dear', 'openai/good'] }), dear)
    // One that cannot be asked now counts, so that the price of a request does not depend on the hour.
    assert.equal(await holdOf({ model: 'openai/good', models: ['openai/off', 'openai/dear'] }), dear)
  })

  test('the quote of the MCP tool is the same', async () => {
    const client = await connectMcp(stack.baseUrl, account.apiKey)
    const messages = [{ role: 'user', content: 'hello' }]
    const quoted = await callOk(client, 'quote', {
      model: 'openai/good',
      models: ['openai/dear'],
      max_tokens: 20,
      messages,
    })
    await client.close()
    const { receipt } = completion(await ask({ model: 'openai/good', models: ['openai/dear'] }))
    assert.equal((quoted['hold'] as { units: string }).units, receipt.hold.units)
  })

  test('a balance that pays for the model, and not for the next one, pays for the model', async () => {
    const { apiKey } = await stack.createAccount({ credits: '0.0002' })
    const reply = await ask({ model: 'openai/good', models: ['openai/dear'], max_tokens: 10 }, apiKey)
    assert.equal(completion(reply).receipt.model, 'openai/good')
    const refused = await ask({ model: 'openai/down', models: ['openai/dear'], max_tokens: 10 }, apiKey)
    assertError(refused, 502, 'upstream_unavailable')
  })

  test('models that the key may not use are left out', async () => {
    const reply = await ask({ model: 'openai/down', models: ['openai/dear', 'openai/good'] }, other)
    assert.equal(completion(reply).receipt.model, 'openai/good')
    const first = await ask({ model: 'openai/dear', models: ['openai/good'] }, other)
    assert.equal(completion(first).receipt.model, 'openai/good')
    assertError(await ask({ model: 'openai/dear', models: ['openai/busy'] }, other), 403, 'model_not_allowed')
  })

  test('models whose providers keep data, or that are too dear, are left out', async () => {
    const kept = await ask({ model: 'openai/down', models: ['openai/keeps', 'openai/good'] })
    assert.equal(completion(kept).receipt.model, 'openai/good')
    const provider = { allow_retention: true }
    const allowed = await ask({ model: 'openai/down', models: ['openai/keeps', 'openai/good'], provider })
    assert.equal(completion(allowed).receipt.model, 'openai/keeps')
    const bounded = { provider: { max_price: { prompt: 2 } } }
    const cheap = await ask({ model: 'openai/down', models: ['openai/dear', 'openai/good'], ...bounded })
    assert.equal(completion(cheap).receipt.model, 'openai/good')
    assertError(await ask({ model: 'openai/down', models: ['openai/dear'], ...bounded }), 502, 'upstream_unavailable')
  })

  test('a request that a provider finds at fault goes to no other model', async () => {
    for (const dialect of ['openai', 'anthropic']) {
      const reply = await ask({ model: `${dialect}/bad`, models: ['openai/good'] })
      assertError(reply, 400, 'upstream_rejected')
      assert.equal((await askedFor(reply.headers.get('x-request-id') ?? '')).length, 1)
    }
  })

  for (const name of Object.keys(TOO_LONG)) {
    test(`a prompt that the provider finds too long goes to a model with more context: ${name}`, async () => {
      assertError(await ask({ model: `long/${name}` }), 400, 'context_length_exceeded')
      const reply = await ask({ model: `long/${name}`, models: ['openai/small-context', 'openai/dear'] })
      await assertServed(completion(reply).receipt, reply.headers, 'openai/dear')
    })
  }

  test('the error is that of the model which was asked last', async () => {
    assertError(await ask({ model: 'openai/down', models: ['openai/busy'] }), 429, 'rate_limited')
    assertError(await ask({ model: 'openai/busy', models: ['openai/down'] }), 502, 'upstream_unavailable')
    assertError(await ask({ model: 'openai/busy', models: ['openai/bad'] }), 400, 'upstream_rejected')
  })

  test('a model that the catalog does not have refuses the request', async () => {
    assertError(await ask({ model: 'openai/good', models: ['openai/gone'] }), 404, 'model_not_found', 'models')
    assertError(await ask({ model: 'openai/gone', models: ['openai/good'] }), 404, 'model_not_found', 'model')
  })

  test('the list is checked', async () => {
    for (const models of ['openai/good', [1], [''], {}, [null]]) {
      assertError(await ask({ model: 'openai/good', models }), 400, null, 'models')
    }
    const four = ['openai/down', 'openai/busy', 'openai/bad', 'openai/dear']
    assertError(await ask({ model: 'openai/good', models: four }), 400, null, 'models')
    assertError(await ask({ models: [] } as unknown as { model: string }), 400, null, 'model')
    completion(await ask({ model: 'openai/good', models: null }))
  })

  test('a batch job has one model', async () => {
    const refused = await ask({ model: 'cat/batch:batch', models: ['openai/good'] })
    assertError(refused, 400, 'batch_unavailable', 'models')
  })
})

describe('a model with fallbacks in the catalog', () => {
  test('the next model serves, and is named', async () => {
    const reply = await ask({ model: 'cat/any' })
    await assertServed(completion(reply).receipt, reply.headers, 'openai/dear')
  })

  test('each entry has its own reasons', async () => {
    assertError(await ask({ model: 'cat/busy-only' }), 502, 'upstream_unavailable')
    const { receipt } = completion(await ask({ model: 'cat/each' }))
    assert.equal(receipt.model, 'openai/dear')
    assert.deepEqual(await askedFor(receipt.request_id), [
      'mock,error=500',
      'mock,error=429',
      'mock,prompt=50,completion=5,text=dear',
    ])
  })

  test('the list of a request counts in its place; an empty one wants the model alone', async () => {
    assertError(await ask({ model: 'cat/any', models: [] }), 502, 'upstream_unavailable')
    const reply = await ask({ model: 'cat/any', models: ['openai/good'] })
    assert.equal(completion(reply).receipt.model, 'openai/good')
  })

  test('a free model falls back to a free one alone, unless the request lists another', async () => {
    assert.equal(completion(await ask({ model: 'cat/free' })).receipt.model, 'cat/free-too')
    assertError(await ask({ model: 'cat/free-alone' }), 502, 'upstream_unavailable')
    const listed = await ask({ model: 'cat/free-alone', models: ['openai/dear'] })
    assert.equal(completion(listed).receipt.model, 'openai/dear')
  })

  test('a key that may not use the next model is refused as without it', async () => {
    assertError(await ask({ model: 'cat/any' }, other), 502, 'upstream_unavailable')
  })
})

test('an answer of a model without fallbacks has no header for it', async () => {
  const reply = await ask({ model: 'openai/good' })
  assert.equal(completion(reply).receipt.model, 'openai/good')
  assert.equal(reply.headers.get('x-served-model'), null)
})

test('requests that went on to another model are counted by the reason', async () => {
  const countOf = async (reason: string): Promise<number> => {
    const text = await (await fetch(stack.metricsUrl)).text()
    return Number(new RegExp(`^sluice_fallbacks_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(text)?.[1])
  }
  for (const [model, reason] of [
    ['openai/off', 'unavailable'],
    ['openai/down', 'unavailable'],
    ['openai/busy', 'rate_limited'],
    ['openai/narrow', 'context_length'],
    ['long/code', 'context_length'],
  ] as const) {
    const before = await untilStill('the count is known', () => countOf(reason))
    completion(await ask({ model, models: ['openai/good'] }))
    await until('the request is counted', async () => (await countOf(reason)) === before + 1)
  }
})
