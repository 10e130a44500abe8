// Goal: tags of requests are on receipts, proofs and statements as they were asked for, and what is refused holds nothing. Method: a
// stack, requests in every format of clients, and what each reader sees of them afterwards.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { tagsOf } from '../../../contract/money/tags.ts'
import { verify } from '../../../verifier/verify.ts'
import { awayFromMidnight } from '../../support/awayFromTheHour.ts'
import { api, apiOk, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, chat, chatStream, completion, postTo } from '../../support/clients/chatClient.ts'
import { readCsv } from '../../support/csv.ts'
import { present } from '../../support/present.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const MODELS = ['test/small', 'test/other']
const MONTH = () => new Date().toISOString().slice(0, 7)

let stack: Stack
let url: string

before(async () => {
  await awayFromMidnight()
  stack = await startStack({
    catalog: {
      models: [
        ...MODELS.map((id) => ({ id, endpoints: ['chat', 'messages', 'responses', 'completions'] })),
        {
          id: 'test/embed',
          modality: 'embedding',
          endpoints: ['embeddings'],
          max_output: undefined,
          price: { input: '0.1' },
        },
      ],
    },
  })
  url = stack.baseUrl
})
after(() => stack.finish())

const bearer = (owner: Owner) => ({ authorization: `Bearer ${owner.token}` })
const get = <Body = Json>(owner: Owner, path: string): Promise<Body> =>
  apiOk<Body>(url, 'GET', path, { token: owner.token })

const EMBED = { model: 'test/embed', input: 'hello' }
const HELLO = [{ role: 'user', content: 'hello' }]
const LARGE = [{ role: 'user', content: 'x'.repeat(300_000) }]

