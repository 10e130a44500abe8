// Goal: a disk that is full, broken, read-only or slow takes new requests from the gateway at most: what runs keeps its pace,
// what ended is booked, and once the disk works again so does the gateway. Method: the files of the journal fail beneath a
// real proxy, on disk, in memory, or in both, while streams run.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { assertError, chat, completion, type Receipt, receiptOf } from '../support/clients/chatClient.ts'
import { StreamCall } from '../support/clients/streamCall.ts'
import { FAULTS_FILE, type JournalFaults } from '../support/journalFaults.ts'
import { present } from '../support/present.ts'
import { type Stack, startStack, type TestAccount, until } from '../support/stack.ts'

const STREAMS = 4
/** Chunks come every 20 ms, and a slow write takes three seconds: who waits for one shows, and a machine that stands still does not. */
const SLOW_GAP_MS = 2_700
const REFUSED_IN_A_ROW = 8
const SMALL = { model: 'test/small', max_tokens: 5 }

let stack: Stack
let account: TestAccount

before(async () => {
  const preload = new URL('../support/faultyDisk.js', import.meta.url)
  stack = await startStack({
    catalog: {
      models: [
        { id: 'test/small', upstream: 'mock,chunks=2' },
        { id: 'test/paced', upstream: 'mock,chunks=60,delay=20' },
      ],
    },
    // The memory is tried anew with each segment.
    limits: { breakerFailures: 1_000_000, journalSegmentBytes: 2_048 },
    env: { NODE_OPTIONS: `--import ${preload.href}` },
  })
  account = await stack.createAccount({ coin: '5', credits: '5' })
})
after(() => stack.finish())

const faultsFile = (): string => join(stack.dir, FAULTS_FILE)

interface Case {
  readonly name: string
  readonly faults: JournalFaults
  /** No opening can be written. */
  readonly refuses?: true
  /** The event loop finds out by waiting, once. */
  readonly stallsOnce?: true
}

const CASES: readonly Case[] = [
  { name: 'the disk is full', faults: { disk: 'ENOSPC' }, refuses: true },
  { name: 'the disk is read-only', faults: { disk: 'EROFS' }, refuses: true },
  { name: 'the disk is broken', faults: { disk: 'EIO' }, refuses: true },
  { name: 'the disk is slow', faults: { disk: 'slow' } },
  { name: 'the memory is full', faults: { memory: 'ENOSPC' } },
  { name: 'the memory is broken', faults: { memory: 'EIO' } },
  { name: 'both are full', faults: { disk: 'ENOSPC', memory: 'ENOSPC' }, refuses: true },
  { name: 'both are broken', faults: { disk: 'EIO', memory: 'EIO' }, refuses: true },
  { name: 'the memory is full and the disk slow', faults: { disk: 'slow', memory: 'ENOSPC' } },
  { name: 'the memory is slow', faults: { memory: 'slow' }, stallsOnce: true },
]

for (const { name, faults, refuses, stallsOnce } of CASES) {
  test(name, async () => {
    const body = { model: 'test/paced', max_tokens: 80 }
    await until('requests are served', async () => (await ask()).status === 200)
    const streams = Array.from({ length: STREAMS }, () => new StreamCall(stack.baseUrl, account.apiKey, body))
    await until('all streams have begun', () => streams.every((stream) => stream.hasBegun))
    writeFileSync(faultsFile(), JSON.stringify(faults))
    try {
      const shown = refuses === true ? await refused() : await served(3)
      for (const stream of streams) shown.push(await endOf(stream, stallsOnce === true ? 1 : 0))
      for (const receipt of shown) await assertBooked(receipt)
    } finally {
      rmSync(faultsFile())
    }
    await until('requests are served again', async () => (await ask()).status === 200)
  })
}

const ask = () => chat(stack.baseUrl, account.apiKey, SMALL)

/** New requests are refused, once the fault has shown, and their provider is not asked. @returns what was served before */
async function refused(): Promise<Receipt[]> {
  const shown: Receipt[] = []
  await until('a request is refused', async () => {
    const reply = await ask()
    if (reply.status === 200) shown.push(completion(reply).receipt)
    return reply.status !== 200
  })
  const askedBefore = await servedSmall()
  for (let i = 0; i < REFUSED_IN_A_ROW; i++) {
    const reply = await ask()
    assertError(reply, 503, 'admission_unavailable')
    assert.match(reply.headers.get('retry-after') ?? '', /^[1-9]/)
  }
  assert.equal(await servedSmall(), askedBefore)
  return shown
}

async function servedSmall(): Promise<number> {
  return (await stack.provider.log()).filter(({ model }) => model === 'mock,chunks=2').length
}

async function served(count: number): Promise<Receipt[]> {
  const shown: Receipt[] = []
  for (let i = 0; i < count; i++) shown.push(completion(await ask()).receipt)
  return shown
}

/** A stream goes on to its receipt, at its pace but for so many gaps. */
async function endOf(stream: StreamCall, slowGapsMax: number): Promise<Receipt> {
  const { done } = await stream.reply()
  assert.ok(done, 'the stream has ended')
  // The receipt comes when it is safe, which takes a slow disk its time.
  const timesMs = stream.pieceTimesMs.slice(0, -1)
  const gaps = timesMs.slice(1).map((timeMs, i) => timeMs - (timesMs[i] ?? 0))
  const slow = gaps.filter((gapMs) => gapMs >= SLOW_GAP_MS)
  assert.ok(slow.length <= slowGapsMax, `gaps of ${slow.map(Math.round).join(', ')} ms`)
  return present(stream.receipt ?? undefined)
}

/** It is in the book while the journal still fails. */
async function assertBooked({ request_id, cost, status }: Receipt): Promise<void> {
  const booked = await receiptOf(stack.baseUrl, account.apiKey, request_id)
  assert.deepEqual([booked.status, booked.cost], [status, cost])
}
