import assert from 'node:assert/strict'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { type Evidence, type Report, verify } from '../../../verifier/verify.ts'
import { limits } from '../limits.ts'
import { present } from '../present.ts'
import { type JsonValue, jsonValues, withOtherByte } from '../samples/changedBytes.ts'
import { seededRandom } from '../samples/mutations.ts'
import type { Random } from '../samples/randomCatalogs.ts'
import { assertCleanAudit, ensureOpen } from './ledger.ts'
import { type Booked, VerifiedBook } from './verifiedBook.ts'

const AT_ONCE = 16
/** Names the receipts that a verified book charges too much. */
export const PRICED_CHECK = 'no request at the standard rate exceeds its price sheet or was served elsewhere'
/** What the first layout of leaves does not have; how much was held it has not either, but in three ways at once. */
const NOT_IN_FIRST = ['rate', 'tier', 'clamped', 'streamed', 'duration_ms', 'error', 'usage.size']

/** What is verified, and how often. */
export interface Verified {
  readonly receipts: number
  /** Of how many values of each receipt a byte is changed; of all of them where this is absent. */
  readonly changes?: number
  readonly seed: number
}

/**
 * Books random requests and has the verifier agree with control about each of them, and reject it with another byte.
 * @returns how many receipts with a changed byte were rejected
 */
export async function verifyReceipts({ receipts, changes, seed }: Verified): Promise<number> {
  const random = seededRandom(seed)
  const world = await VerifiedBook.start(random)
  try {
    const first = await world.bookSome(Math.floor(receipts / 2))
    const kept = await world.sign()
    const booked = [...first, ...(await world.bookSome(receipts - first.length))]
    const { size } = await world.sign()
    const consistency = await world.consistency(kept.size, size)
    const common = { key: world.verifier, lock: world.lock, checkpoint: kept.note, consistency }
    let rejected = 0
    for (let at = 0; at < booked.length; at += AT_ONCE) {
      const counts = await Promise.all(
        booked.slice(at, at + AT_ONCE).map((one) => verifyOne(world, one, common, { random, changes })),
      )
      rejected += counts.reduce((sum, count) => sum + count, 0)
    }
    const dear = new Set(booked.flatMap(({ isTooDear, requestId }) => (isTooDear ? [requestId] : [])))
    assert.ok(dear.size > 0)
    await ensureOpen(world.book)
    await assertCleanAudit(world.book, PRICED_CHECK)
    await assertNamed(world, dear)
    return rejected
  } catch (error) {
    throw new Error(`with seed ${seed}: ${(error as Error).message}`, { cause: error })
  } finally {
    await world.book.stop()
  }
}

/** The audit names receipts that are dearer than their price sheet, and no other. */
async function assertNamed({ book }: VerifiedBook, dear: ReadonlySet<string>): Promise<void> {
  const checks = await runAudit(book.pool, book.redis, limits)
  const named = present(checks.find(({ name }) => name === PRICED_CHECK)).detail.match(/req_\w+/g) ?? []
  assert.ok(named.length > 0)
  assert.deepEqual(
    named.filter((requestId) => !dear.has(requestId)),
    [],
  )
}

interface Changes {
  readonly random: Random
  readonly changes: number | undefined
}

async function verifyOne(
  world: VerifiedBook,
  booked: Booked,
  common: Omit<Evidence, 'receipt'>,
  { random, changes }: Changes,
): Promise<number> {
  const [receipt, sheet] = await Promise.all([world.receipt(booked.requestId), world.sheet(booked.request)])
  const evidence = { ...common, sheet }
  const report = await verify({ ...evidence, receipt })
  assert.deepEqual(failedSteps(report), booked.isTooDear ? ['charge'] : [], textOf(booked, report))
  assert.ok(report.steps.length >= 13 && report.steps.every(({ result }) => result !== 'skipped'))
  const bytes = Buffer.from(receipt)
  const values = some(jsonValues(bytes).filter(isCovered(booked)), changes, random)
  for (const value of values) {
    const changed = withOtherByte(bytes, value, random)
    const { ok } = await verify({ ...evidence, receipt: changed.toString('utf8') })
    assert.ok(!ok, `another byte of ${value.path} is not noticed: ${changed}`)
  }
  return values.length
}

const failedSteps = ({ steps }: Report): string[] =>
  steps.flatMap(({ name, result }) => (result === 'failed' ? [name] : []))

const textOf = (booked: Booked, { steps }: Report): string => JSON.stringify({ ...booked, steps })

/** The log commits to all but the payment, of which amounts are the same in three ways. */
function isCovered({ layout, isPaid }: Booked): (value: JsonValue) => boolean {
  return ({ path }) => {
    if (isPaid && path.startsWith('paid.')) return /\.(units|usd|coin)$/.test(path)
    return layout === 2 || !NOT_IN_FIRST.includes(path)
  }
}

function some<Item>(items: readonly Item[], count: number | undefined, random: Random): readonly Item[] {
  if (count === undefined) return items
  return Array.from({ length: count }, () => present(items[Math.floor(random() * items.length)]))
}
