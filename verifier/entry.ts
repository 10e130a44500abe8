import { Failed } from './failed.ts'
import type { Receipt } from './receipt.ts'

const NAME = /^sluice-receipt\/\d+$/

/** The name of the layout that an entry of a usage log begins with. @throws Failed where it has none that is known */
export function layoutOf(entry: string): 'sluice-receipt/1' | 'sluice-receipt/2' {
  const [name = ''] = entry.split('\n')
  if (name === 'sluice-receipt/1' || name === 'sluice-receipt/2') return name
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
  if (layout === 'sluice-receipt/2') {
    const { rate, tier, size, hold, clamped, streamed, durationMs, errorCode } = receipt
    lines.push(rate, tier, size, hold.units, String(clamped), String(streamed), durationMs, errorCode)
  }
  return lines.map((line) => `${line}\n`).join('')
}