test('tags of header, body and key are on receipts, in their proof, and in the statement; others see their hash alone', async () => {
  const owner = await newOwner(stack, { credits: '1' })
  const { token } = owner
  const tags = { team: 'search', env: 'prod' }
  const key = await apiOk<Json & { id: string; api_key: string }>(url, 'POST', '/v1/account/keys', {
    token,
    body: { tags },
  })
  assert.deepEqual(key['tags'], tags)
  const header = { 'x-sluice-tags': 'env=test, step=1' }
  const said = { user: 'alice@example.com', metadata: { team: 'ads', env: 'x' } }
  const asked: [path: string, body: object, headers: Record<string, string>, user: unknown, tags: object][] = [
    ['/v1/chat/completions', { model: MODELS[0], messages: HELLO }, {}, undefined, tags],
    [
      '/v1/chat/completions',
      { model: MODELS[0], messages: HELLO, ...said },
      header,
      said.user,
      { team: 'ads', env: 'test', step: '1' },
    ],
    ['/v1/responses', { model: MODELS[0], input: 'hello', ...said }, {}, said.user, said.metadata],
    ['/v1/completions', { model: MODELS[0], prompt: 'hello', ...said }, {}, said.user, said.metadata],
    [
      '/v1/messages',
      { model: MODELS[0], max_tokens: 5, messages: HELLO, metadata: { user_id: 'bob' } },
      header,
      'bob',
      { team: 'search', env: 'test', step: '1' },
    ],
    ['/v1/embeddings', { ...EMBED, user: 'carol' }, {}, 'carol', tags],
    // Other threads read bodies of this size.
    [
      '/v1/chat/completions',
      { model: MODELS[0], max_tokens: 5, messages: LARGE, ...said },
      header,
      said.user,
      { team: 'ads', env: 'test', step: '1' },
    ],
  ]
  const expected = new Map<string, { user: unknown; tags: object }>()
  for (const [path, body, headers, user, own] of asked) {
    const reply = await postTo(`${url}${path}`, key.api_key, JSON.stringify(body), headers)
    assert.equal(reply.status, 200, `${path} ${reply.text}`)
    const { receipt } = JSON.parse(reply.text) as { receipt: Json & { request_id: string } }
    assert.deepEqual([receipt['user'], receipt['tags']], [user, own], path)
    expected.set(receipt.request_id, { user, tags: own })
  }
  const streamed = await chatStream(url, key.api_key, { model: MODELS[0] ?? '', metadata: { team: 'ü, =' } })
  assert.deepEqual((streamed.receipt as unknown as Json)['tags'], { env: 'prod', team: 'ü, =' })
  await stack.settled()

  for (const [id, { user, tags: own }] of expected) {
    const text = (await api(url, 'GET', `/v1/receipts/${id}`, { token: key.api_key })).text
    const receipt = JSON.parse(text) as Json
    assert.deepEqual([receipt['user'], receipt['tags']], [user, own])
    const shown = (await verify({ receipt: text })).steps.filter(({ name }) => name === 'tags' || name === 'entry')
    assert.deepEqual(
      shown.map(({ result }) => result),
      ['ok', 'ok'],
    )
    const open = (await (await fetch(`${url}/x402/v1/receipts/${id}`)).json()) as Json
    assert.deepEqual([open['user'], open['tags'], open['tags_salt']], [undefined, undefined, undefined])
    assert.equal(open['tags_hash'], receipt['tags_hash'])
  }
  const text = await (await fetch(`${url}/v1/statements/${MONTH()}.csv`, { headers: bearer(owner) })).text()
  const lines = readCsv(text).filter((line) => line['type'] === 'charge')
  assert.equal(lines.length, asked.length + 1)
  for (const line of lines) {
    const found = expected.get(line['reference'] ?? '')
    if (found === undefined) continue
    assert.deepEqual([line['user'], tagsOf(line['tags'] ?? '')], [found.user ?? '', found.tags])
  }

  type Lines = { data: { reference: string; user: string | null; tags: object }[] }
  const statement = (query: string) => apiOk<Lines>(url, 'GET', `/v1/statements/${MONTH()}.json${query}`, { token })
  const ids = (of: (each: { user: unknown; tags: Record<string, string> }) => boolean) =>
    [...expected].filter(([, each]) => of(each as never)).map(([id]) => id)
  for (const [query, matching] of [
    ['?tag=step%3D1', ids(({ tags }) => tags['step'] === '1')],
    ['?tag=env=test&user=bob', ids(({ user }) => user === 'bob')],
    ['?user=alice%40example.com', ids(({ user }) => user === said.user)],
    ['?tag=step=2', []],
  ] as const) {
    const { data } = await statement(query)
    assert.deepEqual(
      data.map((line) => [line.reference, line.user, line.tags]).sort(),
      matching.map((id) => [id, expected.get(id)?.user ?? null, expected.get(id)?.tags]).sort(),
      query,
    )
  }
  for (const query of ['?tag=nonsense', '?tag=a=b,c=d', '?tag=a=%2', '?user=%01']) {
    const refused = await api(url, 'GET', `/v1/statements/${MONTH()}.json${query}`, { token })
    const { error } = refused.body as { error?: { param?: string } }
    assert.deepEqual([refused.status, error?.param], [400, query.slice(1, query.indexOf('='))], query)
  }

  const changed = await api<Json>(url, 'PATCH', `/v1/account/keys/${key.id}`, { token, body: { tags: {} } })
  assert.deepEqual(changed.body['tags'], {})
  const plain = completion(await chat(url, key.api_key, { model: MODELS[0] ?? '' })).receipt as unknown as Json
  assert.deepEqual([plain['tags'], plain['tags_salt']], [undefined, undefined])
  const cli = await stack.cli('key', 'update', key.id, '--tags', 'cost center=4%2C2')
  assert.deepEqual((cli.json as Json)['tags'], { 'cost center': '4,2' })
  await stack.settled()
  await stack.audit()
})

test('tags that are refused hold nothing and are named', async () => {
  const owner = await newOwner(stack, { credits: '1' })
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`t${i}`, 'x']))
  const body = { model: MODELS[0] ?? '', messages: HELLO }
  const refused: [body: object, headers: Record<string, string>, param: string][] = [
    [{ metadata: many }, {}, 'metadata'],
    [{ metadata: { a: 1 } }, {}, 'metadata'],
    [{ metadata: { a: 'b\n' } }, {}, 'metadata'],
    [{ metadata: { a: 'x'.repeat(513) } }, {}, 'metadata'],
    [{ user: 'a\u0001' }, {}, 'user'],
    [{}, { 'x-sluice-tags': 'nonsense' }, 'x-sluice-tags'],
    [
      { metadata: { a: 'b' } },
      {
        'x-sluice-tags': Object.keys(many)
          .slice(1)
          .map((name) => `${name}=x`)
          .join(),
      },
      'x-sluice-tags',
    ],
  ]
  for (const [more, headers, param] of refused) {
    const reply = await postTo(
      `${url}/v1/chat/completions`,
      owner.apiKey,
      JSON.stringify({ ...body, ...more }),
      headers,
    )
    assertError(reply, 400, null, param)
  }
  const { token } = owner
  for (const tags of [many, { a: 'b\n' }, { '': 'x' }, { a: 1 }, 'x']) {
    const reply = await api(url, 'POST', '/v1/account/keys', { token, body: { tags } })
    assert.equal(reply.status, 400, reply.text)
    assert.match(reply.text, /"param":"tags/)
  }
  await stack.settled()
  assert.deepEqual((await get<{ data: Json[] }>(owner, '/v1/receipts')).data, [])
})

