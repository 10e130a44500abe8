import assert from 'node:assert/strict'
import type { Receipt } from './chatClient.ts'

/** The receipt of an answer, which the types of official clients do not know. */
export function receiptIn(answer: object): Receipt {
  return Reflect.get(answer, 'receipt') as Receipt
}

/** The error that a call ends with, which has to be of this class of the client. */
export async function thrownBy<T extends Error>(
  kind: abstract new (...args: never[]) => T,
  call: () => Promise<unknown>,
): Promise<T> {
  try {
    await call()
  } catch (error) {
    assert.ok(error instanceof kind, `${error} is no ${kind.name}`)
    return error
  }
  assert.fail(`nothing was thrown, but ${kind.name} was expected`)
}
