import { setTimeout as sleep } from 'node:timers/promises'
import { type JsonObject, parseJsonObject } from '../../contract/std/jsonObject.ts'
import type { LoadLimits } from './limits.ts'
import { bookDifferences } from './receiptCheck.ts'
import type { SeenReceipt, Tally } from './tally.ts'
import type { Target } from './target.ts'

/**
 * Reads each receipt of the sample from the gateway and compares it with what came with the answer; differences become
 * faults of the tally. Receipts that are not booked yet are waited for.
 * @returns how many were compared
 */
export async function compareWithBook(target: Target, tally: Tally, limits: LoadLimits): Promise<number> {
  const untilMs = performance.now() + limits.loadBookWaitMs
  let compared = 0
  for (const seen of tally.sample) {
    const id = String(seen.receipt['request_id'])
    const booked = await readBooked(target, seen, untilMs, limits)
    if (booked !== undefined) compared++
    const differences = booked === undefined ? ['the gateway does not show it'] : bookDifferences(seen.receipt, booked)
    tally.addFault('wrong_receipts', differences.length === 0 ? 0 : 1, `${id}: ${differences.join('; ')}`)
  }
  return compared
}

async function readBooked(
  target: Target,
  { key, receipt }: SeenReceipt,
  untilMs: number,
  limits: LoadLimits,
): Promise<JsonObject | undefined> {
  const url = `${target.url}/v1/receipts/${encodeURIComponent(String(receipt['request_id']))}`
  for (;;) {
    const found = await readOnce(url, key, limits)
    if (found !== undefined) return found
    if (performance.now() >= untilMs) return undefined
    await sleep(limits.loadBookPollMs)
  }
}

async function readOnce(url: string, key: string, limits: LoadLimits): Promise<JsonObject | undefined> {
  const signal = AbortSignal.timeout(limits.loadBookWaitMs)
  try {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` }, redirect: 'error', signal })
    const text = await answer.text()
    return answer.ok ? (parseJsonObject(text) ?? undefined) : undefined
  } catch {
    return undefined
  }
}
