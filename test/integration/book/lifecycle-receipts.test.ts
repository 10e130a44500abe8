import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { leafHash, verifyInclusion } from '../../../control/book/usagelog/merkle.ts'
import {
  assertError,
  chat,
  chatStream,
  completion,
  type Receipt,
  type Reply,
} from '../../support/clients/chatClient.ts'
import { TEST_LOG_KEY, TEST_LOG_VERIFIER } from '../../support/logKey.ts'
import { type FileReader, LogMonitor } from '../../support/logMonitor.ts'
import { type ReadCheckpoint, readCheckpoint } from '../../support/noteVerifier.ts'
import { isConsistent } from '../../support/referenceTree.ts'
import { type Stack, startStack, type TestAccount, until } from '../../support/stack.ts'

const M = 'test/small'

interface Log {
  readonly position: number
  readonly leaf: string
  readonly tree_size: number
  readonly root: string
  readonly proof: string[]
  readonly entry: string
  readonly number: number
  readonly head: { position: number; entry: string; tree_size: number; proof: string[] } | null
  readonly checkpoint: string | null
}

let stack: Stack
let account: TestAccount

before(async () => {
  stack = await startStack({
    catalog: {
      models: [{ id: M }, { id: 'test/cut', upstream: 'mock,cut=3' }, { id: 'test/down', upstream: 'mock,error=500' }],
    },
  })
  account = await stack.createAccount()
})

after(() => stack.finish())

async function get(path: string, apiKey = ''): Promise<Reply> {
  const headers: Record<string, string> = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }
  const response = await fetch(stack.baseUrl + path, { headers })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

function read<T>(reply: Reply): T {
  assert.equal(reply.status, 200, reply.text)
  return JSON.parse(reply.text) as T
}

test('the receipt in the response equals the receipt of the book, for every way to end', async () => {
  const { apiKey } = account
  const whole = completion(await chat(stack.baseUrl, apiKey, { model: M })).receipt
  const streamed = (await chatStream(stack.baseUrl, apiKey, { model: M })).receipt
  const partial = (await chatStream(stack.baseUrl, apiKey, { model: 'test/cut' })).receipt
  for (const receipt of [whole, streamed, partial]) {
    assert.ok(receipt !== null)
    const { log, ...booked } = read<Receipt>(await get(`/v1/receipts/${receipt.request_id}`, apiKey))
    assert.deepEqual(booked, receipt)
    assert.ok(log !== undefined)
  }
  assert.deepEqual([whole.status, streamed?.status, partial?.status], ['ok', 'ok', 'partial'])
  const failed = await chat(stack.baseUrl, apiKey, { model: 'test/down' })
  const requestId = failed.headers.get('x-request-id') ?? ''
  const receipt = read<Receipt>(await get(`/v1/receipts/${requestId}`, apiKey))
  assert.deepEqual([receipt.status, receipt.cost.units, receipt.error], ['failed', '0', 'upstream_unavailable'])
})

test('a receipt proves its position in the usage log', async () => {
  const { apiKey } = await stack.createAccount()
  const ids: string[] = []
  for (let i = 0; i < 7; i++) ids.push(completion(await chat(stack.baseUrl, apiKey, { model: M })).receipt.request_id)
  const positions = new Set<number>()
  for (const id of ids) {
    const receipt = read<Receipt>(await get(`/v1/receipts/${id}`, apiKey))
    const log = receipt.log as Log
    positions.add(log.position)
    const leaf = leafHash(log.entry)
    assert.equal(leaf.toString('hex'), log.leaf)
    const proof = log.proof.map((node) => Buffer.from(node, 'hex'))
    const root = Buffer.from(log.root, 'hex')
    assert.ok(verifyInclusion(leaf, log.position, log.tree_size, proof, root))
    const [layout, loggedId, status, model, endpoint, sheet, units] = log.entry.split('\n')
    assert.deepEqual([layout, loggedId, status, model], ['sluice-receipt/2', id, 'ok', M])
    assert.deepEqual([endpoint, sheet, units], ['chat', '1', receipt.cost.units])
    // A receipt that says something else is not in the log.
    const forged = leafHash(log.entry.replace(`\n${units}\n`, `\n${Number(units) - 1}\n`))
    assert.ok(!verifyInclusion(forged, log.position, log.tree_size, proof, root))
    assert.ok(!verifyInclusion(leaf, log.position + 1, log.tree_size, proof, root))
  }
  assert.equal(positions.size, ids.length)
})

