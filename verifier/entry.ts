import { Failed } from './failed.ts'
import type { Receipt } from './receipt.ts'

const LAYOUTS = ['sluice-receipt/1', 'sluice-receipt/2', 'sluice-receipt/3', 'sluice-receipt/4'] as const
const NAME = /^sluice-receipt\/\d+$/

/** The layout that the first line of a usage log's entry names. @throws Failed for an unknown layout */
export function layoutOf(entry: string): (typeof LAYOUTS)[number] {
  const [name = ''] = entry.split('\n')
  const layout = LAYOUTS.find((known) => known === name)
  if (layout !== undefined) return layout
  throw new Failed(NAME.test(name) ? `${name} is a layout of a later version` : 'the entry is not one of a receipt')
}

/** The entry that a usage log must have for a receipt. @param layout its first line */
export function entryOf(receipt: Receipt, layout: ReturnType<typeof layoutOf>): string {
  const { usage } = receipt
  const lines = [
    layout,
    receipt.requestId,
    receipt.status,
    receipt.model,
    receipt.endpoint,
    receipt.sheetVersion,
    receipt.cost.units,
    usage.input,
    usage.cachedInput,
    usage.cacheWrite5m,
    usage.cacheWrite1h,
    usage.output,
    usage.reasoning,
    receipt.quantity,
    receipt.unit,
    receipt.usageSource,
    receipt.heldAtMs,
  ]
  if (layout !== 'sluice-receipt/1') {
    const { rate, tier, size, hold, clamped, streamed, durationMs, errorCode } = receipt
    lines.push(rate, tier, size, hold.units, String(clamped), String(streamed), durationMs, errorCode)
  }
  // Layouts before the third do not commit to tokens that were burnt, and those before the fourth not to tags.
  if (layout === 'sluice-receipt/3' || layout === 'sluice-receipt/4')
    lines.push(receipt.lock?.series ?? '', receipt.lock?.units ?? 0)
  else if (receipt.lock !== null) throw new Failed(`${layout} has no tokens that were burnt`)
  if (layout === 'sluice-receipt/4') lines.push(receipt.tagging?.hash ?? '')
  else if (receipt.tagging !== null) throw new Failed(`${layout} has no tags`)
  return lines.map((line) => `${line}\n`).join('')
}