test('usage is summed up by tag and user, page by page, and the command line shows the same', async () => {
  const owner = await newOwner(stack, { credits: '1' })
  const ask = (more: object) => chat(url, owner.apiKey, { model: MODELS[0] ?? '', max_tokens: 5, ...more })
  const receipts = []
  for (const more of [
    { user: 'alice', metadata: { team: 'search', env: 'prod' } },
    { user: 'bob', metadata: { team: 'search' } },
    {},
  ]) {
    receipts.push(completion(await ask(more)).receipt)
  }
  await stack.settled()
  const [first, second] = receipts.map(({ cost }) => Number(cost.units)) as [number, number]
  const byTag = await get<UsagePage>(owner, '/v1/account/usage?group_by=tag')
  assert.deepEqual(
    byTag.data.map(({ tag, requests, cost }) => [tag, requests, Number(cost.units)]),
    [
      [{ env: 'prod' }, 1, first],
      [{ team: 'search' }, 2, first + second],
    ],
  )
  assert.equal(byTag.total.requests, 3)
  const byUser = await get<UsagePage>(owner, '/v1/account/usage?group_by=user,month&limit=1')
  assert.deepEqual([byUser.data[0]?.['user'], byUser.data[0]?.['month'], byUser.has_more], ['alice', MONTH(), true])
  const rest = await get<UsagePage>(owner, `/v1/account/usage?group_by=user,month&limit=1&after=${byUser.next}`)
  assert.deepEqual([rest.data[0]?.['user'], rest.has_more, rest.next], ['bob', false, null])
  for (const [query, param] of [
    ['group_by=tag,user', 'group_by'],
    ['group_by=tag,model', 'group_by'],
    ['group_by=hour', 'group_by'],
    [`group_by=tag&model=${MODELS[0]}`, 'model'],
    ['group_by=tag&after=nonsense', 'after'],
    [`group_by=tag&after=${Buffer.from('[1e12,""]').toString('base64url')}`, 'after'],
  ]) {
    assertError(await api(url, 'GET', `/v1/account/usage?${query}`, { token: owner.token }), 400, null, param)
  }
  const cli = await stack.cli('account', 'usage', owner.accountId, '--by', 'tag')
  assert.deepEqual((cli.json as UsagePage).data, byTag.data)
  await readAllUsage(owner.accountId, byTag)
  await stack.audit()
})

/** The operator's command line reads all accounts, of which other tests have made some. */
async function readAllUsage(accountId: string, { data, total }: UsagePage): Promise<void> {
  const rows: UsagePage['data'] = []
  for (let next: string | null = ''; next !== null; ) {
    const after: string[] = next === '' ? [] : ['--after', next]
    const { json } = await stack.cli('usage', '--by', 'tag,account', '--limit', '2', ...after)
    const page = json as UsagePage
    assert.ok(page.data.length <= 2)
    rows.push(...page.data)
    next = page.next
  }
  assert.deepEqual(
    rows.filter((row) => row['account_id'] === accountId),
    data.map((row) => ({ ...row, account_id: accountId })),
  )
  const byAccount = (await stack.cli('usage', '--by', 'account')).json as UsagePage
  const { object: _, account_id: __, ...sums } = present(byAccount.data.find((row) => row['account_id'] === accountId))
  assert.deepEqual(sums, total)
  await readHours()
  for (const flags of [
    ['--by', 'agent'],
    ['--by', 'tag,user'],
    ['--by', 'hour,account'],
    ['--limit', '0'],
    ['--limit', '1001'],
  ])
    assert.equal((await stack.cli('usage', ...flags)).code, 2, flags.join(' '))
  assert.notEqual((await stack.cli('usage', '--after', 'nonsense')).code, 0)
}

interface UsagePage extends Json {
  readonly total: { requests: number }
  readonly data: (Json & { requests: number; cost: { units: string } })[]
  readonly has_more: boolean
  readonly next: string | null
}

/** Hours add up to the whole. */
async function readHours(): Promise<void> {
  const { data, total } = (await stack.cli('usage', '--by', 'hour,provider,outcome')).json as UsagePage
  const sum = (name: string) => data.reduce((all, row) => all + Number(row[name]), 0)
  for (const name of ['requests', 'input_tokens', 'cached_input_tokens', 'output_tokens'] as const)
    assert.equal(sum(name), Number((total as Readonly<Record<string, unknown>>)[name]), name)
  assert.equal(sum('cache_write_tokens'), 0)
  assert.match(String(data[0]?.['hour']), /^\d{4}-\d\d-\d\dT\d\d:00:00Z$/)
}
