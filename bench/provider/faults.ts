import type { Exchange } from './exchange.ts'
import { answerError, answerRubbish } from './failures.ts'
import type { Behaviour } from './grammar.ts'
import type { TimerWheel } from './wheel.ts'

/** How often each model name has failed so far, for `fail_first`. */
export type FailureCounts = Map<string, number>

/**
 * Fails a request where its behaviour asks for that; runs inside a cork.
 * @returns whether the request is dealt with
 */
export function answerFault(
  exchange: Exchange,
  behaviour: Behaviour,
  wheel: TimerWheel,
  failures: FailureCounts,
): boolean {
  const { error, fail_first: failFirst } = behaviour.integers
  if (behaviour.reset) exchange.destroy()
  else if (failFirst !== undefined && countFailure(failures, behaviour.name, failFirst)) {
    answerError(exchange, 500, behaviour)
  } else if (error !== undefined) later(exchange, behaviour, wheel, () => answerError(exchange, error, behaviour))
  else if (behaviour.html200) answerRubbish(exchange, 'html')
  else if (behaviour.badjson) answerRubbish(exchange, 'json')
  else return false
  return true
}

/** @returns whether this request is one of the first `max`, which fail */
export function countFailure(failures: FailureCounts, name: string, max: number): boolean {
  const failed = failures.get(name) ?? 0
  if (failed >= max) return false
  failures.set(name, failed + 1)
  return true
}

/** Runs `answer` at once, or in a cork of its own after the time that the behaviour takes for headers. */
export function later(exchange: Exchange, behaviour: Behaviour, wheel: TimerWheel, answer: () => void): void {
  if (behaviour.slowHeadersMs === 0) return answer()
  const fire = () => {
    if (!exchange.ended) exchange.res.cork(answer)
  }
  wheel.add({ dueMs: wheel.nowMs() + behaviour.slowHeadersMs, fire })
}