interface Checkpoint {
  readonly size: number
  readonly note: string
  readonly key: string
}

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
const headOf = (note: string) => readCheckpoint(note, TEST_LOG_VERIFIER)

/** Checks a receipt by itself, up to the signature; returns what was signed. */
function assertProved({ log }: { log?: unknown }): ReadCheckpoint {
  const { number, position, tree_size, root, proof, entry, head, checkpoint } = log as Log
  assert.ok(head !== null && checkpoint !== null)
  assert.ok(verifyInclusion(leafHash(entry), position, tree_size, proof.map(bytes), bytes(root)))
  assert.equal(head.entry, `sluice-head/1\n${number}\n${tree_size}\n${bytes(root).toString('base64')}\n`)
  const signed = headOf(checkpoint)
  assert.deepEqual([signed.origin, signed.size], ['test.example.com/v1/log', head.tree_size])
  assert.ok(verifyInclusion(leafHash(head.entry), head.position, head.tree_size, head.proof.map(bytes), signed.root))
  return signed
}

/** Asks for one more receipt of the account until a checkpoint has it. */
async function provedReceipt(apiKey: string): Promise<{ id: string; signed: ReadCheckpoint }> {
  const id = completion(await chat(stack.baseUrl, apiKey, { model: M })).receipt.request_id
  let receipt = read<Receipt>(await get(`/v1/receipts/${id}`, apiKey))
  await until('the receipt is in a checkpoint', async () => {
    receipt = read<Receipt>(await get(`/v1/receipts/${id}`, apiKey))
    return (receipt.log as Log).checkpoint !== null
  })
  return { id, signed: assertProved(receipt) }
}

test('a receipt proves publicly that it is in a signed checkpoint, and checkpoints contain earlier ones', async () => {
  const { apiKey } = await stack.createAccount()
  const first = await provedReceipt(apiKey)
  const second = await provedReceipt(apiKey)
  assert.ok(second.signed.size > first.signed.size)
  // The public read proves the same receipt, in the newest checkpoint.
  const again = assertProved(read<Receipt>(await get(`/x402/v1/receipts/${first.id}`)))
  assert.ok(again.size >= second.signed.size)
  const path = `/v1/log/consistency?from=${first.signed.size}&to=${second.signed.size}`
  const { proof } = read<{ proof: string[] }>(await get(path))
  assert.ok(isConsistent(first.signed, second.signed, proof.map(bytes)))
  const forged = { ...first.signed, root: leafHash('another') }
  assert.ok(!isConsistent(forged, second.signed, proof.map(bytes)))
  assertError(await get(`/v1/log/consistency?from=${second.signed.size}&to=${first.signed.size}`), 404, 'not_found')
})

test('checkpoints are served as signed notes, the newest first', async () => {
  const newest = await get('/v1/log/checkpoint')
  assert.equal(newest.headers.get('content-type'), 'text/plain; charset=utf-8')
  const page = read<{ data: Checkpoint[]; has_more: boolean }>(await get('/v1/log/checkpoints?limit=1'))
  assert.ok(page.has_more)
  const [last] = page.data
  assert.ok(last !== undefined && last.size >= headOf(newest.text).size)
  assert.equal(last.key, TEST_LOG_VERIFIER)
  const next = read<{ data: Checkpoint[] }>(await get(`/v1/log/checkpoints?after=${last.size}`))
  const sizes = next.data.map(({ note, size }) => {
    assert.equal(headOf(note).size, size)
    return size
  })
  assert.deepEqual(
    sizes,
    sizes.toSorted((a, b) => b - a),
  )
  assert.ok(sizes.length > 0 && sizes.every((size) => size < last.size))
})

