import assert from 'node:assert/strict'
import { idOf, type Plan, type Twist } from './crookedStream.ts'
import type { Got } from './wireClients.ts'

/**
 * Asserts that a client got what the model meant by a crooked stream.
 * @param got from a reader of `strictClients`
 * @param requestId of which the gateway makes the ids of calls that have none
 */
export function assertMeant(got: Got, plan: Plan, twist: Twist, requestId: string): void {
  const isCalled = plan.finish === 'stop' && plan.calls.length > 0
  assert.deepEqual(
    { ...got, calls: got.calls.map((call) => ({ name: call.name, input: JSON.parse(call.arguments) as unknown })) },
    {
      text: plan.words.join(''),
      reasoning: plan.thoughts.join(''),
      refusal: '',
      calls: plan.calls,
      finish: isCalled ? 'tool_calls' : plan.finish,
    },
  )
  const ids = got.calls.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  for (const [number, id] of ids.entries()) {
    assert.equal(id, idOf(twist, number) ?? `call_${requestId.slice(4)}_${number}`)
  }
}

/** The same of a text completion. @param got from `readCompletion` */
export function assertTextMeant(got: { text: string; finish: string }, plan: Plan, twist: Twist): void {
  const isUntold = twist.reason === 'none' && plan.finish === 'stop'
  assert.deepEqual(got, { text: plan.words.join(''), finish: isUntold ? '' : plan.finish })
}
