import { announceKeyChanges } from '../runtime/bus/announceKeyChanges.ts'
import type { CliContext } from './context.ts'

/** Sends committed changes of keys to the proxies immediately, also while no control runs that would do it. */
export async function announce(context: CliContext): Promise<void> {
  try {
    if (await announceKeyChanges(await context.pool(), await context.redis(), context.limits)) return
    context.warn(
      'the book is changed; the proxies still have to be notified of more, which control does as soon as it runs',
    )
  } catch (error) {
    context.warn(
      `the book is changed, but the proxies could not be notified; control notifies them when it can (${error})`,
    )
  }
}