test('monitors follow the logs over HTTP', async () => {
  const { apiKey } = await stack.createAccount()
  const { id } = await provedReceipt(apiKey)
  const { number } = read<Receipt>(await get(`/v1/receipts/${id}`, apiKey)).log as Log
  const over =
    (prefix: string): FileReader =>
    async (path) => {
      const response = await fetch(`${stack.baseUrl}/v1/log${prefix}/${path}`)
      assert.equal(response.status, 200, path)
      const isTile = path.startsWith('tile/')
      const type = isTile ? 'application/octet-stream' : 'text/plain; charset=utf-8'
      assert.equal(response.headers.get('content-type'), type)
      if (isTile) assert.match(response.headers.get('cache-control') ?? '', /immutable/)
      return Buffer.from(await response.arrayBuffer())
    }
  const key = NoteKey.of(TEST_LOG_KEY)
  const ofHeads = new LogMonitor(over(''), key.verifier())
  const ofLog = new LogMonitor(over(`/${number}`), key.named(`${key.name}/${number}`).verifier())
  await Promise.all([ofHeads.follow(), ofLog.follow()])
  assert.ok(ofHeads.size > 0 && ofLog.size > 0)
  for (const path of ['/v1/log/tile/0/999', `/v1/log/tile/${'0'.repeat(100)}`, '/v1/log/64/checkpoint']) {
    assertError(await get(path), 404, 'not_found')
  }
})

test('receipts are listed newest first, page by page', async () => {
  const { accountId, apiKey } = await stack.createAccount()
  const made: string[] = []
  for (let i = 0; i < 7; i++)
    made.unshift(completion(await chat(stack.baseUrl, apiKey, { model: M })).receipt.request_id)
  await stack.settled()
  const seen: string[] = []
  const sizes: number[] = []
  let after = ''
  for (let more = true; more; ) {
    const page = read<{ object: string; data: Receipt[]; has_more: boolean }>(
      await get(`/v1/receipts?limit=3${after}`, apiKey),
    )
    assert.equal(page.object, 'list')
    seen.push(...page.data.map((receipt) => receipt.request_id))
    sizes.push(page.data.length)
    after = `&after=${seen.at(-1)}`
    more = page.has_more
  }
  assert.deepEqual(seen, made)
  assert.deepEqual(sizes, [3, 3, 1])
  // A key sees its own, not those of the account's other keys.
  const other = await stack.cli('key', 'create', accountId)
  const { api_key: otherKey } = other.json as { api_key: string }
  assert.deepEqual(read<{ data: Receipt[] }>(await get('/v1/receipts', otherKey)).data, [])
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'limit=-1', 'after=x', 'after=acct_1']) {
    assertError(await get(`/v1/receipts?${query}`, apiKey), 400, null, query.slice(0, query.indexOf('=')))
  }
  assertError(await get('/v1/receipts'), 401, 'invalid_api_key')
})

test("another key's receipt is rejected, an unknown one not found, and the public one needs no key", async () => {
  const stranger = await stack.createAccount()
  const { receipt } = completion(await chat(stack.baseUrl, account.apiKey, { model: M }))
  const path = `/v1/receipts/${receipt.request_id}`
  assert.equal((await get(path, account.apiKey)).status, 200)
  assertError(await get(path, stranger.apiKey), 403, 'permission_denied')
  assertError(await get(path), 401, 'invalid_api_key')
  for (const unknown of [newId('req', Date.now() - 86_400_000), newId('req'), 'req_1', 'x', '%00']) {
    assertError(await get(`/v1/receipts/${unknown}`, account.apiKey), 404, 'receipt_not_found')
  }
  assertError(await get(`/x402/v1/receipts/${newId('req', Date.now() - 86_400_000)}`), 404, 'receipt_not_found')
  const open = read<Receipt>(await get(`/x402${path}`))
  assert.equal(open.request_id, receipt.request_id)
  assert.ok((open.log as Log).proof.length > 0)
  assert.ok(!JSON.stringify(open).includes(account.accountId))
})

test('the receipt of a running request is returned once it has ended', async () => {
  const stream = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${account.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: M, stream: true, messages: [{ role: 'user', content: 'hello' }] }),
  })
  const id = stream.headers.get('x-request-id') ?? ''
  const [text, early] = await Promise.all([stream.text(), get(`/v1/receipts/${id}`, account.apiKey)])
  assert.match(text, /data: \[DONE\]\n\n$/)
  assert.equal(read<Receipt>(early).status, 'ok')
})
