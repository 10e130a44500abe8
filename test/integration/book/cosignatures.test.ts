// Goal: what the configured witnesses say of a checkpoint is kept and shown with it, and nothing that anybody else says, or
// that they have not said.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { sampleCheckpoints } from '../../../control/book/checkpoint/checkpointGauges.ts'
import { lastCheckpoint } from '../../../control/book/checkpoint/checkpointReads.ts'
import { cosign } from '../../../control/book/checkpoint/cosign.ts'
import { NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../../control/book/checkpoint/signCheckpoint.ts'
import { WitnessKey } from '../../../control/book/checkpoint/witnessKey.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { leafHash, verifyInclusion } from '../../../control/book/usagelog/merkle.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { assertError, chat, completion, type Reply } from '../../support/clients/chatClient.ts'
import { limitsWith } from '../../support/limits.ts'
import { TEST_LOG_KEY, TEST_LOG_VERIFIER } from '../../support/logKey.ts'
import { readCheckpoint } from '../../support/noteVerifier.ts'
import { batchOf, endedOf } from '../../support/parts/endings.ts'
import { newAccount, startBook } from '../../support/parts/ledger.ts'
import { present } from '../../support/present.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { TestWitness } from '../../support/testWitness.ts'

const M = 'test/small'
const [one, two, stranger] = ['one', 'two', 'three'].map((name) => new TestWitness(`witness.example.com/${name}`)) as [
  TestWitness,
  TestWitness,
  TestWitness,
]

let stack: Stack
let apiKey: string
before(async () => {
  stack = await startStack({
    catalog: { models: [{ id: M }] },
    env: { SLUICE_LOG_WITNESSES: `${one.verifier},${two.verifier}` },
    limits: { cosignatureAfterMs: 60_000, cosignatureSkewMs: 5_000 },
  })
  apiKey = (await stack.createAccount()).apiKey
})
after(() => stack.finish())

async function get(path: string): Promise<Reply> {
  const response = await fetch(stack.baseUrl + path, { headers: { authorization: `Bearer ${apiKey}` } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

async function post(note: unknown): Promise<Reply> {
  const response = await fetch(`${stack.baseUrl}/v1/log/checkpoint`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ note }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

interface Log {
  readonly head: { entry: string; position: number; tree_size: number; proof: string[] } | null
  readonly checkpoint: string | null
}

/** Has a request served, and waits until a checkpoint has its receipt. @returns its id */
async function signedRequest(): Promise<string> {
  const { request_id: id } = completion(await chat(stack.baseUrl, apiKey, { model: M })).receipt
  await until('the receipt is in a checkpoint', async () => (await logOf(id)).checkpoint !== null)
  return id
}

const logOf = async (id: string): Promise<Log> => JSON.parse((await get(`/v1/receipts/${id}`)).text).log as Log
const last = async (query = ''): Promise<string> => (await get(`/v1/log/checkpoint${query}`)).text
const sizeOf = (note: string): number => readCheckpoint(note, TEST_LOG_VERIFIER).size

test('a checkpoint includes each witness cosignature once, and receipts are proved in it', async () => {
  const id = await signedRequest()
  assertError(await get('/v1/log/checkpoint?cosigned=true'), 404, 'not_found')
  const note = await last()
  const now = Math.floor(Date.now() / 1_000)
  const lines = [one.line(note, now - 1), stranger.line(note)]
  const answer = await post(note + lines.join(''))
  assert.deepEqual(JSON.parse(answer.text), {
    object: 'cosigned_checkpoint',
    size: sizeOf(note),
    witnesses: [one.name],
  })
  assert.equal(await last('?cosigned=true'), note + lines[0])
  // Later ones take the place of earlier ones, not the other way round.
  const [later, other] = [one.line(note, now), two.line(note)]
  assert.equal((await post(note + other + later)).status, 200)
  assert.equal((await post(note + lines[0])).status, 200)
  assert.equal(await last('?cosigned=true'), note + later + other)
  const { data } = JSON.parse((await get('/v1/log/checkpoints')).text) as { data: { size: number; note: string }[] }
  assert.equal(data.find(({ size }) => size === sizeOf(note))?.note, note + later + other)

  // A newer checkpoint that nobody has cosigned is not preferred, but for what only it has.
  const next = await signedRequest()
  const [first, second] = [await logOf(id), await logOf(next)]
  assert.equal(first.checkpoint, note + later + other)
  const { position, tree_size: size, entry, proof } = first.head ?? assert.fail()
  const { root } = readCheckpoint(note, TEST_LOG_VERIFIER)
  const path = proof.map((hex) => Buffer.from(hex, 'hex'))
  assert.ok(verifyInclusion(leafHash(entry), position, size, path, root))
  assert.ok(sizeOf(second.checkpoint ?? '') > sizeOf(note))
})

test('invalid cosignatures are rejected', async () => {
  await signedRequest()
  const note = await last()
  const text = note.slice(0, note.indexOf('\n\n') + 1)
  const now = Math.floor(Date.now() / 1_000)
  const [origin = '', size = '', root = ''] = text.split('\n')
  const grown = `${origin}\n${Number(size) + 1}\n${root}\n\n`
  const another = `${origin}\n${size}\n${Buffer.alloc(32).toString('base64')}\n\n`
  for (const wrong of [grown, another, `${text}more\n\n`, `${origin}x\n${size}\n${root}\n\n`, 'x\n\n']) {
    const forged = `${wrong}${one.line(wrong)}`
    assertError(await post(forged), 404, 'not_found')
  }
  const changed = one.line(another)
  const wrongs = ['', text, note, note + stranger.line(note), note + changed, `${note}x`, `${note}\n`]
  wrongs.push(note + one.line(note, now + 60), note + one.line(note, now - 3_600), note + one.line(note, 0))
  wrongs.push(note + two.line(note) + changed)
  for (const wrong of wrongs) assertError(await post(wrong), 400, null, 'note')
  assertError(await post(7), 400, null, 'note')
  assertError(await post('x'.repeat(16_385)), 400, null, 'note')
  assert.notEqual(sizeOf(await last('?cosigned=true')), Number(size))
  // The signature of the gateway itself does not have to come along.
  assert.equal((await post(`${text}\n${one.line(note)}`)).status, 200)
  assert.ok((await last('?cosigned=true')).startsWith(`${note}\u2014 ${one.name} `))
})

test('checkpoints beyond the time limit are no longer cosigned', async (t) => {
  const book = await startBook()
  t.after(() => book.stop())
  const accountId = await newAccount(book.pool, 10)
  const fields = [Buffer.from('b'), batchOf(newId('own'), 1, [endedOf({ accountId, charge: 1 })])]
  await bookEntries(book.pool, parseEntries([{ shard: shardOf(accountId), id: '1-1', fields }]))
  const key = NoteKey.of(TEST_LOG_KEY)
  await signCheckpoint(book.pool, key, limitsWith({ checkpointMs: 0 }))
  const { note } = present(await lastCheckpoint(book.pool))
  const cosigned = note + one.line(note)
  const witnesses = [WitnessKey.of(one.verifier)]
  const cosignWithin = (cosignatureAfterMs: number) =>
    withTransaction(book.pool, (client) => cosign(client, cosigned, witnesses, limitsWith({ cosignatureAfterMs })))
  await assert.rejects(cosignWithin(0), /note must be a newer checkpoint/)
  assert.deepEqual(await cosignWithin(60_000), { size: 1, witnesses: [one.name] })
  const { ageSeconds, cosignedAgeSeconds } = await sampleCheckpoints(book.pool)
  assert.ok(ageSeconds > 0 && cosignedAgeSeconds === ageSeconds)
})
