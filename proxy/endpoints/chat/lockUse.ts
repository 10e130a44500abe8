import { type HoldSize, hasMedia } from '../../admission/holdSize.ts'
import { LockHold } from '../../admission/lockHold.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { LockSeries } from '../../catalog/lockSeries.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import type { LockUse } from '../run/metered.ts'

/**
 * The tokens that a chat request burns: those of the series that ends first, among the model's series that its account holds
 * and whose provider may serve the request now.
 * @param held the series that the account holds
 * @returns undefined where the request runs at the price sheet alone, as batch jobs always do
 */
export function lockUse(
  request: Pick<ChatFields, 'batch' | 'preferences' | 'prompt'>,
  held: ReadonlySet<string>,
  model: Model,
  { routes, size }: { readonly routes: readonly Route[]; readonly size: HoldSize },
  nowMs: number,
): LockUse | undefined {
  if (request.batch) return undefined
  for (const series of model.lockSeries) {
    if (!held.has(series.id) || series.endsAtMs <= nowMs || isTooDear(request, series)) continue
    const served = routes.filter(({ provider }) => provider.id === series.provider)
    const hold = new LockHold(series, size, hasMedia(request.prompt))
    if (served.length > 0 && hold.isBurnable) return { hold, routes: served }
  }
  return undefined
}

/** The request's price limits apply to the locked price as well. */
function isTooDear({ preferences }: Pick<ChatFields, 'preferences'>, { rates }: LockSeries): boolean {
  const { maxInputPrice, maxOutputPrice } = preferences
  return (
    (maxInputPrice !== null && rates.input > maxInputPrice) ||
    (maxOutputPrice !== null && rates.output > maxOutputPrice)
  )
}
