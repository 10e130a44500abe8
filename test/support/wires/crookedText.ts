import type fc from 'fast-check'
import { inPieces, type Plan, plans, repeatedText, type Twist } from './crookedStream.ts'
import { eventOf } from './wire.ts'

/** Plans of models that only write text. */
export const textPlans: fc.Arbitrary<Plan> = plans
  .filter(({ words }) => words.length > 0)
  .map((plan) => ({ ...plan, thoughts: [], calls: [] }))

/** The bytes of a stream of text completions with the words of a plan, in the pieces in which they arrive. */
export function crookedText(plan: Plan, twist: Twist): Buffer[] {
  const { finish } = plan
  const whole = repeatedText(plan, twist)
  const usage = { usage: plan.usage }
  const reason = twist.reason === 'none' && finish === 'stop' ? null : finish
  const isLast = twist.usage !== 'withReason' || reason === null
  const text = (said: string, ends: string | null = null, more: object = {}): string =>
    eventOf({ choices: [{ index: 0, text: said, logprobs: null, finish_reason: ends }], ...more })
  const events = [
    ...plan.words.map((said) => text(said)),
    ...(whole !== null && twist.repeatsText === 'before' ? [text(whole)] : []),
    ...(reason === null
      ? []
      : [text(whole !== null && twist.repeatsText === 'withReason' ? whole : '', reason, isLast ? {} : usage)]),
    ...(isLast ? [eventOf({ choices: [], ...usage })] : []),
  ]
  return inPieces(events, twist)
}
